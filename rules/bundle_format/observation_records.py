"""The files of an observed job: its power log and what it did, without a run by wattmark."""

OBSERVATION_FORMAT = "wattmark-observation/1"
OBSERVATION_FILE = "observation.json"
POWER_FILE = "power.csv.gz"
POWER_COLUMNS = ("time_ns", "feed", "power_mw")
"""Time since 1970-01-01 UTC, name of the feed, and its power, empty where the log has none."""
FIRST_BOOK_WITH_OBSERVATIONS = "1.12.0"
