"""Rules on the bundles of a round together."""
