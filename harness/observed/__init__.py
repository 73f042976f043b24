"""Jobs that wattmark did not run: a power log and a declaration become a bundle."""
