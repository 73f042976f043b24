"""The page: sections, charts and numbers put into one self-contained HTML file."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from checker.engine import BESIDE, Verdict
from reporting.chart import efficiency_svg, sweep_svg
from reporting.rows import Figure, Row, in_order
from reporting.scaling import Several, scaling
from reporting.sweeps import Sweep, sweeps
from rules import VERSION
from rules.records import Json
from rules.rule import Finding, Severity
from rules.workloads import Workload, workloads

NO_BREAK = "\u202f"
"""Narrow no-break space, between groups of three digits."""

WIDE, NARROW = (1180, 520), (380, 420)
"""Charts in pixels, for a screen or a sheet and for a phone."""


@dataclass(frozen=True)
class Content:
    """What a page shows. `rejected` are verdicts of what failed the check, `withdrawn` those of bundles that no longer stand."""

    rows: Sequence[Row]
    papers: Sequence[Json]
    rejected: Sequence[Verdict]
    withdrawn: Sequence[Verdict] = ()


@dataclass(frozen=True)
class Swept:
    """The sweeps of a section, and their chart."""

    sweeps: Sequence[Sweep]
    chart: str
    chart_narrow: str


@dataclass(frozen=True)
class Section:
    """One workload of the page. `cautions` are footnotes, each once, in the order of the rows."""

    workload: Workload
    submitted: Sequence[Row]
    swept: Swept | None
    scaling: Sequence[Several]
    published: Sequence[Row]
    demo: Sequence[Row]
    demo_swept: Swept | None
    demo_scaling: Sequence[Several]
    cautions: Sequence[str]
    chart: str
    chart_narrow: str


def render(content: Content, output: Path, now: datetime) -> str:
    """The HTML of the page; links to bundles are relative to `output`. Raises ChartError without the extra `report`."""
    environment = Environment(
        loader=PackageLoader("reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=number, shown=shown, signed_percent=signed_percent, gain=gain, counted=counted, plural=plural
    )

    def link(path: Path) -> str:
        return quote(Path(os.path.relpath(path, output.parent)).as_posix())

    sections = [s for w in workloads().values() if (s := _section(w, content.rows)) is not None]
    bundles = [r for r in content.rows if r.trail is not None]
    return environment.get_template("report.html").render(
        sections=sorted(sections, key=lambda s: not s.submitted),
        papers=content.papers,
        rejected=content.rejected,
        withdrawn=content.withdrawn,
        now=now,
        rules_version=VERSION,
        bundle_count=len(bundles) + sum(v.standing not in BESIDE for v in content.rejected) + len(content.withdrawn),
        systems=sorted({r.system for r in bundles}),
        with_findings=sum(bool(r.trail and r.trail.findings) for r in bundles),
        link=link,
    )


def _section(workload: Workload, rows: Sequence[Row]) -> Section | None:
    own = [r for r in rows if r.workload == workload.id]
    if not own:
        return None
    submitted = in_order([r for r in own if r.standing in ("closed", "open")])
    published = sorted((r for r in own if r.standing == "published"), key=lambda r: (r.system, r.accelerator, r.cap_w or 0))
    demo = in_order([r for r in own if r.standing == "demo"])
    drawn = [r for r in (*submitted, *published) if r.items_per_joule is not None]
    return Section(
        workload=workload,
        submitted=submitted,
        swept=_swept(submitted, workload),
        scaling=scaling(submitted),
        published=published,
        demo=demo,
        demo_swept=_swept(demo, workload),
        demo_scaling=scaling(demo),
        cautions=list(dict.fromkeys(r.caution for r in published if r.caution)),
        chart=_chart(drawn, workload, WIDE),
        chart_narrow=_chart(drawn, workload, NARROW),
    )


def _swept(rows: Sequence[Row], workload: Workload) -> Swept | None:
    found = sweeps(rows)
    if not found:
        return None
    wide, narrow = (Markup(sweep_svg(found, workload.item, *size)) for size in (WIDE, NARROW))
    return Swept(found, wide, narrow)


def _chart(rows: Sequence[Row], workload: Workload, size: tuple[int, int]) -> str:
    # The renderer escapes text of the data; what it returns is markup.
    return Markup(efficiency_svg(rows, workload.item, *size)) if rows else ""


def number(value: float, digits: int = 4) -> str:
    """`value` with at least `digits` significant digits, no digit before the point rounded away, groups of three."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}".replace(",", NO_BREAK)


def shown(figure: Figure, factor: float = 1) -> str:
    """The value times `factor`; a printed one keeps its digits, an assumed one and a bound carry their signs."""
    match figure.kind:
        case "printed":
            return f"{figure.value * factor:,}".removesuffix(".0").replace(",", NO_BREAK)
        case "assumed":
            return f"≈{NO_BREAK}{number(figure.value * factor)}"
        case "bound":
            return f"≥{NO_BREAK}{number(figure.value * factor, 3)}"
        case "measured":
            return number(figure.value * factor)


def signed_percent(share: float) -> str:
    """A share as percent with its sign, a true minus where it is negative."""
    return f"{share * 100:+.2f}{NO_BREAK}%".replace("-", "\u2212")


def gain(percent: float) -> str:
    """A percentage with two digits after the point, a true minus where it is negative; never a minus before zero."""
    return f"{round(percent, 2) + 0.0:.2f}".replace("-", "\u2212")


def plural(count: int, noun: str) -> str:
    """`1 warning`, `2 warnings`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def counted(findings: Sequence[Finding]) -> str:
    """Findings in words: how many of each severity and by which rules, `2 warnings (C102, M203)`."""
    told = []
    for severity in Severity:
        own = [f for f in findings if f.severity == severity]
        if own:
            told.append(f"{plural(len(own), severity.value)} ({', '.join(sorted({f.rule for f in own}))})")
    return ", ".join(told) or "no findings"
