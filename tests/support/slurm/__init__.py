"""A Slurm of two nodes on this machine, for the tests of tests/site/."""
