"""Rules on the evidence of other programs."""
