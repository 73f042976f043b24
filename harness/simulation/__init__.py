"""Simulated accelerators and the work that runs on them."""
