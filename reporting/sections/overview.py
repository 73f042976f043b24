"""The tables that stand over all workloads: workloads, systems, findings and evidence."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from reporting.report_table import Column, ReportTable
from reporting.results_model import Provenance, ResultRow
from reporting.sections.compare import format_label
from reporting.sections.results import (
    SCOPE,
    BundleLink,
    Cells,
    count_findings,
    make_figure_cells,
    pluralize,
)
from rules import VERSION
from rules.finding import Finding
from rules.registry import rules_by_id
from rules.workloads import Workload, workloads

if TYPE_CHECKING:
    from checker.verdict import Verdict


def build_workloads_table(rows: Sequence[ResultRow]) -> ReportTable:
    """What there is of each workload, and its fastest and most efficient result that may be
    compared."""
    columns = (
        Column("workload", "workload"),
        Column("submitted", "submitted", "", "count"),
        Column("published", "published", "", "count"),
        Column("demo", "demo", "", "count"),
        Column("fastest", "fastest submitted"),
        Column("fastest_rate", "throughput", "items/s per accelerator", "number", interval=True),
        Column("efficient", "most efficient submitted"),
        Column("efficient_per_joule", "efficiency", "items/J", "number", interval=True),
        Column("published_efficient", "most efficient published"),
        Column("published_per_joule", "efficiency", "items/J", "number", kinds=True),
        Column(
            "not_trusted",
            "excluded",
            "",
            "count",
            about="results that are not compared: the cap did not hold, or the figure is above "
            "the peak of the board",
        ),
    )
    found = [
        _make_workload_cells(w, own)
        for w in workloads().values()
        if (own := [r for r in rows if r.workload == w.id])
    ]
    return ReportTable("workloads", "Workloads", columns, tuple(found))


def _make_workload_cells(workload: Workload, rows: Sequence[ResultRow]) -> Cells:
    standing = Counter(row.standing for row in rows)
    own = [row for row in rows if row.standing in ("closed", "open") and row.comparable]
    theirs = [
        row
        for row in rows
        if row.standing == "published" and row.comparable and row.items_per_joule
    ]
    cells: Cells = {
        "workload": workload.id,
        "submitted": standing["closed"] + standing["open"],
        "published": standing["published"],
        "demo": standing["demo"],
        "not_trusted": sum(not row.comparable for row in rows),
    }
    if own:
        fastest = max(own, key=lambda row: row.items_per_s_per_accelerator.value)
        cells |= {
            "fastest": format_label(fastest),
            **_make_measured_cells("fastest_rate", fastest, "items_per_s_per_accelerator"),
        }
    if efficient := [row for row in own if row.items_per_joule]:
        best = max(efficient, key=_get_items_per_joule)
        cells |= {
            "efficient": format_label(best),
            **_make_measured_cells("efficient_per_joule", best, "items_per_joule"),
        }
    if theirs:
        best = max(theirs, key=_get_items_per_joule)
        cells |= {
            "published_efficient": format_label(best),
            "published_per_joule": _get_items_per_joule(best),
            "published_per_joule_kind": best.items_per_joule.kind if best.items_per_joule else None,
        }
    return cells


def _make_measured_cells(key: str, row: ResultRow, name: str) -> Cells:
    return {
        k: v
        for k, v in make_figure_cells(key, getattr(row, name)).items()
        if not k.endswith("_kind")
    }


def _get_items_per_joule(row: ResultRow) -> float:
    return row.items_per_joule.value if row.items_per_joule else 0.0


def build_systems_table(rows: Sequence[ResultRow]) -> ReportTable:
    """The systems that have submitted, by name."""
    columns = (
        Column("system", "system"),
        Column("site", "site"),
        Column("accelerators", "accelerators"),
        Column("runs", "runs", "", "count"),
        Column("workloads", "workloads"),
        Column("closed", "closed", "", "count"),
        Column("open", "open", "", "count"),
        Column("demo", "demo", "", "count"),
        Column("findings", "runs with warnings or notes", "", "count"),
    )
    return ReportTable(
        "systems-table",
        "Systems",
        columns,
        tuple(_make_system_cells(name, own) for name, own in group_by_system(rows)),
    )


def group_by_system(rows: Iterable[ResultRow]) -> list[tuple[str, list[ResultRow]]]:
    """The submitted rows of each system, by its name."""
    found: dict[str, list[ResultRow]] = {}
    for row in rows:
        if row.provenance:
            found.setdefault(row.system, []).append(row)
    return sorted(found.items())


def _make_system_cells(system: str, rows: Sequence[ResultRow]) -> Cells:
    standing = Counter(row.standing for row in rows)
    trails = [row.provenance for row in rows if row.provenance]
    return {
        "system": system,
        "site": ", ".join(sorted({trail.run.system["site"] for trail in trails})),
        "accelerators": ", ".join(sorted({row.accelerator for row in rows})),
        "runs": len(rows),
        "workloads": ", ".join(sorted({row.workload for row in rows})),
        **{name: standing[name] for name in ("closed", "open", "demo")},
        "findings": sum(bool(trail.findings) for trail in trails),
    }


def build_findings_table(
    rows: Sequence[ResultRow], rejected: Sequence["Verdict"]
) -> ReportTable | None:
    """Which rules had something to say, and of how many bundles; None where none had."""
    accepted = [row.provenance.findings for row in rows if row.provenance]
    refused = [verdict.findings for verdict in rejected]
    by_rule: dict[str, Finding] = {f.rule: f for of in (*accepted, *refused) for f in of}
    if not by_rule:
        return None
    columns = (
        Column("rule", "rule"),
        Column("severity", "severity"),
        Column("title", "title"),
        Column("accepted", "passed bundles with this finding", "", "count"),
        Column("rejected", "failed bundles with this finding", "", "count"),
    )
    book = rules_by_id()
    found: list[Cells] = [
        {
            "rule": rule,
            "severity": str(finding.severity),
            "title": book[rule].page.splitlines()[0] if rule in book else finding.message,
            "accepted": sum(any(f.rule == rule for f in of) for of in accepted),
            "rejected": sum(any(f.rule == rule for f in of) for of in refused),
        }
        for rule, finding in sorted(by_rule.items())
    ]
    return ReportTable("findings", "Findings", columns, tuple(found))


def build_evidence_table(rows: Sequence[ResultRow], link: BundleLink) -> ReportTable | None:
    """What stands behind each accepted bundle; its findings are folded into the last cell. None
    where there is none."""
    columns = (
        Column("run", "run"),
        Column("system", "system"),
        Column("workload", "workload"),
        Column("standing", "standing"),
        Column("signer", "signed by"),
        Column("reviewed", "reviews"),
        Column("accepted", "accepted under rule book"),
        Column("scope", "scope"),
        Column("n", "scored epochs", "", "count"),
        Column("energy_of_record", "energy of record"),
        Column(
            "difference_percent",
            "trapezoid minus counter",
            "%",
            "signed",
            about="share of the counter",
        ),
        Column("protocol", "protocol"),
        Column("rules", "rule book of the run"),
        Column("judged_by", "checked by rule book"),
        Column("findings", "findings", form="findings"),
        Column("bundle", "bundle", hidden=True),
    )
    found = [_make_evidence_cells(row, link) for row in rows if row.provenance]
    return ReportTable("evidence", "Evidence", columns, tuple(found)) if found else None


def _make_evidence_cells(row: ResultRow, link: BundleLink) -> Cells:
    assert row.provenance is not None
    trail, run = row.provenance, row.provenance.run
    return {
        "run": run.result["run_id"],
        "system": row.system,
        "workload": row.workload,
        "standing": row.standing,
        "signer": trail.signer or "unsigned",
        "reviewed": _format_reviews(trail),
        "accepted": trail.accepted or None,
        "scope": SCOPE,
        "n": row.items_per_s_per_accelerator.n,
        "energy_of_record": run.energy_of_record,
        "difference_percent": None if trail.difference is None else trail.difference * 100,
        "protocol": run.result["protocol"],
        "rules": run.result["rules_version"],
        "judged_by": VERSION,
        "findings": count_findings(trail.findings),
        "bundle": link(run.path),
    }


def _format_reviews(trail: Provenance) -> str | None:
    told = [
        f"{verb} by {', '.join(who)}"
        for verb, who in (("accepted", trail.reviewers), ("rejected", trail.rejecters))
        if who
    ]
    return "; ".join(told) or None


def build_system_table(
    rows: Sequence[ResultRow], id: str, title: str, link: BundleLink
) -> ReportTable:
    """The runs of one system."""
    columns = (
        Column("workload", "workload"),
        Column("variant", "variant"),
        Column("precision", "precision"),
        Column("count", "accelerators", "", "count"),
        Column("cap_w", "cap", "W per accelerator", "count"),
        Column("power_w", "mean power", "W per accelerator", "number"),
        Column(
            "items_per_s_per_accelerator",
            "throughput",
            "items/s per accelerator",
            "number",
            interval=True,
        ),
        Column("items_per_joule", "efficiency", "items/J", "number", interval=True),
        Column("standing", "standing"),
        Column("evidence", "evidence", form="evidence"),
        Column("doubt", "reason why the cap is in doubt", hidden=True),
        Column("implausible", "reason why the figure is implausible", hidden=True),
        Column("bundle", "bundle", hidden=True),
    )
    return ReportTable(id, title, columns, tuple(_make_system_run_cells(row, link) for row in rows))


def _make_system_run_cells(row: ResultRow, link: BundleLink) -> Cells:
    assert row.provenance is not None
    return {
        "workload": row.workload,
        "variant": row.variant,
        "precision": row.precision,
        "count": row.count,
        "cap_w": row.cap_w,
        "power_w": row.observed_w.value if row.observed_w else None,
        **_make_measured_cells("items_per_s_per_accelerator", row, "items_per_s_per_accelerator"),
        **_make_measured_cells("items_per_joule", row, "items_per_joule"),
        "standing": row.standing,
        "evidence": count_findings(row.provenance.findings),
        "doubt": row.doubt,
        "implausible": row.implausible,
        "bundle": link(row.provenance.run.path),
    }


def collect_facts(rows: Sequence[ResultRow]) -> list[tuple[str, str]]:
    """What system.json and environment.json state of a system, each with every value that its runs
    have."""
    runs = [row.provenance.run for row in rows if row.provenance]
    nodes = [node for run in runs for node in run.system["nodes"]]
    boards = {a["uuid"]: a for run in runs for a in run.accelerators}
    stated = [
        ("site", [run.system["site"] for run in runs]),
        ("category", [run.system["category"] for run in runs]),
        (
            "accelerators used",
            [
                f"{pluralize(len(boards), 'board')}: "
                f"{', '.join(sorted({a['name'] for a in boards.values()}))}"
            ],
        ),
        ("VBIOS", [a["vbios"] for a in boards.values() if a["vbios"]]),
        ("CPU", [f"{node['cpu']}, {node['cpu_cores']} cores" for node in nodes]),
        ("memory", [f"{node['memory_bytes'] / 2**30:.0f} GiB" for node in nodes]),
        ("interconnect", [run.system["interconnect"] for run in runs]),
        ("cooling", [run.system["cooling"] for run in runs]),
        ("driver", [run.environment["driver"] for run in runs]),
        (
            "system software",
            [f"{run.environment['os']}, Linux {run.environment['kernel']}" for run in runs],
        ),
    ]
    return [
        (name, "; ".join(dict.fromkeys(str(v) for v in values if v)))
        for name, values in stated
        if any(values)
    ]
