"""Rules on system and environment."""
