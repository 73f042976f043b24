"""Ways to alter good bundles, one file for each rule, with the name of the file of the rule."""
