"""Arithmetic on power, energy and throughput."""
