"""One board of a session: its worker, the entries that it measures, and the list that all share."""
