"""What the command lines of the three programs share with the machine: defaults of a site, and
completion by the shell."""
