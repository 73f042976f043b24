"""Typed records of what the documents of a bundle declare."""
