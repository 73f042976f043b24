"""Mutations for the rules of the family `system`."""
