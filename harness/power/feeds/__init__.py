"""What the kinds of node meters share: counters, readings of feeds, files of the kernel."""
