"""Tables of the page of trends that have charts."""
