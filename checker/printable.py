"""Make text from bundles safe to print: names and values come from strangers."""

from typing import Any


def printable(text: str) -> str:
    """`text` with every character escaped that could control a terminal or is no valid text."""
    # The usual case, without a copy.
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode-escape").decode() for c in text)


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
