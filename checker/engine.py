"""Judge one bundle, or a round: everything below some paths."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from checker.find import MAX_DEPTH, display_path, find_places
from checker.judging.bundle_judge import (
    JudgedBundle,
    JudgeOptions,
    judge_bundles,
    judge_problems,
    unpack,
)
from checker.judging.published import judge_published
from checker.judging.reproductions import add_reproductions
from checker.judging.round_rules import add_round_findings
from checker.judging.verdict_cache import VerdictCache
from checker.judging.workers import map_in_processes
from checker.trust.bundle_trust import RoundProblem, check_nested_keyrings, check_round_files
from checker.verdict import Round, Verdict, build_internal_finding
from rules.bundle_format.files import build_refusal
from rules.finding import Problem
from rules.registry import rules_by_id
from rules.rule_ids import FILE_MISSING, OUT_OF_PLACE
from rules.views import AnyBundle

Keep = Callable[[AnyBundle], object]
Watch = Callable[[Iterable[JudgedBundle], int], Iterable[JudgedBundle]]
"""Passes on what is judged, of which there are so many."""


@dataclass(frozen=True)
class _Target:
    """A bundle or a file of published figures to judge."""

    path: Path
    root: Path
    """The checked path below which it was found."""
    is_published: bool


def judge(
    path: Path, keyring: Path | None = None, root: Path | None = None, signed: bool = True
) -> Verdict:
    """Judge the bundle in the directory `path`, found below the checked path `root` (by default
    itself).

    Without `signed`, signatures are not verified: the harness judges a bundle before its submitter
    signs it. Rules across bundles are not run. Never raises for what the bundle contains. Raises
    CheckerError if signatures cannot be verified on this machine.
    """
    (judged,) = judge_bundles({path: root or path}, JudgeOptions(keyring, signed))
    return judged.verdict


def judge_all(
    roots: Sequence[Path],
    keyring: Path | None = None,
    signed: bool = True,
    evidence: bool = True,
    watch: Watch = lambda judged, _: judged,
    keep: Keep | None = None,
    expected_head: str = "",
    cache: VerdictCache | None = None,
    verify_cache: bool = False,
) -> Round:
    """Judge everything below `roots`, in as many processes as there are cores.

    Without `signed`, signatures, reviews, waivers and the LOG are not read. Without `evidence` only
    integrity and signatures are judged: that the files are those that were signed, and by whom. A
    path without a bundle has a failing verdict of its own. `watch` sees the progress. `keep` is
    called with each bundle that passed, in the process that has read it, and its verdict holds what
    it returns; keep that small. With `expected_head`, a line of the LOG must have this hash. Of a
    bundle in `cache`, the judgement of its evidence is reused; with `verify_cache`, a random tenth
    is judged again. Raises CheckerError as `judge` does, and if the cache says otherwise.
    """
    targets: dict[Path, _Target] = {}
    verdicts: list[Verdict] = []
    skipped: list[Path] = []
    keyrings: list[Path] = []
    for root in roots:
        places = find_places(root)
        verdicts += map(_judge_too_deep, places.too_deep)
        if not places.bundles and not places.published and not places.too_deep:
            # A misspelt path in a CI job must not look like a round without errors.
            verdicts.append(_judge_empty(root))
        targets |= {path: _Target(path, root, False) for path in places.bundles}
        targets |= {path: _Target(path, root, True) for path in places.published}
        skipped += places.skipped
        keyrings += places.keyrings
    # Load the rules before the processes start: those inherit them.
    rules_by_id()
    cache = _verify_tenth(cache, list(targets)) if cache and verify_cache else cache
    options = JudgeOptions(keyring, signed, evidence, keep=keep, cache=cache)
    results = map_in_processes(
        partial(_judge_targets, options=options), list(targets.values()), _report_crash
    )
    # Rules across bundles need all summaries, so this waits for the last bundle.
    judged = [unpack(item) for item in watch(results, len(targets))]
    with cache.remember_comparisons() if cache else nullcontext():
        verdicts += add_reproductions(judged, list(add_round_findings(judged)))
    trusts = [item.trust for item in judged]
    if signed:
        round_problems = check_round_files(trusts, roots, expected_head)
        nested = check_nested_keyrings(keyrings, targets)
        verdicts += judge_round_problems((*round_problems, *nested), roots)
    # `dict.fromkeys` removes repetitions and keeps the order.
    used_keyrings = dict.fromkeys(trust.keyring for trust in trusts if trust.keyring)
    return Round(
        tuple(sorted(verdicts, key=lambda verdict: verdict.path)),
        tuple(skipped),
        tuple(display_path(path.parent, roots) for path in used_keyrings),
        sum(item.is_reused for item in judged),
    )


def _verify_tenth(cache: VerdictCache, paths: Sequence[Path]) -> VerdictCache:
    """The cache, of which a random tenth of the paths is to be judged again."""
    tenth = random.sample(paths, -(-len(paths) // 10))
    return replace(cache, verified=frozenset(tenth))


def _judge_targets(targets: Sequence[_Target], options: JudgeOptions) -> list[JudgedBundle]:
    published = [judge_published(t.path, options.cache) for t in targets if t.is_published]
    bundles = {target.path: target.root for target in targets if not target.is_published}
    return published + judge_bundles(bundles, options)


def _report_crash(target: _Target, error: Exception) -> JudgedBundle:
    finding = build_internal_finding(target.path, "judging the bundle", error)
    return JudgedBundle(Verdict(target.path, None, None, (finding,)))


def judge_round_problems(
    round_problems: Iterable[RoundProblem], roots: Sequence[Path]
) -> Iterator[Verdict]:
    """A verdict on each LOG, waiver and keyring that has a problem."""
    problems: dict[tuple[Path, str], list[Problem]] = defaultdict(list)
    for item in round_problems:
        path = display_path(item.path, roots) if item.path.is_absolute() else item.path
        problems[path, item.standing].append(item.problem)
    for (path, standing), own_problems in problems.items():
        yield judge_problems(path, standing, own_problems)


def _judge_empty(root: Path) -> Verdict:
    message = "There is nothing to judge. Name a directory that holds bundles."
    refusal = build_refusal(
        FILE_MISSING, "", "", "no bundle at or below this path", "at least one bundle", message
    )
    return judge_problems(root, None, refusal.problems)


def _judge_too_deep(directory: Path) -> Verdict:
    message = (
        "The directory was not searched, and bundles in it were not judged. Move them to "
        "CENTER/SYSTEM/RUN."
    )
    refusal = build_refusal(
        OUT_OF_PLACE,
        "",
        "",
        f"a directory more than {MAX_DEPTH} levels below the checked path",
        f"at most {MAX_DEPTH} levels",
        message,
    )
    return judge_problems(directory, None, refusal.problems)
