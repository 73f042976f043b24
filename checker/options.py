"""Options, and values of options, that several commands share."""

import contextlib
import glob
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from checker.command_line.config import DEFAULT_OUT, FILE_KEYS, ConfigError, read_site_defaults
from checker.printable import printable

_SHA256 = re.compile(r"[0-9a-f]{64}")


def _check_head(_: click.Context, parameter: click.Parameter, head: str) -> str:
    if head and not _SHA256.fullmatch(head):
        raise click.BadParameter(
            f"{head!r} is no head of a LOG: 64 characters of 0-9 and a-f, as printed by "
            "bench-check log head",
            param=parameter,
        )
    return head


EXPECT_HEAD = click.option(
    "--expect-head",
    "expected_head",
    default="",
    metavar="HASH",
    callback=_check_head,
    help="Published head of the LOG. Fail if no line of the LOG has this hash.",
)


KEYRING = click.option(
    "--keyring",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory with allowed_signers.  [default: keyring/ at or above a bundle]",
)
LOCAL = click.option(
    "--local",
    is_flag=True,
    help="Read no keyring, signature or LOG: to look at your own run before it is signed.",
)


class SiteOption(click.Option):
    """An option with a key of its name in config.toml, which gives its default."""

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """Return the value and where it comes from. Raises UsageError if a file of defaults cannot
        be used."""
        value, source = super().consume_value(ctx, opts)
        if source is not ParameterSource.DEFAULT or ctx.resilient_parsing:
            return value, source
        try:
            default = getattr(read_site_defaults(), str(self.name))
        except ConfigError as error:
            raise click.UsageError(str(error), ctx) from None
        if default is None:
            return value, source
        if self.name in FILE_KEYS and not os.access(default.text, os.F_OK):
            raise click.UsageError(
                f"{default.file}: {self.name}: there is no file {default.text}; correct the path, "
                f"or give {self.opts[-1]}",
                ctx,
            )
        return default.text, ParameterSource.DEFAULT_MAP


KEY = click.option(
    "--key",
    cls=SiteOption,
    required=True,
    type=click.Path(path_type=Path),
    help="Your SSH key. For a public key, ssh-agent must hold the private part.",
)
PRINCIPAL = click.option(
    "--principal",
    cls=SiteOption,
    required=True,
    metavar="WHO",
    help="Who signs, as in the keyring: who@example.org.",
)


_RUN_ID_BEGINNING = re.compile(r"\.?[0-9]{8}T")
_WHOLE_RUN_ID = re.compile(r"[0-9]{8}T.*-[0-9a-f]{6}")


class BundlePath(click.Path):
    """An existing directory. The beginning of its name is enough, such as that of a run id, if no
    other name there begins so."""

    def __init__(self) -> None:
        super().__init__(exists=True, file_okay=False, path_type=Path)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return super().convert(complete_path(value), param, ctx)


class RoundPath(click.Path):
    """A path with bundles. Of a run id the beginning is enough. No other name is completed, so that
    no command judges a place that nobody named."""

    def __init__(self, exists: bool = True) -> None:
        super().__init__(exists=exists, path_type=Path)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return super().convert(complete_run_id(value), param, ctx)


def complete_run_id(text: str) -> Path:
    """`complete_path` of what ends with the beginning of a run id; other text as it is."""
    return complete_path(text) if _RUN_ID_BEGINNING.match(Path(text).name) else Path(text)


def complete_unfinished_run(text: str) -> Path:
    """The directory of an unfinished run, `.RUN_ID.running`, from the beginning of the run id;
    other text as it is."""
    path = Path(text)
    if not _RUN_ID_BEGINNING.match(path.name):
        return path
    unfinished = complete_path(str(path.with_name(f".{path.name.removeprefix('.')}")))
    return unfinished if unfinished.exists() else path


def complete_path(text: str) -> Path:
    """The directory that begins with `text`, if none has exactly this name; `text` where there is
    none. A run id without a directory is also looked for where runs go without --out, and in
    submissions/CENTER/SYSTEM/ here. Raises BadParameter where several names begin so."""
    path = Path(text)
    if os.path.lexists(path):
        return path
    # A whole run id does not stand for a copy whose name goes on, such as RUN.bak.
    begin = glob.escape(path.name) + ("" if _WHOLE_RUN_ID.fullmatch(path.name) else "*")
    directories = _list_directories(path.parent, begin)
    if not directories and path.name == str(text) and _RUN_ID_BEGINNING.match(path.name):
        directories = _list_directories(_find_results_directory(), begin)
        directories += _list_directories(Path("submissions"), f"*/*/{begin}")
        # Runs may go to submissions/CENTER/SYSTEM/.
        directories = list({path.resolve(): path for path in directories}.values())
    if len(directories) > 1:
        listing = ", ".join(printable(str(p)) for p in directories[:3])
        listing += ", …" if len(directories) > 3 else ""
        raise click.BadParameter(
            f"{text}: {len(directories)} names begin so: {listing}; write more letters or the "
            "directory"
        )
    return directories[0] if directories else path


def _find_results_directory() -> Path:
    """Where runs go without --out. The commands that take --out report a faulty file of
    defaults."""
    with contextlib.suppress(ConfigError):
        if out := read_site_defaults().out:
            return Path(out.text)
    return DEFAULT_OUT


def _list_directories(parent: Path, pattern: str) -> list[Path]:
    return sorted(p for p in parent.glob(pattern) if p.is_dir())


_UNITS = {
    "W": {"w": 1, "watt": 1, "watts": 1, "kw": 1000},
    "MHz": {"mhz": 1, "ghz": 1000},
    "s": {"s": 1, "sec": 1, "seconds": 1, "min": 60, "minutes": 60},
}
"""For each unit of an option, what users write after a number, and its size in that unit."""


def drop_unit(text: str, unit: str) -> str:
    """The text with its numbers in `unit` and without the unit: `400` for `400 W`, `0.4 kW` and
    `400`."""
    sizes = _UNITS[unit]

    def convert(number: re.Match[str]) -> str:
        size = sizes.get(number[2].lower())
        return number[0] if size is None else f"{float(number[1]) * size:.10g}"

    # Whole numbers of a list or range only: what else has letters is left to the option's parser.
    number = r"(?<![\w.])([0-9]+(?:\.[0-9]*)?|\.[0-9]+) ?([A-Za-z]+)(?![\w.])"
    return re.sub(number, convert, text)


def parse_percent(
    context: click.Context, option: click.Parameter, text: str | None
) -> float | None:
    """Return the percentage that an option gives, such as 0.5 for `0.5%`. Raises BadParameter."""
    if text is None:
        return None
    with contextlib.suppress(ValueError):
        if 0 < (percent := float(text.removesuffix("%"))) < 100:
            return percent
    raise click.BadParameter(f"{text}: give a percentage above 0 and below 100, such as 0.5%")
