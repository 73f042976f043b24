"""Advice on the cap of a workload: the best cap by each metric and of a rack, how certain that is,
and how it is set (`bench-report advise`)."""
