"""Arithmetic on node power: traces of feeds, figures of nodes, the level of the measurement."""
