"""Figures, tables and references that a paper takes in as they are."""
