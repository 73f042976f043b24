"""Files of power logs: opens them, prints their figures, adds them to a bundle. `rules.power_logs`
parses their lines."""
