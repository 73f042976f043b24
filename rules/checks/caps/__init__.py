"""Rules on caps and power states."""
