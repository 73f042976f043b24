"""Sweeps: runs of one workload over power caps."""
