"""The figures of a run in the formats of others: one file each."""
