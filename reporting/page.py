"""The page: tables and charts as one self-contained HTML file, and the same tables as files."""

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reporting.charts import draw, load_scripts
from reporting.charts.chart import DrawnChart
from reporting.collect import Collected
from reporting.html_tables import TableMarkup, format_finding
from reporting.page_data import share_cells, share_spec_values
from reporting.page_model import PageModel, build_page_model
from reporting.paper import Paper
from reporting.report_table import escape_invisible, to_csv, to_latex, to_markdown, to_record
from reporting.sections.cells import BundleLink, count_findings, pluralize
from reporting.sections.planning import DEFAULTS
from rules import VERSION
from rules.bundle_format.records import Json
from rules.finding import Finding, Severity
from rules.metrics import comparison
from rules.metrics.node.racks import TOLERANCE_W

FORMAT = "wattmark-report/1"
"""The format of report.json."""


@dataclass(frozen=True)
class PassedBundles:
    """How many bundles passed, and how many of them have warnings, or notes but no warning."""

    count: int
    with_warnings: int
    with_notes_only: int

    @classmethod
    def count_findings(cls, findings: Sequence[Sequence[Finding]]) -> "PassedBundles":
        """Count by the findings of each passed bundle. A waived error counts as a warning."""
        warnings = sum(any(f.severity != Severity.NOTE for f in bundle) for bundle in findings)
        return cls(len(findings), warnings, sum(map(bool, findings)) - warnings)


def make_linker(output: Path) -> BundleLink:
    """Return a function that gives the address of a bundle relative to the page at `output`."""
    # Relative links still work after the page and its bundles were moved together.
    return lambda path: quote(Path(os.path.relpath(path, output.parent)).as_posix())


def render_page(page: PageModel, output: Path, now: datetime) -> str:
    """Render the HTML of the page. Links to bundles are relative to `output`.

    Raises ChartError without the extra `report`.
    """
    environment = Environment(
        loader=PackageLoader("reporting"),
        # Bundles come from strangers, so all their text is escaped.
        autoescape=True,
        # A misspelt name in a template is an error, not an empty text.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Names of systems and signers come from strangers.
        finalize=lambda value: escape_invisible(value) if type(value) is str else value,
    )
    environment.filters.update(count_findings=count_findings, pluralize=pluralize)
    drawn_charts = draw(page.tables)
    scripts = (
        # `panels.js` uses the functions of `report.js`, so both are one script with one scope.
        _read_template("report.js").replace("PANELS\n", _read_template("panels.js")),
        *load_scripts(),
    )
    rows = page.collected.rows
    bundles = [row for row in rows if row.provenance is not None]
    return environment.get_template("report.html").render(
        page=page,
        render_table=TableMarkup(page).render,
        drawn_charts=drawn_charts,
        table_data=Markup(_embed_json(share_cells([to_record(table) for table in page.tables]))),
        chart_specs=Markup(_embed_json(share_spec_values(_collect_specs(drawn_charts)))),
        # Markup: `_embed_json` has escaped the text already. HTML entities are not decoded in a
        # script.
        about=Markup(_embed_json(_describe_report(page, now))),
        scripts=[Markup(script) for script in scripts],
        policy=_make_policy(scripts),
        defaults=DEFAULTS,
        board_spread=comparison.BOARD_SPREAD_PERCENT,
        now=now,
        rules_version=VERSION,
        bundle_count=len(bundles) + page.collected.bundles_rejected + len(page.collected.withdrawn),
        systems=sorted({row.system for row in bundles}),
        passed=PassedBundles.count_findings(
            [row.provenance.findings for row in bundles if row.provenance]
        ),
        local_label=page.collected.local_label,
        link=make_linker(output),
        format_finding=format_finding,
    )


def _collect_specs(drawn_charts: Mapping[str, Sequence[DrawnChart]]) -> dict[str, Json]:
    """The spec of each chart by its id."""
    return {
        drawn.chart.id: drawn.chart.spec for charts in drawn_charts.values() for drawn in charts
    }


def build_page(collected: Collected, output: Path) -> PageModel:
    """Build the tables of a page at `output`."""
    return build_page_model(collected, make_linker(output))


def write_tables(page: PageModel, directory: Path, now: datetime) -> None:
    """Write every table as CSV, Markdown and LaTeX, and all tables as `report.json`."""
    directory.mkdir(parents=True, exist_ok=True)
    for table in page.tables:
        # `newline=""` keeps the CRLF that RFC 4180 asks for.
        for suffix, format_table in ((".csv", to_csv), (".md", to_markdown), (".tex", to_latex)):
            (directory / f"{table.id}{suffix}").write_text(
                format_table(table), encoding="utf-8", newline=""
            )
    report = {
        **_describe_report(page, now),
        "tables": [to_record(table) for table in page.tables],
    }
    (directory / "report.json").write_text(
        json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


def _describe_report(page: PageModel, now: datetime) -> dict[str, Any]:
    """The head of report.json: format, time, rule book, assumptions and sources."""
    return {
        "format": FORMAT,
        "made_at": now.isoformat(timespec="seconds"),
        "rules_version": VERSION,
        **({"trust_level": page.collected.local_label} if page.collected.local_label else {}),
        "assumptions": asdict(DEFAULTS),
        "board_spread_percent": comparison.BOARD_SPREAD_PERCENT,
        "rack_tolerance_w": TOLERANCE_W,
        "sources": [_cite_paper(paper) for paper in page.collected.papers],
    }


def _cite_paper(paper: Paper) -> Json:
    authors, title = escape_invisible(paper.authors), escape_invisible(paper.title)
    citation = {"authors": authors, "year": paper.year, "title": title}
    return citation | ({} if paper.link is None else {"url": escape_invisible(paper.link)})


def _read_template(name: str) -> str:
    return (files("reporting") / "templates" / name).read_text(encoding="utf-8")


def _embed_json(value: object) -> str:
    """JSON for a script element. `<` is escaped, so that no text of a bundle ends the element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _make_policy(scripts: Sequence[str]) -> str:
    """A Content-Security-Policy that allows only these scripts and no network access."""
    # The policy names each script by its hash, so that injected scripts do not run.
    digests = (
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts
    )
    script_sources = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = (
        # Vega writes style attributes, so inline styles are allowed. They cannot run code.
        f"default-src 'none'; script-src {script_sources}; style-src 'unsafe-inline'; "
        "connect-src 'none'"
    )
    return f"{policy}; base-uri 'none'; form-action 'none'"
