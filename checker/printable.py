"""Make text from bundles safe to print: names and values come from strangers."""

import re
from functools import lru_cache
from typing import Any

INVISIBLE_LETTERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
"""Letters and marks without a shape of their own, most of them ignorable by default (Unicode
Standard, section 5.21). `str.isprintable` accepts them."""


def is_visible(character: str) -> bool:
    """Whether a character is printable and has a shape of its own, or is a space."""
    return character.isprintable() and not INVISIBLE_LETTERS.match(character)


def printable(text: str) -> str:
    """`text` with every character escaped that is invisible, could control a terminal or is no
    valid text."""
    return escape_all_but(text, frozenset())


@lru_cache(maxsize=2**15)
def escape_all_but(text: str, kept: frozenset[str]) -> str:
    """`text` with every character escaped that is not visible and not `kept`."""
    # The usual case, without a copy. Tables repeat most of their other texts.
    if text.isprintable() and (text.isascii() or not INVISIBLE_LETTERS.search(text)):
        return text
    return "".join(
        c if c in kept or is_visible(c) else c.encode("unicode-escape").decode() for c in text
    )


def printable_strings(value: Any) -> Any:
    """`value`, of JSON's types, with every string `printable`."""
    match value:
        case str():
            return printable(value)
        case list() | tuple():
            return [printable_strings(v) for v in value]
        case dict():
            return {k: printable_strings(v) for k, v in value.items()}
    return value
