"""Charts of rows: the marks of each result on a row of their own."""
