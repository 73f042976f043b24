"""What the rules leave to a reviewer: a line for each thing that a person has to judge, if runs of
the page concern it."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reporting.report_table import ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import COMPARED_STANDINGS, BundleLink
from reporting.words import count_nouns, join_words
from rules.finding import Severity

MAX_NAMES = 6
"""Runs, systems or rules that a line names."""


@dataclass(frozen=True)
class Task:
    """A line of the checklist."""

    title: str
    text: str
    command: str = ""
    """What helps to do it, in a clone of the round; empty where nothing does."""
    runs: Sequence[ResultRow] = ()
    """The runs that it concerns, if the text does not name them all by a property."""

    @property
    def named_runs(self) -> Sequence[ResultRow]:
        """The runs that the line names."""
        return self.runs[:MAX_NAMES]


def build_checklist(
    rows: Sequence[ResultRow], tables: Sequence[ReportTable], link: BundleLink, is_local: bool
) -> tuple[Task, ...]:
    """The tasks that the runs among the rows leave to a reviewer. `tables` have the distance of
    each run from the mean of its setting. A local report has read no signature and no review."""
    runs = [row for row in rows if row.provenance and row.standing != "demo"]
    compared = [row for row in runs if row.standing in COMPARED_STANDINGS]
    tasks = (
        _read_findings(runs),
        *(() if is_local else (_ask_for_keys(runs), _review(compared), _judge_waivers(runs))),
        _judge_statements(runs),
        _compare_code(runs),
        _read_implementations(compared),
        _explain_outliers(compared, tables, link),
        _name_missing_meters(compared),
        *(() if is_local else (_repeat(compared),)),
        _check_again(runs, is_local),
    )
    return tuple(task for task in tasks if task is not None)


def _read_findings(runs: Sequence[ResultRow]) -> Task | None:
    # A waiver of an error is judged as one.
    by_run = [
        findings
        for row in runs
        if row.provenance and (findings := [f for f in row.provenance.findings if not f.waived])
    ]
    if not by_run:
        return None
    severities = {finding.rule: finding.severity for findings in by_run for finding in findings}
    counts = Counter(rule for findings in by_run for rule in {f.rule for f in findings})
    # Warnings first, then what is rare.
    rules = sorted(counts, key=lambda r: (severities[r] == Severity.NOTE, counts[r], r))
    named = [f"{rule} ({severities[rule]}) in {counts[rule]}" for rule in rules]
    return Task(
        "Findings",
        f"{count_nouns(len(by_run), 'run')} of {len(runs)} passed with warnings or notes, which no "
        f"rule could decide: {_list_names(named)}. Read each.",
        f"bench-check explain {rules[0]}",
    )


def _ask_for_keys(runs: Sequence[ResultRow]) -> Task | None:
    signers = Counter(p.signer for row in runs if (p := row.provenance) and p.signer)
    if not signers:
        return None
    named = [f"{signer} ({count_nouns(signers[signer], 'run')})" for signer in sorted(signers)]
    return Task(
        "Keys",
        f"Signed by {_list_names(named)}. Ask each center over another channel whether the key in "
        "the keyring is its own.",
        "cat submissions/keyring/allowed_signers",
    )


def _review(compared: Sequence[ResultRow]) -> Task | None:
    runs = [row for row in compared if (p := row.provenance) and not (p.reviewers or p.rejecters)]
    if not runs:
        return None
    return Task(
        "Reviews",
        f"{_count_of(runs, compared)} without a review by another center:",
        f"bench-check review {_locate(runs[0])} --key KEY --principal YOU@DOMAIN --verdict accept",
        runs,
    )


def _judge_waivers(runs: Sequence[ResultRow]) -> Task | None:
    waived = [f for row in runs if row.provenance for f in row.provenance.findings if f.waived]
    if not waived:
        return None
    files = sorted({Path(finding.waived).name for finding in waived})
    return Task(
        "Waivers",
        f"{count_nouns(len(waived), 'finding')} waived by {_list_names(files)}. Whoever granted a "
        "waiver answers for its reason.",
    )


def _judge_statements(runs: Sequence[ResultRow]) -> Task | None:
    stated = {}
    for row in runs:
        system = row.run.system
        facts = {"cooling": system.cooling, "interconnect": system.interconnect}
        texts = [f"{name} {value}" for name, value in facts.items()]
        stated[row.system] = f"{row.system} ({', '.join((system.category, *texts))})"
    if not stated:
        return None
    named = _list_names(sorted(stated.values()))
    return Task("Statements", f"No evidence proves what systems state: {named}.")


def _compare_code(runs: Sequence[ResultRow]) -> Task | None:
    if not runs:
        return None
    sources = Counter(row.run.environment.source_sha256 for row in runs)
    states = [row.run.environment.git for row in runs]
    commits = {state.commit for state in states if state}
    changed = sum(state.dirty for state in states if state)
    return Task(
        "Code",
        f"The runs state {count_nouns(len(sources), 'version')} of wattmark's code, from "
        f"{count_nouns(len(commits), 'commit')}; {changed} with changes that are not committed, "
        f"{states.count(None)} without a commit. Compare source_sha256 of environment.json with "
        "that of a checkout.",
        "python3 -c 'from harness.system import hash_source; print(hash_source())'",
    )


def _read_implementations(compared: Sequence[ResultRow]) -> Task | None:
    runs = [row for row in compared if row.run.declaration.implementation.sha256]
    if not runs:
        return None
    names = sorted({row.run.declaration.implementation.name for row in runs})
    return Task(
        "Own implementations",
        f"{_list_names(names)}: the source must be public, with the hash of the bundle.",
        runs=runs,
    )


def _explain_outliers(
    compared: Sequence[ResultRow], tables: Sequence[ReportTable], link: BundleLink
) -> Task | None:
    far = {str(bundle) for bundle in _find_far_bundles(tables)}
    runs = [row for row in compared if link(row.run.path) in far]
    if not runs:
        return None
    return Task(
        "Outliers",
        f"{_count_of(runs, compared)} whose energy is further from the mean of their setting "
        "than boards differ. A run may follow every rule and be one.",
        runs=runs,
    )


def _find_far_bundles(tables: Sequence[ReportTable]) -> Iterator[object]:
    for table in tables:
        for row in table.rows:
            off, limit = row.get("off_mean_percent"), row.get("board_limit_percent")
            if isinstance(off, int | float) and isinstance(limit, int | float) and abs(off) > limit:
                yield row["bundle"]


def _name_missing_meters(compared: Sequence[ResultRow]) -> Task | None:
    runs = [row for row in compared if row.run.node is None]
    if not runs:
        return None
    return Task(
        "Node meters",
        f"{_count_of(runs, compared)} without a node meter: no other instrument than the sensor of "
        "the board confirms the power, and no rule sees a sensor that was tampered with.",
    )


def _repeat(compared: Sequence[ResultRow]) -> Task | None:
    runs = [row for row in compared if (p := row.provenance) and not (p.reproducers or p.original)]
    if not runs:
        return None
    return Task(
        "Repeats",
        f"{_count_of(runs, compared)} that no other center has repeated. To be sure, repeat one on "
        "boards of your own:",
        f"bench-submit reproduce {_locate(runs[0])} --dry-run",
        runs,
    )


def _check_again(runs: Sequence[ResultRow], is_local: bool) -> Task | None:
    if not runs:
        return None
    return Task(
        "Check again",
        "Judge all bundles anew on a machine of your own.",
        "bench-check --local --no-cache PATH" if is_local else "bench-check --no-cache submissions",
    )


def _list_names(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    names = list(names)
    unnamed_count = len(names) - MAX_NAMES
    shown_names = [*names[:MAX_NAMES], f"{unnamed_count} more"] if unnamed_count > 0 else names
    return join_words(shown_names)


def _count_of(runs: Sequence[ResultRow], all_runs: Sequence[ResultRow]) -> str:
    return f"{count_nouns(len(runs), 'run')} of {len(all_runs)}"


def _locate(row: ResultRow) -> str:
    """Where a bundle is in a round, for a shell."""
    return shlex.quote("/".join(("submissions", *row.run.path.parts[-3:])))
