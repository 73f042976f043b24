"""Rules on observed jobs."""
