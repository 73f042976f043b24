"""Rules on node power, idle power and phases."""
