"""Reads meters.toml, the file that says where node meters are and how to log in.

It is apart from system.toml, which goes into the bundle. Only the processes that read meters open
it. No message contains a value of it, because values are addresses.
"""

import os
import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from checker.command_line.config import ConfigError, find_user_directory, read_site_defaults
from checker.command_line.toml_text import parse_toml
from harness.errors import MeterError
from harness.power.node_meter import MeterAccess
from harness.power.nodes import node_meter_class

METERS_VARIABLE = "WATTMARK_METERS"
METERS_FILE = "meters.toml"
PAGE = "docs/node-power.md"
SECRET_NAMES = ("password", "privacy_password", "community")
_SECRET_KEY = re.compile(rf"({'|'.join(SECRET_NAMES)})_(env|file|command)")


def find_access_file(option: Path | None) -> Path:
    """The path of meters.toml: `--meters`, WATTMARK_METERS, that of the site defaults or the one of
    the user. It may not exist. Raises MeterError if the site defaults cannot be read."""
    path = option or os.environ.get(METERS_VARIABLE)
    if not path:
        try:
            default = read_site_defaults().meters
        except ConfigError as error:
            raise MeterError(str(error)) from None
        path = default.text if default else find_user_directory() / METERS_FILE
    return Path(path).expanduser().absolute()


def read_access(path: Path, meter: str, kind: str, feeds: Sequence[str]) -> MeterAccess:
    """How to reach a meter of system.toml, from its table in the file `path`.

    A meter of a kind that has no address needs neither table nor file; each feed then has its own
    name on the meter. Raises MeterError, which names file and key, and no value.
    """
    needs_access = node_meter_class(kind).needs_access
    if not needs_access and not path.exists():
        return MeterAccess(meter, kind, {feed: feed for feed in feeds})
    tables = _read_tables(path)
    if meter not in tables:
        if not needs_access:
            return MeterAccess(meter, kind, {feed: feed for feed in feeds})
        raise MeterError(f"{path}: there is no table [{meter}]; add one ({PAGE})")
    access = _make_access(path, meter, tables[meter])
    if access.kind != kind:
        raise MeterError(
            f"{path}: [{meter}] has the kind {access.kind!r}, and system.toml has {kind!r}; make "
            "them equal"
        )
    if missing := [feed for feed in feeds if feed not in access.feeds]:
        raise MeterError(
            f"{path}: [{meter}] feeds lacks {', '.join(missing)}; say what the meter calls it, as "
            f'in feeds = {{ {missing[0]} = "1" }}'
        )
    # Only the declared feeds are read, in their order.
    declared = {feed: access.feeds[feed] for feed in feeds}
    return MeterAccess(
        access.id, kind, declared, access.host, access.port, access.options, access.secrets
    )


def list_access(path: Path) -> list[MeterAccess]:
    """How to reach all meters of the file `path`. Raises MeterError as `read_access` does."""
    return [_make_access(path, meter, table) for meter, table in _read_tables(path).items()]


def _read_tables(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            # Of the open file, so that no other file can be put in its place meanwhile.
            status = os.fstat(file.fileno())
            _check_private(path, status)
            return parse_toml(file.read())
    except FileNotFoundError:
        raise MeterError(
            f"{path}: no such file; write it ({PAGE}), or name another with --meters"
        ) from None
    except OSError as error:
        raise MeterError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise MeterError(f"{path}: cannot be read as TOML: it is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at [^()]*\)$", str(error))
        raise MeterError(
            f"{path}: cannot be read as TOML {place[0] if place else ''}; mend it"
        ) from None


def _check_private(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise MeterError(f"{path}: is no file; give a TOML file")
    if status.st_uid != os.geteuid():
        raise MeterError(f"{path}: belongs to another user; make a copy of your own, of mode 0600")
    if mode := stat.S_IMODE(status.st_mode) & ~0o600:
        raise MeterError(
            f"{path}: has the mode {stat.S_IMODE(status.st_mode):04o}, which gives more than its "
            f"owner's right to read and write ({mode:04o}); chmod 600 {path}"
        )


def _make_access(path: Path, meter: str, table: object) -> MeterAccess:
    if not isinstance(table, dict):
        raise MeterError(f"{path}: {meter} must be a table, [{meter}]")
    values = dict(table)
    kind, host, port = values.pop("kind", None), values.pop("host", ""), values.pop("port", None)
    for key, value, is_right, wanted in (
        ("kind", kind, isinstance(kind, str), "the name of a kind in quotes"),
        ("host", host, isinstance(host, str), "a name or an address in quotes"),
        ("port", port, port is None or _is_port(port), "a number of 1 to 65535"),
    ):
        if not is_right:
            found = "nothing" if value is None else f"a {type(value).__name__}"
            raise MeterError(f"{path}: [{meter}] {key}: found {found}, expected {wanted}")
    feeds = values.pop("feeds", {})
    if not isinstance(feeds, dict):
        raise MeterError(f'{path}: [{meter}] feeds: expected a table, as in {{ left = "1" }}')
    if plain := [name for name in SECRET_NAMES if name in values]:
        raise MeterError(
            f"{path}: [{meter}] {plain[0]}: secrets are given by reference; use "
            f"{plain[0]}_env, {plain[0]}_file or {plain[0]}_command"
        )
    secrets = {key: values.pop(key) for key in list(values) if _SECRET_KEY.fullmatch(key)}
    return MeterAccess(
        meter,
        str(kind),
        _make_texts(path, meter, feeds, "feeds "),
        host,
        port,
        _make_texts(path, meter, values),
        _make_texts(path, meter, secrets),
    )


def _is_port(value: object) -> bool:
    return type(value) is int and 0 < value < 65536


def _make_texts(
    path: Path, meter: str, values: Mapping[str, object], prefix: str = ""
) -> dict[str, str]:
    for key, value in values.items():
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise MeterError(
                f"{path}: [{meter}] {prefix}{key}: found a {type(value).__name__}, expected text "
                "in quotes or a number"
            )
    return {key: str(value) for key, value in values.items()}
