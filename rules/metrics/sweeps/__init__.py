"""Arithmetic over several runs: sweeps over power caps and other settings, and scaling."""
