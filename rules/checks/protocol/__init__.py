"""Rules on the protocol."""
