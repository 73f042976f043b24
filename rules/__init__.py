"""The rule book of wattmark: protocol constants, workloads, records, arithmetic, schemas and
rules."""

from datetime import date

RELEASED_ON = {
    "1.0.0": date(2026, 11, 20),
    "1.1.0": date(2026, 11, 21),
    "1.2.0": date(2026, 11, 21),
    "1.3.0": date(2026, 11, 21),
    "1.4.0": date(2026, 11, 22),
    "1.5.0": date(2026, 11, 22),
    "1.6.0": date(2026, 11, 22),
    "1.7.0": date(2026, 11, 23),
    "1.8.0": date(2026, 11, 23),
    "1.9.0": date(2026, 11, 27),
    "1.10.0": date(2026, 11, 28),
    "1.11.0": date(2026, 11, 29),
    "1.12.0": date(2026, 11, 29),
    "1.13.0": date(2026, 11, 30),
}
"""Every rule book so far with the day of its release, the present one last."""
RELEASED = tuple(RELEASED_ON)
VERSION = RELEASED[-1]
"""Version of the rule book (not of the protocol: a rule book judges every protocol version so
far)."""
