"""Judging: one bundle, the bundles of a round together, and the processes that share the work."""
