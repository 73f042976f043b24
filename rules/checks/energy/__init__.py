"""Rules on energy."""
