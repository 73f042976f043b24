"""Options, and values of options, that several commands share."""

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from checker.command_line.config import FILE_KEYS, ConfigError, read_site_defaults

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


class BundlePath(click.Path):
    """An existing directory. The beginning of its name is enough, such as that of a run id, if no
    other name there begins so."""

    def __init__(self) -> None:
        super().__init__(exists=True, file_okay=False, path_type=Path)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        path = Path(value)
        if not os.path.lexists(path) and path.parent.is_dir():
            names = sorted(p.name for p in path.parent.iterdir() if p.name.startswith(path.name))
            if len(names) > 1:
                listing = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
                self.fail(f"{value}: {len(names)} names begin so: {listing}; write more letters")
            path = path.with_name(names[0]) if names else path
        return super().convert(path, param, ctx)


def drop_unit(text: str, unit: str) -> str:
    """The text without the unit after its numbers, such as `400` for `400 W`."""
    return re.sub(rf"(?<=[0-9]) ?{unit}(?![a-z])", "", text, flags=re.IGNORECASE)


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
