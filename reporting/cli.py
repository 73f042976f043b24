"""`bench-report`: write one HTML page of all results below some paths, and the same as files.

Modules for checking and drawing are imported late, so that `--help` is fast.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from checker.terminal import (
    FAILED,
    UnavailableError,
    UnwritableError,
    describe_unwritable,
    run_program,
    show_step,
)

if TYPE_CHECKING:
    from reporting.collect import Collected
    from reporting.rounds.earlier import EarlierRound

MARK = '<meta name="generator" content="wattmark'
"""Identifies an earlier page, which may be overwritten."""

_DIRECTORY = click.Path(file_okay=False, path_type=Path)


def start() -> NoReturn:
    """Run `bench-report` with the arguments of the process."""
    run_program(main, "bench-report", sys.argv[1:])


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=click.Path(exists=True, path_type=Path),
)
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page to write.",
)
@click.option(
    "--tables",
    type=_DIRECTORY,
    help="Also write every table there as CSV, Markdown and LaTeX, and report.json.",
)
@click.option("--figures", type=_DIRECTORY, help="Also write every chart there as SVG and PDF.")
@click.option(
    "--since",
    metavar="DIR|TAG",
    help="Show what changed since an earlier round: a directory, or what each PATH held at a tag "
    "or another revision of its git repository.",
)
@click.option(
    "--keyring",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory with allowed_signers.  [default: keyring/ at or above a bundle]",
)
@click.option(
    "--local",
    is_flag=True,
    help="Read no keyring, signature or LOG: to look at your own run before it is signed.",
)
@click.version_option(package_name="wattmark", prog_name="bench-report")
def main(
    paths: tuple[Path, ...],
    out: Path,
    tables: Path | None,
    figures: Path | None,
    since: str | None,
    keyring: Path | None,
    local: bool,
) -> None:
    """Check all bundles below each PATH and write one HTML page with their results and the
    published figures found there. Studies of image models, and trends of boards and models, get
    pages beside it.

    The page needs no network. Without JavaScript it is static. Bundles that fail the check are
    listed with their findings but without their figures, and the exit code is then 1.
    """
    from checker import CheckerError
    from checker.output import OutputError, refuse_output
    from checker.selection import refuse_keyring
    from reporting.charts import ChartError
    from reporting.collect import EvidenceChangedError, NothingFoundError, collect
    from reporting.rounds.earlier import EarlierRoundError, collect_earlier

    refuse_keyring(keyring, local)
    try:
        # Fail before the check, which may take minutes.
        with _name_unwritable(out):
            refuse_output(out, MARK)
            earlier = None
            if since is not None:
                show_step("checking the earlier round")
                earlier = collect_earlier(since, paths, keyring, local)
            show_step("checking the bundles")
            collected = collect(paths, keyring, local)
        pages = _write_files(collected, earlier, out, tables, figures)
    except OutputError as error:
        raise click.UsageError(str(error)) from None
    except (EarlierRoundError, NothingFoundError) as error:
        raise click.ClickException(str(error)) from None
    except (ChartError, CheckerError, EvidenceChangedError) as error:
        raise UnavailableError(str(error)) from None
    finally:
        show_step("")
    for page in pages:
        click.echo(page)
    sys.exit(FAILED if collected.rejected else 0)


def _write_files(
    collected: "Collected",
    earlier: "EarlierRound | None",
    out: Path,
    tables: Path | None,
    figures: Path | None,
) -> list[str]:
    """Write pages, tables and figures. Returns a line about each page. Raises OutputError,
    ChartError and UnwritableError."""
    from datetime import UTC, datetime

    from checker.output import write_output
    from reporting.charts import build_charts
    from reporting.page import (
        build_page,
        describe_report,
        name_study_page,
        name_trends_page,
        render_page,
        write_tables,
    )
    from reporting.studies.page import build_study_page, describe_studies, render_study_page
    from reporting.trends.page import build_trends_page, describe_trends, render_trends_page

    now = datetime.now(UTC)
    lines = [f"{out}: {_count_results(collected)}"]
    show_step("drawing the page")
    # The pages are written first: tables and figures are extra.
    with _name_unwritable(out):
        page = build_page(collected, out, earlier)
        write_output(out, render_page(page, out, now), MARK)
        study_page = build_study_page(collected, out) if collected.has_study_results else None
        study_tables = list(study_page.tables.values()) if study_page else []
        if study_page is not None:
            html = render_study_page(study_page, out, now)
            write_output(name_study_page(out), html, MARK)
            lines.append(f"{name_study_page(out)}: {study_page.describe()}")
        trends_page = build_trends_page(collected, out)
        if trends_page is not None:
            html = render_trends_page(trends_page, out, now)
            write_output(name_trends_page(out), html, MARK)
            lines.append(f"{name_trends_page(out)}: {trends_page.describe()}")
    if tables is not None:
        show_step("writing the tables")
        with _name_unwritable(tables):
            write_tables(page.tables, describe_report(page, now), tables / "report.json")
            if study_page is not None:
                document = describe_studies(study_page, now)
                write_tables(study_tables, document, tables / "image-inference.json")
            if trends_page is not None:
                trends_tables = list(trends_page.tables.values())
                document = describe_trends(trends_page, now)
                write_tables(trends_tables, document, tables / "trends.json")
    if figures is not None:
        from reporting.charts.render import write_figures

        show_step("drawing the figures")
        with _name_unwritable(figures):
            write_figures(
                (
                    chart
                    for table in (*page.tables, *study_tables)
                    for chart in build_charts(table, page.sentences.chart_texts.get(table.id))
                ),
                figures,
            )
    return lines


@contextmanager
def _name_unwritable(target: Path) -> Iterator[None]:
    """Raise UnwritableError, which names `target` or the file in it, for an OSError."""
    try:
        yield
    except OSError as error:
        raise UnwritableError(describe_unwritable(error, target)) from None


def _count_results(collected: "Collected") -> str:
    runs = sum(row.provenance is not None for row in collected.rows)
    published = len(collected.rows) - runs
    passed = runs + len(collected.study_bundles)
    failed, withdrawn = len(collected.rejected), len(collected.withdrawn)
    label = collected.local_label
    judged = f"{label}: {passed} without errors" if label else f"{passed} passed"
    return f"{judged}, {failed} failed, {withdrawn} withdrawn, {published} published figures"


if __name__ == "__main__":
    start()
