"""TOML files beside power logs: maps of columns, declarations of meters and of jobs."""

import tomllib
from pathlib import Path

from checker.command_line.toml_text import parse_toml
from rules.bundle_format.records import Json
from rules.power_logs.records import PowerLogError


def read_toml(path: Path) -> Json:
    """The content of a TOML file. Raises PowerLogError, which names the file."""
    try:
        return parse_toml(path.read_bytes())
    except OSError as error:
        raise PowerLogError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PowerLogError(f"{path}: no valid TOML ({error})") from None
