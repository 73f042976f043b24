"""Rules on studies of models."""
