"""bench-check: finds bundles, reads them as untrusted input, verifies who signed them, and judges
them by the rule book."""


class CheckerError(Exception):
    """The checker cannot work on this machine, for example because ssh-keygen is missing. No bundle
    was judged, so none passed."""
