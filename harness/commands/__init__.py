"""The commands of bench-submit that have a file of their own."""
