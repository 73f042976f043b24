"""The commands of bench-check that sign, verify and accept."""
