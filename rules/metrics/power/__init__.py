"""Power readings: as numbers, as a series of one accelerator, and as a distribution."""
