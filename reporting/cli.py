"""`bench-report`: write one HTML page of all results below some paths, and the results as files.

Modules for checking and drawing are imported late, so that `--help` is fast.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

import click

from checker.command_line.completion import CommandOrPaths, is_completing
from checker.options import KEYRING, LOCAL, RoundPath
from checker.terminal import (
    FAILED,
    UnavailableError,
    UnwritableError,
    collect_garbage_rarely,
    describe_unwritable,
    run_program,
    show_step,
)

if TYPE_CHECKING:
    from reporting.charts.drawing import Drawing
    from reporting.collect import Collected
    from reporting.dataset.export import DataExport
    from reporting.foreign.evidence import Foreign
    from reporting.papers.layout import PaperWidth
    from reporting.report_table import ReportTable
    from reporting.rounds.earlier import EarlierRound
    from reporting.sentences.charts import ChartText
    from rules.bundle_format.records import Json

MARK = '<meta name="generator" content="wattmark'
"""Identifies an earlier page, which may be overwritten."""

_DIRECTORY = click.Path(file_okay=False, path_type=Path)


def start() -> NoReturn:
    """Run `bench-report` with the arguments of the process. A directory with the name of a command
    is reported on as `./NAME`."""
    if is_completing("bench-report"):
        run_program(CommandOrPaths(main, COMMANDS, load_command), "bench-report", [])
    collect_garbage_rarely()
    if (name := "".join(sys.argv[1:2])) in COMMANDS:
        run_program(load_command(name), f"bench-report {name}", sys.argv[2:])
    run_program(main, "bench-report", sys.argv[1:])


COMMANDS = {
    "advise": "advise which power cap to set for a workload",
    "compare": "compare two bundles, systems or rounds",
    "trace": "draw the power of one run over time",
}


def load_command(name: str) -> click.Command:
    """Import the command called `name`, one of `COMMANDS`."""
    if name == "advise":
        from reporting.advice.command import advise

        return advise
    if name == "trace":
        from reporting.trace_command import trace

        return trace
    from reporting.rounds.command import compare

    return compare


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Other commands, each with its own --help: bench-report advise ROUND advises which cap "
    "to set, bench-report compare A B compares two bundles, systems or rounds, and bench-report "
    "trace BUNDLE draws the power of a run over time. To report on a directory with such a name, "
    "write ./NAME.",
)
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=RoundPath(),
)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page to write.",
)
@click.option(
    "--tables",
    type=_DIRECTORY,
    help="Also write every table there as CSV, Markdown and LaTeX, report.json, and a LaTeX "
    "document with all of them.",
)
@click.option("--figures", type=_DIRECTORY, help="Also write every chart there as SVG and PDF.")
@click.option(
    "--width",
    type=click.Choice(["252", "516"]),
    default="516",
    show_default=True,
    help="Of figures and LaTeX tables, in pt: one or two columns of IEEEtran.",
)
@click.option(
    "--since",
    metavar="DIR|TAG",
    help="Show what changed since an earlier round: a directory, or what each PATH held at a tag "
    "or another revision of its git repository.",
)
@click.option(
    "--published",
    is_flag=True,
    help="Also show the published figures that come with wattmark.",
)
@click.option(
    "--audit",
    multiple=True,
    metavar="DIRECTORY",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Also show the evidence of other programs below DIRECTORY, graded as by bench-check "
    "audit and never ranked. May be repeated.",
)
@click.option(
    "--parquet",
    type=_DIRECTORY,
    help="Write runs, epochs, samples, findings and figures there as Parquet files with a data "
    "dictionary, with or without a page.",
)
@click.option(
    "--archive",
    type=_DIRECTORY,
    help="The same for an archive such as Zenodo: with Croissant and RO-Crate, described by "
    "round.toml in the first PATH.",
)
@KEYRING
@LOCAL
@click.version_option(package_name="wattmark", prog_name="bench-report")
def main(
    paths: tuple[Path, ...],
    out: Path | None,
    tables: Path | None,
    figures: Path | None,
    parquet: Path | None,
    archive: Path | None,
    width: Literal["252", "516"],
    since: str | None,
    published: bool,
    audit: tuple[Path, ...],
    keyring: Path | None,
    local: bool,
) -> None:
    """Check all bundles below each PATH and write one HTML page with their results and the
    published figures found there. Studies of image models, and trends of boards and models, get
    pages beside it.

    The page needs no network. Without JavaScript it has no controls and no folded tables. Bundles
    that fail the check are listed with their findings but without their figures, and the exit code
    is then 1.
    """
    from checker import CheckerError
    from checker.output import OutputError
    from checker.selection import refuse_keyring
    from reporting.cache import open_report_cache
    from reporting.charts import ChartError
    from reporting.charts.drawing import open_drawing
    from reporting.collect import EvidenceChangedError, NothingFoundError
    from reporting.foreign.declaration import ForeignError
    from reporting.foreign.evidence import collect_foreign
    from reporting.rounds.earlier import EarlierRoundError, collect_earlier

    refuse_keyring(keyring, local)
    _refuse_without_page(out, parquet or archive, tables or figures or since)
    code, chart_cache = open_report_cache()
    try:
        # Fail before the check, which may take minutes.
        with open_drawing(chart_cache) as drawing, _name_unwritable(out):
            data_exports = _prepare_outputs(out, parquet, archive, paths, local)
            foreign = collect_foreign(audit) if audit else None
            show_step("checking the bundles" if since is None else "checking the earlier round")
            earlier = None if since is None else collect_earlier(since, paths, keyring, local)
            show_step("checking the bundles")
            # The server starts when this process works alone, and not while all cores check.
            start_server = drawing.start_server if out else None
            collected = _collect(paths, published, foreign, keyring, local, start_server, code)
            exports = Exports(tables, figures, 252 if width == "252" else 516)
            lines = _write_files(collected, earlier, out, exports, drawing) if out else []
        lines += _write_data(collected, data_exports)
    except OutputError as error:
        raise click.UsageError(str(error)) from None
    except (EarlierRoundError, ForeignError, NothingFoundError) as error:
        raise click.ClickException(str(error)) from None
    except (ChartError, CheckerError, EvidenceChangedError) as error:
        raise UnavailableError(str(error)) from None
    finally:
        show_step("")
    click.echo("".join(f"{line}\n" for line in lines), nl=False)
    sys.exit(FAILED if collected.rejected else 0)


def _collect(
    paths: Sequence[Path],
    published: bool,
    foreign: "Foreign | None",
    keyring: Path | None,
    local: bool,
    after_bundles: Callable[[], None] | None,
    code: str,
) -> "Collected":
    """What the report shows. `code` is the hash of the code that decides what is kept of a bundle.
    Raises NothingFoundError and checker.CheckerError."""
    from checker.judging.verdict_cache import open_cache
    from reporting.collect import collect, list_shipped_figures

    shipped = list_shipped_figures(paths) if published else []
    cache = open_cache(lambda line: click.echo(f"bench-report: {line}", err=True), code)
    collected = collect([*paths, *shipped], keyring, local, after_bundles, cache)
    return replace(collected, foreign=foreign)


def _refuse_without_page(
    out: Path | None, data: Path | None, page_option: Path | str | None
) -> None:
    """Raise UsageError without anything to write, and for an option of the page without a page."""
    if out is None and data is None:
        raise click.UsageError(
            "name what to write: --out FILE for the page, --parquet DIR for the data, or both"
        )
    if out is None and page_option is not None:
        raise click.UsageError("--tables, --figures and --since belong to the page: add --out FILE")


def _prepare_outputs(
    out: Path | None,
    parquet: Path | None,
    archive: Path | None,
    paths: Sequence[Path],
    local: bool,
) -> "Sequence[DataExport]":
    """Make the directory of the page. Returns what `--parquet` and `--archive` ask for. Raises
    OutputError for a file that may not be overwritten, the page included, and OSError."""
    if archive is not None and local:
        raise click.UsageError("--archive is for results with verified signatures: omit --local")
    from checker.output import refuse_output

    if out is not None:
        refuse_output(out, MARK)
        out.parent.mkdir(parents=True, exist_ok=True)
    if parquet is None and archive is None:
        return ()
    # Data frames take as long to import as judging ten bundles.
    from reporting.dataset.description import DescriptionError
    from reporting.dataset.export import prepare_exports
    from reporting.dataset.publication import LibraryMissingError

    try:
        return prepare_exports(parquet, archive, paths)
    except DescriptionError as error:
        raise click.ClickException(str(error)) from None
    except LibraryMissingError as error:
        raise UnavailableError(str(error)) from None


def _write_data(collected: "Collected", exports: "Sequence[DataExport]") -> list[str]:
    """Write the data. Returns a line about each directory. Raises OutputError, UnwritableError and
    EvidenceChangedError."""
    if not exports:
        return []
    from reporting.dataset.export import write_exports

    show_step("writing the data")
    with _name_unwritable(exports[0].directory):
        return list(write_exports(collected, exports))


@dataclass(frozen=True)
class Exports:
    """What is written beside the pages."""

    tables: Path | None
    """The directory of the tables; None for no tables. As for figures."""
    figures: Path | None
    width: "PaperWidth"


def _write_files(
    collected: "Collected",
    earlier: "EarlierRound | None",
    out: Path,
    exports: Exports,
    drawing: "Drawing",
) -> list[str]:
    """Write pages, tables and figures. Returns a line about each page. Raises OutputError,
    ChartError and UnwritableError."""
    from datetime import UTC, datetime

    from checker.output import write_output
    from reporting.page import (
        build_page,
        describe_report,
        name_study_page,
        name_trends_page,
        render_fitting_page,
    )
    from reporting.studies.page import build_study_page, describe_studies, render_study_page
    from reporting.trends.page import build_trends_page, describe_trends, render_trends_page

    now = datetime.now(UTC)
    lines = [f"{out}: {collected.describe()}"]
    show_step("drawing the page")
    drawing.load_scripts()
    page = build_page(collected, out, earlier)
    drawing.start(page.tables, page.sentences.chart_texts)
    # The other pages are built while the charts of the first are drawn.
    study_page = build_study_page(collected, out) if collected.has_study_results else None
    if study_page is not None:
        drawing.start(study_page.drawn_tables)
    trends_page = build_trends_page(collected, out)
    if trends_page is not None:
        drawing.start(trends_page.drawn_tables)
    documents: dict[str, tuple[Callable[[], Json], Sequence[ReportTable]]] = {
        "report.json": (partial(describe_report, page, now), page.tables)
    }
    # The pages are written first: tables and figures are extra.
    with _name_unwritable(out):
        write_output(out, render_fitting_page(page, out, now, drawing), MARK)
        if study_page is not None:
            html = render_study_page(study_page, out, now, drawing)
            write_output(name_study_page(out), html, MARK)
            lines.append(f"{name_study_page(out)}: {study_page.describe()}")
            study_tables = tuple(study_page.tables.values())
            documents["image-inference.json"] = (
                partial(describe_studies, study_page, now),
                study_tables,
            )
        if trends_page is not None:
            html = render_trends_page(trends_page, out, now, drawing)
            write_output(name_trends_page(out), html, MARK)
            lines.append(f"{name_trends_page(out)}: {trends_page.describe()}")
            trends_tables = tuple(trends_page.tables.values())
            documents["trends.json"] = (partial(describe_trends, trends_page, now), trends_tables)
    more = [p.build_figure_tables for p in (study_page, trends_page) if p is not None]
    _write_exports(collected, documents, more, page.sentences.chart_texts, exports)
    return lines


def _write_exports(
    collected: "Collected",
    documents: "Mapping[str, tuple[Callable[[], Json], Sequence[ReportTable]]]",
    more: "Sequence[Callable[[], Sequence[ReportTable]]]",
    chart_texts: "Mapping[str, Mapping[str, ChartText]]",
    exports: Exports,
) -> None:
    """Write tables and figures. `documents` are what describes the pages and their tables by the
    name of their file, `more` builds tables that only figures are drawn from, and `chart_texts` are
    the texts of the charts of each table. Raises ChartError and UnwritableError."""
    tables = [table for _, page_tables in documents.values() for table in page_tables]
    charts = []
    if exports.figures is not None:
        from reporting.charts import build_charts
        from reporting.papers.figures import write_figures

        show_step("drawing the figures")
        drawn = [*tables, *(table for build in more for table in build())]
        charts = [c for t in drawn for c in build_charts(t, chart_texts.get(t.id))]
        with _name_unwritable(exports.figures):
            write_figures(charts, exports.figures, exports.width)
    if exports.tables is not None:
        from reporting.page import write_tables
        from reporting.papers.bibliography import Bibliography, list_publications
        from reporting.papers.export import write_latex

        show_step("writing the tables")
        with _name_unwritable(exports.tables):
            for name, (describe, page_tables) in documents.items():
                write_tables(page_tables, describe(), exports.tables / name)
            bibliography = Bibliography.from_publications(list_publications(collected))
            write_latex(
                tables, charts, bibliography, exports.tables, exports.figures, exports.width
            )


@contextmanager
def _name_unwritable(target: Path | None) -> Iterator[None]:
    """Raise UnwritableError, which names `target` or the file in it, for an OSError."""
    try:
        yield
    except OSError as error:
        raise UnwritableError(describe_unwritable(error, target)) from None


if __name__ == "__main__":
    start()
