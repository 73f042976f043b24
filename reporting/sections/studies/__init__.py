"""Tables of the page of studies that have charts, or columns for papers."""
