"""Jobs that wattmark did not run: what rules see of their bundles."""
