"""Rules on integrity and signature."""
