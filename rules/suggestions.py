"""The name that somebody may have meant."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import zip_longest

MOST = 3
LEAST_ALIKE = 0.5


def suggest(name: str, names: Iterable[str]) -> str:
    """`; did you mean NAME?` with up to three names that contain `name` or resemble it; empty
    without such a name."""
    known = list(names)
    parts = [other for other in known if name and name.lower() in other.lower()]
    alike = {other: SequenceMatcher(None, other, name).ratio() for other in known}
    # Of ids that are as much alike, a wrong character is likelier than two in other places.
    similar = parts or sorted(
        (other for other in known if alike[other] >= LEAST_ALIKE),
        key=lambda other: (
            -alike[other],
            sum(a != b for a, b in zip_longest(other, name)),
        ),
    )
    return f"; did you mean {', '.join(similar[:MOST])}?" if similar else ""
