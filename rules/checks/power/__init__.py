"""Rules on power readings."""
