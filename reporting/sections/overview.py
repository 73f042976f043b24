"""The tables across all workloads: workloads, systems, findings and evidence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from checker.verdict import Verdict
from reporting.quantities import name_scope, quantities, quantity, read_cells
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow, sort_results
from reporting.sections.cells import (
    COMPARED_STANDINGS,
    BundleLink,
    Cells,
    add_facet_columns,
    add_mark_columns,
    count_findings,
    hide,
    make_figure_cells,
    make_mark_cells,
    pluralize,
)
from reporting.sections.compare import format_label
from reporting.sections.repeats import ReportSpread, Setting, describe_trust, join_repeats
from reporting.sections.section import PageInput, Section
from rules.finding import Finding
from rules.registry import rules_by_id
from rules.rule import STANDINGS
from rules.workloads import Workload, workloads

NO_EVIDENCE = "no evidence"
"""The trust in a published figure."""


def build_workloads_table(rows: Sequence[ResultRow], spread: ReportSpread) -> ReportTable:
    """The number of results of each workload and standing, and its fastest and most efficient
    setting, each as the mean over its repeats and with the trust in it."""
    columns = (
        quantity("workload"),
        quantity("standing", about="results win within their standing"),
        *hide(quantity("scope")),
        Column("results", "results", "", "count"),
        Column("fastest", "fastest"),
        quantity("items_per_s_per_accelerator", key="fastest_rate"),
        Column("fastest_trust", "trust"),
        Column("efficient", "most efficient"),
        quantity("items_per_joule", key="efficient_per_joule"),
        Column("efficient_trust", "trust"),
        Column(
            "excluded",
            "excluded",
            "",
            "count",
            about="results excluded from rankings: the cap did not hold, the figure is above the "
            "peak of the board, a caution forbids the comparison, or a review is awaited",
        ),
    )
    cells = {
        (workload.id, standing): _make_winner_cells(workload, standing, standing_rows, spread)
        for workload in workloads().values()
        for standing in COMPARED_STANDINGS
        if (
            standing_rows := [
                row for row in rows if (row.workload, row.standing) == (workload.id, standing)
            ]
        )
    }
    about = (
        "The fastest and the most efficient settings are those of all results of a standing; other "
        "filters do not change them."
    )
    groups, table_rows = tuple(cells), tuple(cells.values())
    return ReportTable("workloads", "Workloads", columns, table_rows, about, identities=groups)


def _make_winner_cells(
    workload: Workload, standing: str, rows: Sequence[ResultRow], spread: ReportSpread
) -> Cells:
    candidates = [row for row in rows if row.may_win]
    cells: Cells = {
        "workload": workload.id,
        "standing": standing,
        "scope": None if standing == "published" else name_scope(rows[0]),
        "results": len(rows),
        "excluded": len(rows) - len(candidates),
    }
    if candidates:
        fastest = max(
            join_repeats(candidates, spread), key=lambda s: s.mean.items_per_s_per_accelerator.value
        )
        cells |= {
            "fastest": format_label(fastest.mean),
            "fastest_trust": describe_trust(fastest) or NO_EVIDENCE,
            **make_figure_cells("fastest_rate", fastest.mean.items_per_s_per_accelerator),
        }
    if efficient := [row for row in candidates if row.items_per_joule]:
        most_efficient = max(join_repeats(efficient, spread), key=_get_items_per_joule)
        cells |= {
            "efficient": format_label(most_efficient.mean),
            "efficient_trust": describe_trust(most_efficient) or NO_EVIDENCE,
            **make_figure_cells("efficient_per_joule", most_efficient.mean.items_per_joule),
        }
    return cells


def _get_items_per_joule(setting: Setting) -> float:
    figure = setting.mean.items_per_joule
    return figure.value if figure else 0.0


def build_excluded_table(rows: Sequence[ResultRow], link: BundleLink) -> ReportTable | None:
    """The results that are excluded from rankings, with the reason of each; None without any."""
    columns = add_mark_columns(
        quantity("workload"),
        quantity("line", title="result"),
        quantity("batch", unit="samples, or requests in flight"),
        quantity("cap_w"),
        Column("reason", "reason"),
    )
    cells = [
        {
            **make_mark_cells(row, link),
            "workload": row.workload,
            "reason": row.implausible or row.doubt or row.withheld or row.caution,
        }
        for row in rows
        if row.standing in COMPARED_STANDINGS and not row.may_win
    ]
    about = "These results are shown, but they neither win nor are compared with others."
    return (
        ReportTable("excluded", "Results that are not compared", columns, tuple(cells), about)
        if cells
        else None
    )


def build_systems_table(rows: Sequence[ResultRow]) -> ReportTable:
    """The systems that have submitted, by center and name."""
    shown_standings = [
        standing
        for standing in STANDINGS
        if standing != "control" or any(row.standing == "control" for row in rows)
    ]
    columns = (
        *quantities("system", "center"),
        Column("site", "site"),
        Column("accelerators", "accelerators"),
        Column("runs", "runs", "", "count"),
        Column("workloads", "workloads"),
        *(Column(standing, standing, "", "count") for standing in shown_standings),
        Column("findings", "runs with warnings or notes", "", "count"),
    )
    return ReportTable(
        "systems-table",
        "Systems",
        columns,
        tuple(
            _make_system_cells(system_rows, shown_standings)
            for _, system_rows in group_by_system(rows)
        ),
    )


def group_by_system(rows: Iterable[ResultRow]) -> list[tuple[str, list[ResultRow]]]:
    """The submitted rows of each system, by center and name, each with the name of the system."""
    rows_by_system: dict[tuple[str, str], list[ResultRow]] = {}
    for row in rows:
        if row.provenance:
            rows_by_system.setdefault((row.center or "", row.system), []).append(row)
    return [(system, rows_by_system[center, system]) for center, system in sorted(rows_by_system)]


def _make_system_cells(rows: Sequence[ResultRow], shown_standings: Sequence[str]) -> Cells:
    standings = Counter(row.standing for row in rows)
    provenances = [row.provenance for row in rows if row.provenance]
    return {
        "system": rows[0].system,
        "center": rows[0].center,
        "site": ", ".join(sorted({provenance.run.system_facts.site for provenance in provenances})),
        "accelerators": ", ".join(sorted({row.accelerator for row in rows})),
        "runs": len(rows),
        "workloads": ", ".join(sorted({row.workload for row in rows})),
        **{name: standings[name] for name in shown_standings},
        "findings": sum(bool(provenance.findings) for provenance in provenances),
    }


def build_findings_table(
    passed_findings: Sequence[Sequence[Finding]], rejected: Sequence[Verdict]
) -> ReportTable | None:
    """The rules with findings, and the number of bundles with each; None without findings.
    `passed_findings` has the findings of each passed bundle, of runs and of studies."""
    failed_findings = [verdict.findings for verdict in rejected]
    findings_by_rule: dict[str, Finding] = {
        f.rule: f for findings in (*passed_findings, *failed_findings) for f in findings
    }
    if not findings_by_rule:
        return None
    columns = (
        Column("rule", "rule"),
        Column("severity", "severity"),
        Column("title", "title"),
        Column("findings", "findings in passed bundles", "", "count"),
        Column("accepted", "passed bundles with this finding", "", "count"),
        Column("rejected", "failed bundles with this finding", "", "count"),
    )
    rule_book = rules_by_id()
    cells: list[Cells] = [
        {
            "rule": rule,
            "severity": str(finding.severity),
            "title": rule_book[rule].page.splitlines()[0] if rule in rule_book else finding.message,
            "findings": sum(f.rule == rule for findings in passed_findings for f in findings),
            "accepted": sum(any(f.rule == rule for f in findings) for findings in passed_findings),
            "rejected": sum(any(f.rule == rule for f in findings) for findings in failed_findings),
        }
        for rule, finding in sorted(findings_by_rule.items())
    ]
    return ReportTable("findings", "Findings", columns, tuple(cells))


def build_system_table(
    rows: Sequence[ResultRow], id: str, title: str, link: BundleLink
) -> ReportTable:
    """The runs of one system."""
    columns = add_facet_columns(
        *quantities("workload", "variant", "precision", "count", "cap_w", "power_w"),
        quantity("items_per_s_per_accelerator", kinds=False),
        quantity("items_per_joule", kinds=False),
        quantity("standing"),
        Column("evidence", "evidence", form="evidence"),
        *hide(*quantities("doubt", "implausible")),
        Column("bundle", "bundle", hidden=True),
    )
    cells = tuple(
        {
            **read_cells(columns, row),
            "evidence": count_findings(row.provenance.findings),
            "bundle": link(row.run.path),
        }
        for row in rows
        if row.provenance
    )
    return ReportTable(id, title, columns, cells)


def collect_facts(rows: Sequence[ResultRow]) -> list[tuple[str, str]]:
    """What system.json and environment.json state about a system: name and values of each fact. A
    fact lists every value that occurs in the runs."""
    runs = [row.provenance.run for row in rows if row.provenance]
    systems = [run.system_facts for run in runs]
    # A board that occurs in several runs counts once.
    boards = {board.uuid: board for run in runs for board in run.accelerators}
    board_names = ", ".join(sorted({board.name for board in boards.values()}))
    facts: list[tuple[str, list[str | None]]] = [
        ("site", [system.site for system in systems]),
        ("category", [system.category for system in systems]),
        ("accelerators used", [f"{pluralize(len(boards), 'board')}: {board_names}"]),
        ("VBIOS", [board.vbios for board in boards.values()]),
        ("CPU", [cpu for system in systems for cpu in system.cpus]),
        ("memory", [f"{gib:.0f} GiB" for system in systems for gib in system.memories_gib]),
        ("interconnect", [system.interconnect for system in systems]),
        ("cooling", [system.cooling for system in systems]),
        ("driver", [system.driver for system in systems]),
        ("system software", [system.software for system in systems]),
    ]
    return [
        (name, "; ".join(dict.fromkeys(value for value in values if value)))
        for name, values in facts
        # A fact that no run states is left out.
        if any(values)
    ]


SECTION = Section(
    name="workloads",
    place=10,
    build=lambda page: [build_workloads_table(page.rows, page.spread)],
    comes_first=True,
    is_across=True,
    is_for_nodes=True,
    paper_keys=(
        *("workload", "standing", "efficient_per_joule", "efficient", "fastest_rate", "results"),
        *("excluded", "fastest"),
    ),
)
EXCLUDED_SECTION = Section(
    name="excluded",
    place=20,
    build=lambda page: [build_excluded_table(page.rows, page.link)],
    comes_first=True,
    is_across=True,
)
SYSTEMS_SECTION = Section(
    name="systems-table",
    place=30,
    build=lambda page: [
        build_systems_table(page.named_rows) if group_by_system(page.named_rows) else None
    ],
    comes_first=True,
)
FINDINGS_SECTION = Section(
    name="findings",
    place=40,
    build=lambda page: [build_findings_table(page.passed_findings, page.rejected)],
    comes_first=True,
)


def _build_system_tables(page: PageInput) -> Iterator[ReportTable]:
    for place, (name, system_rows) in enumerate(group_by_system(page.named_rows), start=1):
        paths = {row.provenance.run.path for row in system_rows if row.provenance}
        rows = [row for row in page.rows if row.provenance and row.provenance.run.path in paths]
        yield build_system_table(
            sort_results(rows), f"system-{place}", f"Runs on {name}", page.link
        )


SYSTEM_SECTION = Section(name="system", place=170, build=_build_system_tables, is_for_nodes=True)
