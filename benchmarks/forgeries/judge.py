"""Judges every forging strategy with the code of one checkout, and prints the outcomes as JSON.

python benchmarks/forgeries/judge.py CHECKOUT

benchmarks/forensics.py runs this script.
A forged bundle is judged alone, in a round with runs of other centers, and in a round that also has
the honest run.
"""

import copy
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

CHECKOUT = Path(sys.argv[1])
sys.path[:0] = [str(CHECKOUT), str(CHECKOUT / "tests"), str(Path(__file__).parents[1])]

from forgeries.copies import leave_as_it_is, rename  # noqa: E402
from forgeries.outcome import Outcome  # noqa: E402
from forgeries.strategies import STRATEGIES, Strategy  # noqa: E402
from support.bundles import rederive, write_bundle  # noqa: E402

from checker.engine import judge_all  # noqa: E402
from rules.bundle_format.files import read_files  # noqa: E402
from rules.testing.cases.protocol.events_contradict_result import record_events  # noqa: E402
from rules.testing.frames import EvidenceFrames, read_frames  # noqa: E402


def find_run(name: str) -> Path:
    """The committed bundle whose name ends with `name`."""
    (path,) = (CHECKOUT / "submissions" / "reference").glob(f"*/*-{name}")
    return path


@cache
def read_run(name: str) -> EvidenceFrames:
    evidence, problems = read_frames(read_files(find_run(name)))
    assert evidence is not None, problems
    return evidence


def forge(strategy: Strategy, number: int) -> EvidenceFrames:
    """The forged evidence. All that follows from the altered values is derived again, also the
    events, as a careful forger would do."""
    evidence = copy.deepcopy(read_run(strategy.base))
    had_events = evidence.events is not None
    strategy.forge(evidence, read_run)
    rename(evidence, number)
    rederive(evidence)
    if had_events:
        record_events(evidence)
    return evidence


def judge(forged: EvidenceFrames, others: Sequence[str], root: Path) -> set[tuple[str, str]]:
    """Rule and severity of the findings on the forged bundle, in a round with other runs, each of a
    center of its own."""
    directory = root / "forger" / "system" / "forged"
    write_bundle(forged, directory)
    for name in others:
        shutil.copytree(find_run(name), root / f"center-{name}" / "system" / find_run(name).name)
    verdicts = judge_all([root], signed=False).verdicts
    (verdict,) = (verdict for verdict in verdicts if verdict.path == directory)
    return {(finding.rule, str(finding.severity)) for finding in verdict.findings}


def judge_in_three_rounds(strategy: Strategy, number: int) -> Iterator[list[tuple[str, str]]]:
    """The findings alone, beside other runs, and beside the honest run too. Findings that the
    honest run has as well are left out."""
    honest = Strategy("", leave_as_it_is, strategy.base)
    others = [name for name in strategy.others if name != strategy.base]
    rounds: tuple[Sequence[str], ...] = ((), others, (*others, strategy.base))
    with tempfile.TemporaryDirectory() as scratch:
        usual = judge(forge(honest, 0), (), Path(scratch) / "honest")
        forged = forge(strategy, number)
        for index, names in enumerate(rounds):
            yield sorted(judge(forged, names, Path(scratch) / str(index)) - usual)


def compute_gains(strategy: Strategy, number: int) -> tuple[float, float]:
    """By how much items/s per accelerator and items/J exceed those of the honest run."""
    headline = forge(strategy, number).result["headline"]
    honest = copy.deepcopy(read_run(strategy.honest or strategy.base))
    rederive(honest)
    honest_headline = honest.result["headline"]
    items_per_s, joules_per_item = "items_per_s_per_accelerator", "joules_per_item"
    return (
        headline[items_per_s]["mean"] / honest_headline[items_per_s]["mean"] - 1,
        honest_headline[joules_per_item]["mean"] / headline[joules_per_item]["mean"] - 1,
    )


def main() -> None:
    outcomes = []
    for number, strategy in enumerate(STRATEGIES, 1):
        print(f"{number} of {len(STRATEGIES)}: {strategy.title}", file=sys.stderr, flush=True)
        alone, beside_others, beside_original = judge_in_three_rounds(strategy, number)
        outcome = Outcome(
            strategy.title, *compute_gains(strategy, number), alone, beside_others, beside_original
        )
        outcomes.append(asdict(outcome))
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main()
