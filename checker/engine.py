"""Judges bundles by the rule book: one at a time, or all below some paths at once, and then against
each other."""

import gc
import os
import signal
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import pyarrow

from checker import CheckerError
from checker.find import as_given, below
from checker.trust import authority as verify
from checker.trust.acceptance_log import version_of
from checker.trust.bundle_trust import Trust, establish, keyrings_below_centers, of_no_bundle
from checker.verdict import INTERNAL, Round, Verdict
from rules.bundle import Bundle
from rules.bundle_format.files import MAX_BYTES, Refused, read_files, read_plain, refused
from rules.bundle_format.load import read_published, read_tables
from rules.bundle_format.records import MANIFEST_FILE, PUBLISHED_FORMAT
from rules.finding import Finding, Problem, Severity
from rules.registry import bundle_rules, form_rules, judge_form, round_rules, rules_by_id
from rules.rule import BundleRule, FormRule
from rules.rule_ids import FILE_MISSING
from rules.run_summary import RunSummary, summarize

_TOGETHER = 8
"""How many bundles are judged together at most: what is saved does not grow beyond."""
_TOGETHER_BYTES = 64 * 2**20
"""With so much read (see `_Opened.size`), no other bundle is opened: eight runs of four boards are
a third of it."""
_ALLOCATED = 200_000
"""Objects, about those of fifty bundles."""
_KEPT_BYTES = 24 * 2**20
"""Below 32 MiB, the most that glibc heeds; the largest table of a measured bundle takes a tenth of
it unpacked."""

Judged = tuple[Verdict, RunSummary | None, Trust]
"""What a process returns of a bundle: its evidence stays behind, and the rules across bundles see
the digest."""
Job = Callable[[Mapping[Path, Path]], list[Judged]]
"""Judges some paths, each given with the checked path that it was found below, and says something
of each, in their order."""
Keep = Callable[[Bundle], object]
Work = TypeVar("Work")
Watch = Callable[[Iterable[Judged], int], Iterable[Judged]]
"""Hands on what is judged, one after the other, of so many."""


def judge(
    path: Path, keyring: Path | None = None, root: Path | None = None, signed: bool = True
) -> Verdict:
    """The verdict on the bundle in the directory `path`, found below the checked path `root` (by
    default itself).

    Without `signed` nothing is asked of a signature: so the harness judges a bundle before its
    submitter signs it. Rules across bundles are not asked. Never raises for what is in the bundle.
    Raises CheckerError where signatures cannot be verified at all.
    """
    return judge_together({path: root or path}, keyring, signed)[0][0]


def _judge_published(paths: Mapping[Path, Path]) -> list[Judged]:
    return [(_of_published(path), None, Trust()) for path in paths]


def _of_published(path: Path) -> Verdict:
    """The verdict on a file of published figures: its place and its form. Nobody signs it."""
    try:
        verify.published_where_it_may_be(path)
        read_published(
            path, read_plain(path, path.name, MAX_BYTES["result.json"]), PUBLISHED_FORMAT
        )
        problems: tuple[Problem, ...] = ()
    except Refused as refusal:
        problems = refusal.problems
    bundle = Bundle(path, problems, None)
    return Verdict(
        path,
        "published",
        None,
        judge_form(bundle),
    )


def judge_all(
    roots: Sequence[Path],
    keyring: Path | None = None,
    signed: bool = True,
    evidence: bool = True,
    watch: Watch = lambda j, _: j,
    keep: Keep | None = None,
) -> Round:
    """The verdicts on everything below `roots`, judged in as many processes as there are `cores`.

    Without `evidence` only integrity and signatures are judged: that the files are those that were
    signed, and by whom. A path without a bundle has a failing verdict of its own. `watch` sees how
    far it is. `keep` is asked of each bundle that passed, in the process that has read it, and what
    it returns, small, is in the verdict. Raises CheckerError as `judge` does.
    """
    bundles: dict[Path, Path] = {}
    published: dict[Path, Path] = {}
    verdicts, skipped, met = [], [], []
    for root in roots:
        places = below(root)
        if not places.bundles and not places.published:
            verdicts.append(_empty(root))
        bundles |= dict.fromkeys(places.bundles, root)
        published |= dict.fromkeys(places.published, root)
        skipped += places.skipped
        met += places.keyrings
    job = partial(judge_together, keyring=keyring, signed=signed, evidence=evidence, keep=keep)
    parts: list[tuple[Job, Mapping[Path, Path]]] = [
        (job, some) for some in _some_at_a_time(bundles)
    ]
    parts += [(_judge_published, {path: root}) for path, root in published.items()]
    judged = list(watch(_in_parallel(parts), len(bundles) + len(published)))
    verdicts += _across(judged)
    beside = (
        *of_no_bundle([trust for _, _, trust in judged], keyring, roots),
        *keyrings_below_centers(met, [*bundles, *published]),
    )
    verdicts += _of_no_bundle(beside, roots)
    keyrings = dict.fromkeys(trust.keyring for _, _, trust in judged if trust.keyring)
    return Round(
        tuple(sorted(verdicts, key=lambda v: v.path)),
        tuple(skipped),
        tuple(as_given(path.parent, roots) for path in keyrings),
    )


def judge_together(
    paths: Mapping[Path, Path],
    keyring: Path | None = None,
    signed: bool = True,
    evidence: bool = True,
    keep: Keep | None = None,
) -> list[Judged]:
    """What one process has to say of some bundles, each given with the checked path that it was
    found below, as `judge_all` asks.

    Each rule is asked of all of them before the next one is: what the processor needs for it is
    then at hand, which saves a tenth of the time.
    """
    judged: list[Judged] = []
    opened: list[_Opened | Judged] = []
    with warnings.catch_warnings(action="ignore"):
        for path, root in paths.items():
            opened.append(
                _unless_it_fails(path, partial(_open, path, keyring, root, signed, evidence))
            )
            if sum(one.size for one in opened if isinstance(one, _Opened)) > _TOGETHER_BYTES:
                judged += _closed(opened, keep)
                opened = []
        return judged + _closed(opened, keep)


def _closed(opened: Sequence["_Opened | Judged"], keep: Keep | None) -> list[Judged]:
    """What is to be said of bundles that are open, after asking the rules of them, and what was
    said of the others before."""
    for rule in rules_by_id().values():
        for one in opened:
            if not isinstance(one, _Opened) or rule.id not in one.asked:
                continue
            if isinstance(rule, BundleRule | FormRule):
                one.ask(rule)
    return [
        _unless_it_fails(one.bundle.path, partial(_conclude, one, keep))
        if isinstance(one, _Opened)
        else one
        for one in opened
    ]


@dataclass
class _Opened:
    """A bundle while it is judged."""

    bundle: Bundle
    trust: Trust
    asked: frozenset[str]
    """The rules to ask, by id."""
    size: int
    """About how many bytes of it are kept: its files and, for each row of its tables, a hundred."""
    findings: list[Finding] = field(default_factory=list)

    def ask(self, rule: BundleRule | FormRule) -> None:
        try:
            self.findings += rule.judge(self.bundle)
        except Exception as error:
            self.findings.append(_internal(self.bundle.path, f"rule {rule.id}", error))


def _unless_it_fails(path: Path, work: Callable[[], Work]) -> Work | Judged:
    """What `work` gives, or that the checker failed in it."""
    try:
        return work()
    except CheckerError:
        raise
    except Exception as error:
        return (
            Verdict(path, None, None, (_internal(path, "reading the bundle", error),)),
            None,
            Trust(),
        )


def _open(path: Path, keyring: Path | None, root: Path, signed: bool, wanted: bool) -> _Opened:
    files = read_files(path)
    problems = [*files.problems, *verify.manifest_problems(files.contents)]
    evidence, met = read_tables(files) if wanted else (None, [])
    trust = Trust()
    if signed and MANIFEST_FILE in files.contents:
        trust = establish(
            path, files.contents, keyring, root, evidence.result if evidence else None
        )
    bundle = Bundle(path, (*problems, *met, *trust.problems), evidence)
    if unowned := {p.rule for p in bundle.problems} - rules_by_id().keys():
        raise LookupError(f"problems of rules that the book does not have: {unowned}")
    if evidence is None:
        return _Opened(bundle, trust, _rules_for("", "0", True), 0)
    rows = sum(map(len, filter(None, (evidence.samples, evidence.batches, evidence.requests))))
    size = sum(map(len, files.contents.values())) + 100 * rows
    return _Opened(
        bundle,
        trust,
        _rules_for(bundle.standing, bundle.protocol.version, bool(bundle.problems)),
        size,
    )


@cache
def _rules_for(standing: str, protocol: str, problems: bool) -> frozenset[str]:
    """The rules on form, which say what `problems` were met, and those on evidence of this standing
    and version of the protocol, by id; without those that only look across bundles."""
    on_form = form_rules() if problems else ()
    on_evidence = (
        rule
        for rule in bundle_rules()
        if standing in rule.standings and version_of(protocol) >= version_of(rule.since)
    )
    return frozenset(rule.id for rule in (*on_form, *on_evidence))


def _conclude(one: _Opened, keep: Keep | None) -> Judged:
    bundle, trust, evidence = one.bundle, one.trust, one.bundle.evidence
    gone = trust.withdrawal
    verdict = Verdict(
        path=bundle.path,
        standing=bundle.standing if evidence else None,
        signer=trust.signer,
        findings=tuple(trust.settle(one.findings)),
        rules_not_run=0 if evidence else len(rules_by_id()) - len(one.asked),
        withdrawn=gone.reason if gone else "",
        withdrawn_by=gone.withdrawn_by if gone else "",
        withdrawn_at=gone.withdrawn_at if gone else "",
        reviews=trust.reviews,
        accepted=trust.accepted,
        manifest_sha256=trust.manifest_sha256,
    )
    refused_by = any(f.severity == Severity.ERROR and not f.waived for f in verdict.findings)
    center = (trust.signer or "").partition("@")[0].casefold()
    own = summarize(bundle, center) if evidence and not refused_by else None
    if keep and evidence and verdict.status == "pass":
        verdict = replace(verdict, kept=keep(bundle))
    return verdict, own, replace(trust, problems=())


def _of_no_bundle(
    found: Iterable[tuple[Path, str, Problem]], roots: Sequence[Path]
) -> Iterator[Verdict]:
    """A verdict on each LOG, waiver and keyring that something is wrong with, given path, standing
    and problem."""
    wrong: dict[tuple[Path, str], list[Problem]] = defaultdict(list)
    for path, standing, problem in found:
        wrong[as_given(path, roots) if path.is_absolute() else path, standing].append(problem)
    for (path, standing), problems in wrong.items():
        bundle = Bundle(path, tuple(problems), None)
        yield Verdict(
            path,
            standing,
            None,
            judge_form(bundle),
        )


def _across(judged: Sequence[Judged]) -> Iterator[Verdict]:
    """The verdicts, with what the rules across bundles find. What was refused proves nothing about
    others and is left out."""
    withdrawn = frozenset(verdict.path for verdict, _, _ in judged if verdict.withdrawn)
    found = _found_across([own for _, own, _ in judged if own is not None], withdrawn)
    accepted = [own for verdict, own, _ in judged if own is not None and verdict.accepted]
    # What was accepted is not refused because of a newcomer: a copy would take the original down
    # with it.
    before = _found_across(accepted, withdrawn) if len(accepted) > 1 else {}
    for verdict, _, trust in judged:
        across = found.get(verdict.path, [])
        if verdict.accepted:
            earlier = {f.rule for f in before.get(verdict.path, [])}
            across = [f if f.rule in earlier else _of_a_newcomer(f) for f in across]
        yield replace(verdict, findings=(*verdict.findings, *trust.settle(across)))


def _found_across(
    digests: Sequence[RunSummary], withdrawn: frozenset[Path]
) -> Mapping[Path, list[Finding]]:
    """The findings by bundle; of what was withdrawn there are none, and only rules that look for it
    compare others with it."""
    found: dict[Path, list[Finding]] = defaultdict(list)
    standing = [one for one in digests if one.path not in withdrawn]
    for rule in round_rules() if standing else ():
        try:
            for path, finding in rule.judge_round(digests if rule.sees_withdrawn else standing):
                if path not in withdrawn:
                    found[path].append(finding)
        except Exception as error:
            found[standing[0].path].append(
                _internal(standing[0].path, f"rule {rule.id} across bundles", error)
            )
    return found


def _of_a_newcomer(finding: Finding) -> Finding:
    if finding.severity != Severity.ERROR or finding.rule == INTERNAL:
        return finding
    why = "A note only: this bundle was accepted before the other one came."
    return replace(finding, severity=Severity.NOTE, message=f"{finding.message} {why}")


def _some_at_a_time(bundles: Mapping[Path, Path]) -> Iterator[Mapping[Path, Path]]:
    """The bundles in parts that are judged together: every core gets several."""
    most = min(_TOGETHER, max(1, len(bundles) // (4 * cores())))
    every = list(bundles.items())
    return (dict(every[at : at + most]) for at in range(0, len(every), most))


def cores() -> int:
    """How many cores this process may use; a batch system may have handed out a few of those that
    there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_parallel(parts: Sequence[tuple[Job, Mapping[Path, Path]]]) -> Iterator[Judged]:
    rules_by_id()  # loaded once, here, and there in every process
    lost: list[tuple[Job, Path, Path]] = []
    with ProcessPoolExecutor(cores(), initializer=_begin_worker) as pool:
        try:
            with _starting_processes():
                running = [(pool.submit(job, paths), job, paths) for job, paths in parts]
            for future, job, paths in running:
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    lost += [(job, path, root) for path, root in paths.items()]
        finally:
            pool.shutdown(
                cancel_futures=True
            )  # who is interrupted does not wait for the rest of a round
    # A process that is killed takes the pool with it. Alone, each bundle shows whether it was the
    # one.
    for job, path, root in lost:
        with ProcessPoolExecutor(1) as pool:
            try:
                with _starting_processes():
                    running_alone = pool.submit(job, {path: root})
                yield from running_alone.result()
            except BrokenProcessPool as error:
                yield (
                    Verdict(path, None, None, (_internal(path, "judging the bundle", error),)),
                    None,
                    Trust(),
                )


@contextmanager
def _starting_processes() -> Iterator[None]:
    """Ctrl-C on a terminal reaches all processes: this one hears it, at the latest after the block,
    those started in it never."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker() -> None:
    # What is loaded by now lives as long as a worker: the collector need not walk it again. And of
    # a bundle next to nothing is in cycles: it need not look, many times a bundle, for what goes by
    # itself.
    gc.freeze()
    gc.set_threshold(_ALLOCATED)
    # Once a block so large was freed, glibc keeps what is freed, instead of fetching it anew, page
    # by page, for every bundle; and what it keeps is for pyarrow too.
    bytearray(_KEPT_BYTES)
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())


def _empty(root: Path) -> Verdict:
    message = "There is nothing to judge. Name a directory that holds bundles."
    (problem,) = refused(
        FILE_MISSING, "", "", "no bundle at or below this path", "at least one bundle", message
    ).problems
    bundle = Bundle(root, (problem,), None)
    return Verdict(root, None, None, judge_form(bundle))


def _internal(path: Path, during: str, error: Exception) -> Finding:
    found = f"{type(error).__name__}: {error}"
    message = (
        f"The checker failed while {during} of {path}, so this was not judged to the end. "
        "Please report it."
    )
    return Finding(INTERNAL, Severity.ERROR, "", "", found, "a judgement", message)
