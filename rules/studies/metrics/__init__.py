"""Figures of studies: of points, models and setups, and comparisons of setups. All energies are in
J per image and per accelerator."""
