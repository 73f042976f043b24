"""Mutations for the rules of the family `observed`."""
