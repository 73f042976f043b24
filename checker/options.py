"""Options that several commands share."""

import re

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
