"""Two rounds compared: what became of each result of the earlier round, and what is new."""
