"""bench-check: finds bundles, reads them without trust, verifies who signed them, and judges them
by the rule book."""


class CheckerError(Exception):
    """The checker itself cannot work here (no ssh-keygen, say); nothing was judged, so nothing
    passed."""
