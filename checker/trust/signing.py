"""Makes signed statements on bundles (reviews, withdrawals, waivers) and writes what was accepted
into the LOG."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from checker.engine import judge_all
from checker.find import as_given, below
from checker.selection import printable
from checker.trust import acceptance_log as acceptance
from checker.trust import waivers
from checker.trust.authority import Authority, authority
from checker.trust.bundle_trust import now
from checker.trust.keyring import PRINCIPAL
from checker.trust.records import REVIEW, WITHDRAWAL, read_records
from checker.trust.signature import sign
from checker.verdict import BESIDE, INTERNAL, Verdict
from rules import VERSION
from rules.bundle_format.files import Refused, read_files
from rules.bundle_format.records import (
    ACCEPTANCE_FILE,
    EVIDENCE_FILES,
    MANIFEST_FILE,
    REVIEW_FORMAT,
    REVIEW_NAMESPACE,
    SIGNATURE_DIR,
    WAIVER_DIR,
    WAIVER_FORMAT,
    WAIVER_NAMESPACE,
    WITHDRAWAL_FORMAT,
    WITHDRAWAL_NAMESPACE,
    Json,
)
from rules.bundle_format.seal import json_bytes, write_all_durable
from rules.finding import Problem, Severity
from rules.rule_ids import REVIEW_REJECTS

THERE, LEFT, REFUSED = "there", "left out", "refused"
"""What becomes of a bundle of which nothing is written into the LOG: it is there already, nobody
need accept it, it may not."""


class StatementError(Exception):
    """What was to be stated cannot be; the message says why and what to do."""


def review(
    bundle: Path, key: Path, who: str, verdict: str, comment: str, replace: bool = False
) -> Path:
    """Judge `bundle` among those beside it, and sign what was found as the reviewer `who`, with
    `verdict` accept or reject.

    Only with `replace` it takes the place of a review by `who` that is there.

    Returns the path of the review. Raises StatementError, SigningError, and CheckerError where
    there is no ssh-keygen.
    """
    own = _authority(bundle, who)
    if tie := own.keyring.tie(who, own.center):
        raise StatementError(
            f"{tie}; a review is by another center than that of the bundle, {own.center}"
        )
    whole = bundle.resolve()
    judged = next((v for v in judge_all([whole.parent]).verdicts if v.path == whole), None)
    if judged is None:
        raise StatementError(
            f"{bundle}: bench-check passes over it, for it is hidden; it is not a finished bundle"
        )
    errors = sorted(
        {f.rule for f in judged.findings if f.severity == Severity.ERROR and not f.waived}
    )
    if INTERNAL in errors:
        raise StatementError(
            f"{bundle}: the checker failed on it, so there is nothing to sign; see "
            f"bench-check {bundle}"
        )
    if judged.withdrawn:
        raise StatementError(f"{bundle}: it was withdrawn; there is nothing to review")
    if not replace and (bundle / _record(REVIEW, who, "json")).exists():
        before = next(
            (f"{r.verdict}, {r.reviewed_at}" for r in judged.reviews if r.reviewer == who),
            "it does not count",
        )
        raise StatementError(
            f"{who} has reviewed it before ({before}); --replace puts this review in the "
            "place of that one"
        )
    if errors and verdict == "accept":
        told = ", ".join(errors)
        raise StatementError(
            f"{bundle}: it fails ({told}), and what fails cannot be accepted; review it "
            "with --verdict reject"
        )
    counted = Counter((f.rule, str(f.severity), bool(f.waived)) for f in judged.findings)
    record = {
        "format": REVIEW_FORMAT,
        "manifest_sha256": judged.manifest_sha256,
        "reviewer": who,
        "reviewed_at": now(),
        "checker_version": version("wattmark"),
        "rules_version": VERSION,
        "status": judged.status,
        "verdict": verdict,
        "comment": comment,
        "findings": [
            {"rule": r, "severity": s, "waived": w, "count": n}
            for (r, s, w), n in sorted(counted.items())
        ],
    }
    return _put(bundle, own, REVIEW, who, record, key, REVIEW_NAMESPACE)


def withdraw(bundle: Path, key: Path, who: str, reason: str) -> Path:
    """Sign as `who` that `bundle` no longer stands, and why. Returns the path of the withdrawal.
    Raises as `review` does."""
    own = _authority(bundle, who)
    files = read_files(bundle)
    if read_records(bundle, files.contents, own.keyring, own.center).withdrawal:
        raise StatementError(f"{bundle}: it was withdrawn before")
    record = {
        "format": WITHDRAWAL_FORMAT,
        "manifest_sha256": hashlib.sha256(files.contents[MANIFEST_FILE]).hexdigest(),
        "withdrawn_by": who,
        "withdrawn_at": now(),
        "reason": reason,
    }
    return _put(bundle, own, WITHDRAWAL, who, record, key, WITHDRAWAL_NAMESPACE)


def waive(rule: str, paths: Sequence[Path], key: Path, who: str, reason: str, expires: str) -> Path:
    """Sign as `who` that `rule` is not held against the bundles `paths`, or against all below one
    directory, until `expires`.

    Returns the path of the waiver. Raises as `review` does.
    """
    places = [_authority(path, who, directories=True) for path in paths]
    keyring = places[0].keyring
    if any(place.keyring.directory != keyring.directory for place in places):
        raise StatementError("the bundles lie beside several keyrings; make a waiver for each")
    if tie := next(
        filter(None, (keyring.tie(who, place.place.split("/")[0]) for place in places)), ""
    ):
        raise StatementError(f"{tie}; a waiver is granted by somebody else")
    record: Json = {
        "format": WAIVER_FORMAT,
        "rule": rule,
        "reason": reason,
        "granted_by": who,
        "granted_at": now(),
    }
    if expires:
        record["expires_at"] = f"{expires}T00:00:00Z"
    bundles = [path for path in paths if (path / MANIFEST_FILE).is_file()]
    if len(bundles) == len(paths):
        record["manifests"] = sorted(
            {hashlib.sha256((path / MANIFEST_FILE).read_bytes()).hexdigest() for path in paths}
        )
    elif bundles or len(paths) > 1:
        raise StatementError(
            "name bundles, or one directory that holds bundles; a waiver is for one or the other"
        )
    else:
        record["below"] = places[0].place
    content = json_bytes(record)
    name = f"{rule}-{record['granted_at'][:10]}-{hashlib.sha256(content).hexdigest()[:8]}.json"
    document = keyring.submissions / WAIVER_DIR / name
    document.parent.mkdir(exist_ok=True)
    signature = document.with_name(f"{name}.sig")
    made = sign(content, key, WAIVER_NAMESPACE)
    write_all_durable({document: content, signature: made})
    wrong = [
        problem
        for file, problem in waivers.judged(keyring, now())[1]
        if file == f"{WAIVER_DIR}/{name}"
    ]
    if wrong:
        document.unlink()
        signature.unlink()
        raise StatementError(f"the waiver would not count: {_told(wrong)}")
    return document


def is_directory_of_bundles(path: Path) -> bool:
    """Whether a waiver for `path` is for all that lies in it, now or later."""
    return not (path / MANIFEST_FILE).is_file()


def lifted(waiver: Path, paths: Sequence[Path]) -> tuple[int, int]:
    """How many findings the file `waiver`, made for `paths`, lifts now, and of how many bundles."""
    # The rules across bundles speak of a bundle beside all others.
    across = waiver.name.startswith("X")
    judged = judge_all([waiver.parents[1]] if across else paths).verdicts
    counts = [sum(f.waived == f"{WAIVER_DIR}/{waiver.name}" for f in v.findings) for v in judged]
    return sum(counts), sum(map(bool, counts))


def accept(paths: Sequence[Path], although_rejected: bool = False) -> list[tuple[str, str, str]]:
    """Judge all submissions, and write into the LOG what lies at or below `paths` and passes, or
    was withdrawn since.

    What a reviewer rejects is refused, but with `although_rejected`. Returns for each bundle what
    became of it, its path below `submissions/`, and why. Raises StatementError where the LOG cannot
    be written on.
    """
    submissions = {_keyring_beside(path) for path in paths}
    if len(submissions) != 1:
        raise StatementError("the paths lie beside several keyrings; accept them one by one")
    (home,) = submissions
    judged = judge_all([home]).verdicts
    roots = [path.resolve() for path in paths]
    broken = [
        f"{f.pointer}: {f.found}. {f.message}"
        for v in judged
        if v.standing == "log"
        for f in v.findings
    ]
    if broken:
        raise StatementError(
            f"{home / ACCEPTANCE_FILE}: nothing is accepted while it is broken:\n  "
            + "\n  ".join(broken)
        )
    log = acceptance.read_log(home)
    mine = [
        v
        for v in judged
        if v.standing != "published" and any(v.path.is_relative_to(root) for root in roots)
    ]
    mine = [v for v in mine if v.standing not in BESIDE]
    if not mine:
        raise StatementError(f"{paths[0]}: no bundle at or below it")
    at = now()
    entries, outcomes = [], []
    for verdict in mine:
        path = verdict.path.relative_to(home).as_posix()
        outcome, why = _outcome(verdict, path, log, although_rejected)
        outcomes.append((outcome, path, why))
        if outcome in (acceptance.ACCEPTED, acceptance.WITHDRAWN):
            entries.append((at, outcome, path, verdict.manifest_sha256, VERSION))
    if entries:
        try:
            acceptance.append(home, log.head, entries)
        except Refused as refusal:
            raise StatementError(f"{home / ACCEPTANCE_FILE}: {_told(refusal.problems)}") from None
    return outcomes


def _outcome(
    verdict: Verdict, path: str, log: acceptance.Log, although_rejected: bool
) -> tuple[str, str]:
    """What becomes of a bundle that is to be accepted: the event to write down, or `THERE`, `LEFT`
    or `REFUSED`; and why."""
    known = log.accepted.get(path)
    if verdict.status == "fail":
        return (
            REFUSED,
            "it fails: "
            f"{', '.join(sorted({f.rule for f in verdict.findings if verdict.fails_by(f)}))}",
        )
    if verdict.withdrawn and not known:
        return LEFT, "it was withdrawn before it was accepted"
    if path in log.withdrawn or (known and not verdict.withdrawn):
        return THERE, ""
    if known:
        fits = known.manifest_sha256 == verdict.manifest_sha256
        return (
            (acceptance.WITHDRAWN, "")
            if fits
            else (REFUSED, "it is another bundle than was accepted")
        )
    if verdict.rejecters and not although_rejected:
        who = ", ".join(verdict.rejecters)
        return (
            REFUSED,
            f"rejected by {who}; whoever runs the round may accept it with --although-rejected",
        )
    return acceptance.ACCEPTED, ""


def _authority(path: Path, who: str, directories: bool = False) -> Authority:
    """Who may sign the bundle `path`, or, with `directories`, what lies below such a one. Raises
    StatementError."""
    if not PRINCIPAL.fullmatch(who):
        raise StatementError(
            f"--principal {who!r}: must be like WHO@example.org, of letters, digits and . _ + -"
        )
    is_bundle = (path / MANIFEST_FILE).is_file()
    holds_bundles = (
        directories
        and not any((path / name).exists() for name in EVIDENCE_FILES)
        and bool(below(path).bundles)
    )
    if not is_bundle and not holds_bundles:
        raise StatementError(f"{path}: no {MANIFEST_FILE} there, so it is not a finished bundle")
    try:
        own = authority(path, None, path)
    except Refused as refusal:
        raise StatementError(f"{path}: {_told(refusal.problems)}") from None
    if not (own.center if is_bundle else own.place):
        raise StatementError(
            f"{path}: it lies in no center's directory; put it below "
            f"{as_given(own.keyring.submissions, [path])}/CENTER/SYSTEM/"
        )
    return own


def _keyring_beside(path: Path) -> Path:
    """The directory `submissions` that `path` is or lies in. Raises StatementError."""
    if not below(path).bundles:
        raise StatementError(f"{path}: no bundle at or below it")
    try:
        return authority(path, None, path).keyring.submissions
    except Refused as refusal:
        raise StatementError(f"{path}: {_told(refusal.problems)}") from None


def _put(
    bundle: Path, own: Authority, kind: str, who: str, record: Json, key: Path, namespace: str
) -> Path:
    """Write a record and its signature into the bundle, where it is one that counts. Raises
    StatementError otherwise."""
    content = json_bytes(record)
    made = sign(content, key, namespace)
    document, signature = (_record(kind, who, suffix) for suffix in ("json", "sig"))
    before = {
        name: (bundle / name).read_bytes()
        for name in (document, signature)
        if (bundle / name).is_file()
    }
    (bundle / SIGNATURE_DIR).mkdir(exist_ok=True)
    write_all_durable({bundle / document: content, bundle / signature: made})
    found = read_records(bundle, read_files(bundle).contents, own.keyring, own.center).problems
    wrong = [
        p for p in found if p.violation.file in (document, signature) and p.rule != REVIEW_REJECTS
    ]
    if wrong:
        for name in (document, signature):
            (bundle / name).unlink()
        write_all_durable({bundle / name: text for name, text in before.items()})
        raise StatementError(f"the {kind} would not count: {_told(wrong)}")
    return bundle / document


def _record(kind: str, who: str, suffix: str) -> str:
    return f"{SIGNATURE_DIR}/{kind}.{who}.{suffix}"


def _told(problems: Sequence[Problem]) -> str:
    return "\n".join(
        printable(
            f"{' '.join(filter(None, (p.rule, p.violation.file)))}: {p.violation.found}; "
            f"{p.violation.expected}. {p.violation.message}"
        )
        for p in problems
    )
