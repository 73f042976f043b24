"""Copies among the runs of a round: runs that share readings, times or noise."""
