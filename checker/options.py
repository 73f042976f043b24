"""Options, and values of options, that several commands share."""

import contextlib
import re
from pathlib import Path

import click

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
