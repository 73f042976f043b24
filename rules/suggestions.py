"""The name that somebody may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST = 3


def suggest(name: str, names: Iterable[str]) -> str:
    """`; did you mean NAME?` with up to three names that contain `name` or resemble it; empty
    without such a name."""
    known = list(names)
    parts = [other for other in known if name and name.lower() in other.lower()]
    similar = parts or get_close_matches(name, known, n=MOST, cutoff=0.5)
    return f"; did you mean {', '.join(similar[:MOST])}?" if similar else ""
