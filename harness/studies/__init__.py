"""Studies: measure many models on a fixed system."""
