"""`bench-report`: one HTML page of everything below some paths.

What judging and drawing need is imported where they begin, so that `--help` answers at once.
"""

from pathlib import Path

import click


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True, path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The page to write.")
@click.option(
    "--keyring",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory with allowed_signers.  [default: keyring/ at or above a bundle]",
)
@click.version_option(package_name="wattmark", prog_name="bench-report")
def main(paths: tuple[Path, ...], out: Path, keyring: Path | None) -> None:
    """Judge all bundles below each PATH and write them, beside published figures found there, as one HTML page.

    The page needs no network and no JavaScript. Bundles that fail the check are listed with their findings, and
    none of their figures is shown.
    """
    from datetime import UTC, datetime

    from checker import CheckerError
    from reporting.chart import ChartError
    from reporting.collect import NothingFoundError, collect
    from reporting.page import render

    try:
        content = collect(paths, keyring)
        out.write_text(render(content, out, datetime.now(UTC)), encoding="utf-8")
    except (ChartError, CheckerError, NothingFoundError) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{out}: cannot be written: {error.strerror}") from None
    accepted = sum(row.trail is not None for row in content.rows)
    published = len(content.rows) - accepted
    click.echo(f"{out}: {accepted} accepted, {len(content.rejected)} rejected, {published} published figures")
