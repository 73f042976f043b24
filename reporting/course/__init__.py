"""The course of one run as a figure: power of the node and of each board, and utilisation, over
time (`bench-report trace`)."""
