"""Reads config.toml, the defaults that a site and its users give for options.

The file of the user comes before that of the machine. Options and environment variables come before
both.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

from checker.command_line.toml_text import parse_toml

CONFIG_FILE = "config.toml"
SITE_VARIABLE = "WATTMARK_SITE_CONFIG"
"""Names another file of the machine, for sites that set variables instead of files in /etc."""
SITE_FILE = Path("/etc/wattmark") / CONFIG_FILE
DEFAULT_OUT = Path("results")
"""The value of `--out` if no file gives one."""
FILE_KEYS = ("system", "meters", "key")
"""The keys that name a file. A relative path begins at the directory of config.toml."""


class ConfigError(Exception):
    """A file of defaults cannot be used. The message names the file, the key, what was found and
    what to do."""


@dataclass(frozen=True)
class SiteDefault:
    """A value, and the file that gives it."""

    text: str
    file: Path


@dataclass(frozen=True)
class SiteDefaults:
    """The defaults by key; None for a key that no file gives."""

    system: SiteDefault | None = None
    """The TOML file that describes the system, for `--system`."""
    meters: SiteDefault | None = None
    """The TOML file that says where the node meters are, for `--meters`."""
    principal: SiteDefault | None = None
    """Who signs, for `--principal`."""
    key: SiteDefault | None = None
    """The SSH key, for `--key`."""
    out: SiteDefault | None = None
    """The directory for bundles, for `--out`. A relative path begins where the command runs."""


KEYS = tuple(field.name for field in fields(SiteDefaults))


def find_user_directory() -> Path:
    """The directory of the user's files: wattmark in XDG_CONFIG_HOME or in ~/.config."""
    return _find_base("XDG_CONFIG_HOME", "~/.config") / "wattmark"


def find_cache_directory() -> Path:
    """The directory of what can be made again: wattmark in XDG_CACHE_HOME or in ~/.cache."""
    return _find_base("XDG_CACHE_HOME", "~/.cache") / "wattmark"


def list_config_files() -> tuple[Path, Path]:
    """The file of the machine and that of the user. They may not exist, except a file that
    SITE_VARIABLE names."""
    site_file = Path(os.environ.get(SITE_VARIABLE) or SITE_FILE)
    return site_file, find_user_directory() / CONFIG_FILE


def read_site_defaults() -> SiteDefaults:
    """Read the files of defaults. Raises ConfigError."""
    defaults = SiteDefaults()
    for file in list_config_files():
        defaults = replace(defaults, **dict(_read_file(file)))
    return defaults


def _read_file(file: Path) -> Iterator[tuple[str, SiteDefault]]:
    try:
        values = parse_toml(file.read_bytes())
    # XDG_CONFIG_HOME=/dev/null is a usual way to have no files.
    except (FileNotFoundError, NotADirectoryError):
        # A misspelt path would hide the defaults from all users.
        if os.environ.get(SITE_VARIABLE) and file == list_config_files()[0]:
            raise ConfigError(
                f"{SITE_VARIABLE}={file}: there is no such file; correct or unset the variable"
            ) from None
        return
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror}); mend or remove it") from None
    except ValueError as error:  # not UTF-8, or not TOML
        raise ConfigError(f"{file}: cannot be read as TOML: {error}; mend it") from None
    for key, value in values.items():
        if key not in KEYS:
            raise ConfigError(
                f"{file}: unknown key {key!r}; the keys are {', '.join(KEYS)}; correct or remove it"
            )
        if not isinstance(value, str) or not value or not value.isprintable():
            raise ConfigError(
                f"{file}: {key}: found {_describe_value(value)}, expected text in quotes; correct "
                "or remove it"
            )
        yield key, SiteDefault(_expand_value(key, value, file), file)


def _describe_value(value: object) -> str:
    if isinstance(value, str):
        return "text with unprintable characters" if value else "empty text"
    kinds = {dict: "a table", list: "a list", bool: "a truth value"}
    return kinds.get(type(value), f"{value}")


def _expand_value(key: str, value: str, file: Path) -> str:
    if key == "principal":
        return value
    path = _expand_home(value)
    return str(file.parent / path if key in FILE_KEYS else path)


def _find_base(variable: str, default: str) -> Path:
    base = Path(os.environ.get(variable, ""))
    # The XDG Base Directory Specification: relative paths are ignored.
    return base if base.is_absolute() else _expand_home(default)


def _expand_home(path: str) -> Path:
    # Unlike `Path.expanduser`, this raises nothing if there is no home, as in some containers.
    return Path(os.path.expanduser(path))  # noqa: PTH111
