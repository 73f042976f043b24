"""What the rules across bundles need to know of each bundle."""
