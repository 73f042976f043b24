"""Adds a power log to a bundle: describes its meter, places its clock, replaces the bundle."""
