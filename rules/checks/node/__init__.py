"""Rules on node power."""
