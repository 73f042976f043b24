"""Parses the TOML files that users write."""

import tomllib
from typing import Any


def parse_toml(content: bytes) -> dict[str, Any]:
    """Parse the bytes of a TOML file, with or without a byte order mark. Raises
    tomllib.TOMLDecodeError, also where values are nested too deeply, and UnicodeDecodeError."""
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except RecursionError:
        raise tomllib.TOMLDecodeError("values are nested too deeply") from None
