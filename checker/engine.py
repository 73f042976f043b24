"""Judges bundles by the rule book: one at a time, or all below some paths at once, and then against each other."""

import gc
import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from checker import CheckerError, verify
from checker.files import MAX_BYTES, Refused, read_files, read_plain, refused
from checker.find import below
from checker.load import read_evidence, read_published
from checker.trust import Trust, establish, of_no_bundle
from rules.digest import Digest, digest
from rules.records import MANIFEST_FILE, PUBLISHED_FORMAT
from rules.rule import Bundle, Finding, Problem, Rule, Severity, rules_by_id

INTERNAL = "internal"
"""Stands where a rule's id does in a finding about the checker itself: a bundle was not judged to the end."""


BESIDE = ("log", "waiver", "keyring")
"""Standings of what lies beside bundles and is no bundle."""


@dataclass(frozen=True)
class Verdict:
    """What the rule book says of one bundle, or of one file of published figures; or of what belongs to no bundle: the LOG, a
    waiver, the keyring, which have a verdict only where there is something to say.

    `standing` and `signer` are None where they could not be established. Beside those of bundles and `published` there are the
    standings `BESIDE`.
    """

    path: Path
    standing: str | None
    signer: str | None
    findings: tuple[Finding, ...]
    rules_not_run: int = 0
    """How many rules could not be asked because the evidence cannot be read."""
    withdrawn: str = ""
    """Why the bundle was withdrawn; empty where it was not."""
    reviewers: tuple[str, ...] = ()
    """The principals whose good, signed review accepts the bundle."""
    accepted: str = ""
    """The version of the rule book under which the LOG says that the bundle was accepted; empty where it does not."""
    manifest_sha256: str = ""
    """The SHA-256 of MANIFEST.json; empty where there is none."""

    @property
    def status(self) -> str:
        """`withdrawn`, `fail` or `pass`. An error that is waived fails nothing."""
        if self.withdrawn:
            return "withdrawn"
        return "fail" if any(f.severity == Severity.ERROR and not f.waived for f in self.findings) else "pass"


@dataclass(frozen=True)
class Round:
    """The verdicts on everything below some paths, in order of path, and the hidden directories that were left out."""

    verdicts: tuple[Verdict, ...]
    skipped: tuple[Path, ...]
    submissions: tuple[Path, ...] = ()
    """The directories with a keyring, and maybe a LOG and waivers, that the bundles hang on."""


Judged = tuple[Verdict, Digest | None, Trust]
"""What a process returns of a bundle: its evidence stays behind, and the rules across bundles see the digest."""
Job = Callable[[], Judged]


def judge(path: Path, keyring: Path | None = None, root: Path | None = None, signed: bool = True) -> Verdict:
    """The verdict on the bundle in the directory `path`, found below the checked path `root` (by default itself).

    Without `signed` nothing is asked of a signature: so the harness judges a bundle before its submitter signs it.
    Rules across bundles are not asked. Never raises for what is in the bundle. Raises CheckerError where signatures cannot be
    verified at all.
    """
    return _judge(path, keyring, root or path, signed)[0]


def _judge_published(path: Path) -> Judged:
    """The verdict on a file of published figures: its form. Nobody signs it."""
    try:
        read_published(path, read_plain(path, path.name, MAX_BYTES["result.json"]), PUBLISHED_FORMAT)
        problems: tuple[Problem, ...] = ()
    except Refused as refusal:
        problems = refusal.problems
    bundle = Bundle(path, problems, None)
    findings = [f for rule in rules_by_id().values() if rule.on_form for f in rule.judge(bundle)]
    return Verdict(path, "published", None, tuple(findings)), None, Trust()


def judge_all(roots: Sequence[Path], keyring: Path | None = None, signed: bool = True, evidence: bool = True) -> Round:
    """The verdicts on everything below `roots`, judged in as many processes as there are cores.

    Without `evidence` only integrity and signatures are judged: that the files are those that were signed, and by whom. A path
    without a bundle has a failing verdict of its own. Raises CheckerError as `judge` does.
    """
    jobs: dict[Path, Job] = {}
    verdicts, skipped = [], []
    for root in roots:
        places = below(root)
        if not places.bundles and not places.published:
            verdicts.append(_empty(root))
        jobs |= {path: partial(_judge, path, keyring, root, signed, evidence) for path in places.bundles}
        jobs |= {path: partial(_judge_published, path) for path in places.published}
        skipped += places.skipped
    judged = list(_in_parallel(jobs))
    verdicts += _across(judged)
    verdicts += _of_no_bundle([trust for _, _, trust in judged], keyring, roots)
    keyrings = dict.fromkeys(trust.keyring for _, _, trust in judged if trust.keyring)
    return Round(tuple(sorted(verdicts, key=lambda v: v.path)), tuple(skipped), tuple(path.parent for path in keyrings))


def _judge(path: Path, keyring: Path | None, root: Path, signed: bool, evidence: bool = True) -> Judged:
    try:
        with warnings.catch_warnings(action="ignore"):
            return _ask(path, keyring, root, signed, evidence)
    except CheckerError:
        raise
    except Exception as error:
        return Verdict(path, None, None, (_internal(path, "reading the bundle", error),)), None, Trust()


def _ask(path: Path, keyring: Path | None, root: Path, signed: bool, wanted: bool) -> Judged:
    files = read_files(path)
    problems = [*files.problems, *verify.manifest_problems(files.contents)]
    evidence, met = read_evidence(files) if wanted else (None, [])
    trust = establish(path, files.contents, keyring, root) if signed and MANIFEST_FILE in files.contents else Trust()
    bundle = Bundle(path, (*problems, *met, *trust.problems), evidence)
    if unowned := {p.rule for p in bundle.problems} - rules_by_id().keys():
        raise LookupError(f"problems of rules that the book does not have: {unowned}")
    findings: list[Finding] = []
    rules = rules_by_id().values()
    asked = [rule for rule in rules if rule.on_form or (evidence is not None and _applies(rule, bundle))]
    for rule in asked:
        try:
            findings += rule.judge(bundle)
        except Exception as error:
            findings.append(_internal(path, f"rule {rule.id}", error))
    verdict = Verdict(
        path=path,
        standing=bundle.standing if evidence else None,
        signer=trust.signer,
        findings=tuple(trust.settle(findings)),
        rules_not_run=0 if evidence else len(rules) - len(asked),
        withdrawn=trust.withdrawn,
        reviewers=trust.reviewers,
        accepted=trust.accepted,
        manifest_sha256=trust.manifest_sha256,
    )
    own = digest(bundle) if verdict.status == "pass" and evidence else None
    return verdict, own, replace(trust, problems=())


def _of_no_bundle(found: Sequence[Trust], keyring: Path | None, roots: Sequence[Path]) -> Iterator[Verdict]:
    """A verdict on each LOG, waiver and keyring that something is wrong with."""
    wrong: dict[tuple[Path, str], list[Problem]] = defaultdict(list)
    for path, standing, problem in of_no_bundle(found, keyring, roots):
        wrong[path, standing].append(problem)
    for (path, standing), problems in wrong.items():
        bundle = Bundle(path, tuple(problems), None)
        yield Verdict(path, standing, None, tuple(f for r in rules_by_id().values() if r.on_form for f in r.judge(bundle)))


def _across(judged: Sequence[Judged]) -> Iterator[Verdict]:
    """The verdicts, with what the rules across bundles find. What was refused proves nothing about others and is left out."""
    digests = [own for _, own, _ in judged if own is not None]
    found: dict[Path, list[Finding]] = defaultdict(list)
    for rule in rules_by_id().values() if digests else ():
        try:
            for path, finding in rule.judge_across(digests):
                found[path].append(finding)
        except Exception as error:
            found[digests[0].path].append(_internal(digests[0].path, f"rule {rule.id} across bundles", error))
    for verdict, _, trust in judged:
        yield replace(verdict, findings=(*verdict.findings, *trust.settle(found[verdict.path])))


def _applies(rule: Rule, bundle: Bundle) -> bool:
    def version(text: str) -> list[int]:
        return [int(number) for number in text.split(".")]

    return bundle.standing in rule.standings and version(bundle.protocol.version) >= version(rule.since)


def _in_parallel(jobs: Mapping[Path, Job]) -> Iterator[Judged]:
    lost = []
    # What is loaded by now lives as long as a worker: the collector need not walk it again for every bundle.
    with ProcessPoolExecutor(os.cpu_count(), initializer=gc.freeze) as pool:
        running = {path: pool.submit(job) for path, job in jobs.items()}
        for path, future in running.items():
            try:
                yield future.result()
            except BrokenProcessPool:
                lost.append(path)
    # A process that is killed takes the pool with it. Alone, each bundle shows whether it was the one.
    for path in lost:
        with ProcessPoolExecutor(1) as pool:
            try:
                yield pool.submit(jobs[path]).result()
            except BrokenProcessPool as error:
                yield Verdict(path, None, None, (_internal(path, "judging the bundle", error),)), None, Trust()


def _empty(root: Path) -> Verdict:
    message = "There is nothing to judge. Name a directory that holds bundles."
    (problem,) = refused("S101", "", "", "no bundle at or below this path", "at least one bundle", message).problems
    bundle = Bundle(root, (problem,), None)
    return Verdict(root, None, None, tuple(rules_by_id()["S101"].judge(bundle)))


def _internal(path: Path, during: str, error: Exception) -> Finding:
    found = f"{type(error).__name__}: {error}"
    message = f"The checker failed while {during} of {path}, so this was not judged to the end. Please report it."
    return Finding(INTERNAL, Severity.ERROR, "", "", found, "a judgement", message)
