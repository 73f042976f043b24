"""How certain figures are: within a run, between repeated runs, and of what follows from them."""
