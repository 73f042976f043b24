"""The tables of the page, one module for each section."""
