"""Which forgeries the rules report, alone and in a round, and how often the rules on power readings
report real ones: the tables of docs/forensics.md.

    python benchmarks/forensics.py            prints the tables
    python benchmarks/forensics.py --write    writes them into the page and benchmarks/results/
    python benchmarks/forensics.py --check    fails if the page has other tables

It takes minutes on two cores. These are measured:

- the strategies of benchmarks/forgeries/strategies.py, on one or two runs;
- forged readings of every committed bundle, judged by the rules on power and energy, and disguised
  copies of them, judged by X112;
- the same rules on real readings: whole runs, and every five scored epochs in a row.
"""

import argparse
import copy
import csv
import io
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from forgeries.disguises import render_disguises  # noqa: E402
from forgeries.folding import Batches  # noqa: E402
from forgeries.outcome import MIN_GAIN, Outcome, is_warned, render_added, render_findings  # noqa: E402
from forgeries.readings import READING_FORGERIES, make_bundle  # noqa: E402
from forgeries.strategies import STRATEGIES  # noqa: E402
from support.bundles import rederive  # noqa: E402
from support.committed_runs import find_reference_runs, find_studied_runs  # noqa: E402

from rules.bundle import Bundle  # noqa: E402
from rules.bundle_format.files import read_files  # noqa: E402
from rules.metrics.power.series import repeat_themselves  # noqa: E402
from rules.registry import rules_by_id  # noqa: E402
from rules.rule import BundleRule  # noqa: E402
from rules.testing.frames import EvidenceFrames, read_frames  # noqa: E402

PAGE = ROOT / "docs" / "forensics.md"
HARMONICS = ROOT / "benchmarks" / "results" / "sensor-harmonics.csv"
"""The harmonics of each run, of which the page has a summary."""
RULES = [
    rule
    for rule in rules_by_id().values()
    if isinstance(rule, BundleRule)
    and (".forensics." in rule.module or rule.id in ("W119", "W126", "W111", "E103", "E104"))
]
"""The rules on readings, power and energy that the tables of readings count."""


INTERVAL_S = 0.1
"""Between two readings of the counter."""
MIN_AMPLITUDE = 5
"""Least amplitude of a harmonic that is compared, in its standard errors."""
MAX_EXPECTED = 0.85
"""Only harmonics that an integral over `INTERVAL_S` would damp visibly are compared."""
ROUNDS = {
    "alone": "alone",
    "beside_others": "beside other runs",
    "beside_original": "beside the original",
}
"""The rounds in which a forged bundle is judged: fields of `Outcome` and their names."""


def judge_strategies() -> list[Outcome]:
    """Judge all strategies in a process of its own."""
    script = ROOT / "benchmarks" / "forgeries" / "judge.py"
    command = [sys.executable, str(script), str(ROOT)]
    process = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return [Outcome(**outcome) for outcome in json.loads(process.stdout)]


def render_strategies(outcomes: Sequence[Outcome]) -> str:
    """The table of strategies, with a row for those with the same findings. Each has its gains of
    items/s and items/J in %."""
    strategies: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for outcome in outcomes:
        gains = (
            re.sub(r"^[+-]0\.0$", "0", f"{100 * gain:+.1f}")
            for gain in (outcome.items_per_s_gain, outcome.items_per_joule_gain)
        )
        cells = (
            render_findings(outcome.alone),
            render_added(outcome.alone, outcome.beside_others),
            render_added(outcome.beside_others, outcome.beside_original),
        )
        strategies[cells].append(f"{outcome.title} ({'/'.join(gains)})")
    lines = ["| strategies | alone | other runs add | the original adds |", "|---" * 4 + "|"]
    lines += [f"| {'; '.join(rows)} | {' | '.join(cells)} |" for cells, rows in strategies.items()]
    return "\n".join(lines)


def render_unseen(outcomes: Sequence[Outcome]) -> str:
    """How many strategies that gain much pass without a warning, and why each of them does."""
    strong = [outcome for outcome in outcomes if outcome.gains_much]
    counts = [f"{count_unwarned(outcomes, key)} {name}" for key, name in ROUNDS.items()]
    lines = [
        f"{len(strong)} of {len(outcomes)} strategies gain {100 * MIN_GAIN:g} % or more. So many "
        f"pass without a warning: {', '.join(counts)}.",
        "",
        "| passes without a warning | where | why |",
        "|---|---|---|",
    ]
    reasons = {strategy.title: strategy.why_unseen for strategy in STRATEGIES}
    for outcome in strong:
        places = [name for key, name in ROUNDS.items() if not is_warned(getattr(outcome, key))]
        if places:
            lines.append(f"| {outcome.title} | {', '.join(places)} | {reasons[outcome.title]} |")
    return "\n".join(lines)


def count_unwarned(outcomes: Sequence[Outcome], key: str) -> int:
    """How many strategies that gain much have no warning in a round of `ROUNDS`."""
    return sum(o.gains_much and not is_warned(getattr(o, key)) for o in outcomes)


def list_reporting_rules(bundle: Bundle) -> set[str]:
    return {rule.id for rule in RULES if any(True for _ in rule.run(bundle))}


def render_reading_forgeries(evidences: Sequence[EvidenceFrames]) -> str:
    """In how many bundles each rule reports each forgery of readings."""
    lines = ["| forgery | found in | by |", "|---|---|---|"]
    for name, forge in READING_FORGERIES.items():
        reports: Counter[str] = Counter()
        for number, evidence in enumerate(evidences):
            forgery = copy.deepcopy(evidence)
            forge(forgery, evidences[(number + 1) % len(evidences)])
            rederive(forgery)
            rules = list_reporting_rules(make_bundle(forgery))
            reports.update([*rules, *(["any"] if rules else [])])
        found = f"{reports.pop('any', 0)} of {len(evidences)}"
        lines.append(f"| {name} | {found} | {render_counts(reports)} |")
    return "\n".join(lines)


def render_counts(reports: Mapping[str, int]) -> str:
    """How often each rule reports, without those that never do."""
    return (
        ", ".join(f"{rule} {count}" for rule, count in sorted(reports.items()) if count) or "none"
    )


def render_false_alarms(evidences: Sequence[EvidenceFrames]) -> str:
    """How often each rule reports real readings."""
    lines = ["| real readings | cases | reported by |", "|---|---|---|"]
    selections = {
        "whole runs, each accelerator": take_whole,
        "every five scored epochs in a row": take_five_epochs,
    }
    for name, select_bundles in selections.items():
        cases, reports = 0, Counter[str]()
        for evidence in evidences:
            for bundle in select_bundles(evidence):
                cases += len(bundle.series)
                reports.update({rule.id: sum(1 for _ in rule.run(bundle)) for rule in RULES})
        lines.append(f"| {name} | {cases} | {render_counts(reports)} |")
    return "\n".join(lines)


def take_whole(evidence: EvidenceFrames) -> Iterator[Bundle]:
    yield make_bundle(evidence)


def take_five_epochs(evidence: EvidenceFrames) -> Iterator[Bundle]:
    for first_epoch in range(1, int(evidence.batches["epoch"].max()) - 3):
        excerpt = copy.copy(evidence)
        excerpt.batches = evidence.batches[
            evidence.batches["epoch"].between(first_epoch, first_epoch + 4)
        ]
        yield make_bundle(excerpt)


def render_scatter(evidences: Sequence[EvidenceFrames]) -> str:
    """How alike real readings are: patterns that occur twice, and the scatter of epochs about a
    parabola, a smooth drift, as a share of their scatter about the mean (X109)."""
    all_series = [series for evidence in evidences for series in make_bundle(evidence).series]
    patterns = np.concatenate([series.patterns for series in all_series])
    patterns = patterns[~repeat_themselves(patterns)]
    shares = []
    for evidence in evidences:
        scored = [e["figures"] for e in evidence.result["epochs"] if e["scored"]]
        for name in ("items_per_s_per_accelerator", "mean_power_w_per_accelerator"):
            values = np.array([figures[name] for figures in scored])
            places = np.arange(len(values))
            drift = np.polyval(np.polyfit(places, values, 2), places)
            shares.append(float(np.std(values - drift) / values.std()))
    low, high = 100 * min(shares), 100 * max(shares)
    return (
        f"The {len(all_series)} series of readings have {len(patterns):,} patterns of 64 ups and "
        f"downs, and {len(patterns) - len(np.unique(patterns))} occur twice. The scatter of epochs "
        f"about a smooth drift is {low:.0f} to {high:.0f} % of all their scatter."
    ).replace(",", " ", 1)


def list_harmonics(evidences: Sequence[EvidenceFrames]) -> str:
    """As CSV: amplitudes of readings and counter in the period of a batch, their ratio with its
    standard error, and what it would be if a reading were one moment and the counter the integral
    over `INTERVAL_S`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    heads = (
        "run",
        "batch_s",
        "harmonic",
        "readings_w",
        "counter_w",
        "ratio",
        "error",
        "one_moment",
    )
    writer.writerow(heads)
    for evidence in evidences:
        bundle = make_bundle(evidence)
        if not bundle.is_training:
            continue
        series = bundle.series[0]
        batches = Batches.of(bundle, series.accelerator)
        read_s, under_load = series.read_s, series.load[1:] & series.load[:-1]
        middle_s = ((read_s[1:] + read_s[:-1]) / 2)[under_load]
        for harmonic in (1, 2, 3):
            reading_w, reading_error_w = batches.measure_amplitude(
                harmonic, read_s[series.load], series.under_load_w
            )
            counter_w, counter_error_w = batches.measure_amplitude(
                harmonic, middle_s, series.counted_w[under_load]
            )
            expected = abs(float(np.sinc(INTERVAL_S * harmonic / batches.length_s)))
            if reading_w < MIN_AMPLITUDE * reading_error_w or expected > MAX_EXPECTED:
                continue
            ratio = counter_w / reading_w
            error = ratio * np.hypot(reading_error_w / reading_w, counter_error_w / counter_w)
            name = evidence.result["workload"], evidence.result["implementation"]["variant"]
            writer.writerow(
                (
                    f"{' '.join(name)} {evidence.result['run_id'][-6:]}",
                    f"{batches.length_s:.3f}",
                    harmonic,
                    f"{reading_w:.1f}",
                    f"{counter_w:.1f}",
                    f"{ratio:.2f}",
                    f"{error:.2f}",
                    f"{expected:.2f}",
                )
            )
    return text.getvalue()


def render_sensor(harmonics: str) -> str:
    """What the harmonics say, as a sentence."""
    rows = list(csv.DictReader(harmonics.splitlines()))
    ratios, errors, expected = (
        np.array([float(row[name]) for row in rows]) for name in ("ratio", "error", "one_moment")
    )
    return (
        f"Of {len(rows)} harmonics of {len({row['run'] for row in rows})} training runs, "
        f"{(ratios > expected).sum()} have a higher ratio than if a reading were one moment, and "
        f"{(abs(ratios - 1) <= 2 * errors).sum()} are within two standard errors of 1."
    )


def render_tables() -> dict[str, str]:
    """All generated parts of the page by their names, and the file `HARMONICS` by its own."""
    evidences, studied_evidences = (
        [evidence for path in paths if (evidence := read_frames(read_files(path))[0]) is not None]
        for paths in (find_reference_runs(), find_studied_runs())
    )
    outcomes = judge_strategies()
    harmonics = list_harmonics(evidences)
    return {
        HARMONICS.name: harmonics,
        "strategies": render_strategies(outcomes),
        "unseen": render_unseen(outcomes),
        "readings": render_reading_forgeries(studied_evidences),
        "real": render_false_alarms(studied_evidences),
        "disguises": render_disguises(evidences),
        "scatter": render_scatter(evidences),
        "sensor": render_sensor(harmonics),
    }


def fill_page(page: str, tables: dict[str, str]) -> str:
    """The page with each table between the lines `<!-- begin NAME -->` and `<!-- end NAME -->`."""
    for name, table in tables.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        head, rest = page.split(begin)
        page = f"{head}{begin}\n{table}\n\n{end}{rest.split(end)[1]}"
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description="Which forgeries the rules report.")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.name}")
    mode.add_argument("--check", action="store_true", help=f"fail if {PAGE.name} has other tables")
    options = parser.parse_args()
    tables = render_tables()
    if not options.write and not options.check:
        print("\n\n".join(tables.values()))
        return
    harmonics = tables.pop(HARMONICS.name)
    page = PAGE.read_text(encoding="utf-8")
    filled = fill_page(page, tables)
    if options.write:
        PAGE.write_text(filled, encoding="utf-8")
        HARMONICS.write_text(harmonics, encoding="utf-8")
    elif filled != page or harmonics != HARMONICS.read_text(encoding="utf-8"):
        sys.exit(f"{PAGE}: run python benchmarks/forensics.py --write")


if __name__ == "__main__":
    main()
