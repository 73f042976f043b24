"""Ways to alter good bundles, for the mutations and tamperings of rules. Only tests use them."""
