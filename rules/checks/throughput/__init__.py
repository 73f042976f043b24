"""Rules on throughput and plausibility."""
