"""`bench-check audit`: judge the evidence of other programs."""

import sys
from pathlib import Path

import click

from checker.terminal import FAILED, colour_mode


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=click.Path(exists=True, path_type=Path),
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def audit(paths: tuple[Path, ...], as_json: bool) -> None:
    """Recompute and grade the evidence of other programs below each PATH.

    \b
    Exit codes:
        0  every file could be read, and no row is contradicted
        1  a row is contradicted, a file cannot be read, or there is no evidence
        2  wrong usage
    """
    # Lazy imports: `bench-check --help` is fast.
    from checker.audit import json_text, text
    from checker.audit.audit import audit as audit_paths

    result = audit_paths(paths)
    render = json_text.render if as_json else text.render
    click.echo(render(result), color=colour_mode())
    sys.exit(0 if result.is_clean else FAILED)
