"""Makes signed statements on bundles (reviews, withdrawals, waivers) and writes what was accepted into the LOG."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from checker import acceptance, waivers
from checker.engine import BESIDE, INTERNAL, Verdict, judge_all
from checker.files import Refused, read_files
from checker.find import below
from checker.keyring import PRINCIPAL, center_of
from checker.review import read_records
from checker.seal import json_bytes, write_durable
from checker.shown import printable
from checker.signature import sign
from checker.trust import now
from checker.verify import Authority, authority
from rules import VERSION
from rules.records import (
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
from rules.rule import Problem, Severity


class StatementError(Exception):
    """What was to be stated cannot be; the message says why and what to do."""


def review(bundle: Path, key: Path, who: str, verdict: str, comment: str) -> Path:
    """Judge `bundle` among those beside it, and sign what was found as the reviewer `who`, with `verdict` accept or reject.

    Returns the path of the review. Raises StatementError, SigningError, and CheckerError where there is no ssh-keygen.
    """
    own = _authority(bundle, who)
    if center_of(who) == own.center:
        raise StatementError(f"{who} is of {own.center}, whose bundle this is; a review is by another center")
    whole = bundle.resolve()
    judged = next((v for v in judge_all([whole.parent]).verdicts if v.path == whole), None)
    if judged is None:
        raise StatementError(f"{bundle}: bench-check passes over it, for it is hidden; it is not a finished bundle")
    errors = sorted({f.rule for f in judged.findings if f.severity == Severity.ERROR and not f.waived})
    if INTERNAL in errors:
        raise StatementError(f"{bundle}: the checker failed on it, so there is nothing to sign; see bench-check {bundle}")
    if judged.withdrawn:
        raise StatementError(f"{bundle}: it was withdrawn; there is nothing to review")
    if errors and verdict == "accept":
        told = ", ".join(errors)
        raise StatementError(f"{bundle}: it fails ({told}), and what fails cannot be accepted; review it with --verdict reject")
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
        "findings": [{"rule": r, "severity": s, "waived": w, "count": n} for (r, s, w), n in sorted(counted.items())],
    }
    return _put(bundle, own, "review", who, record, key, REVIEW_NAMESPACE)


def withdraw(bundle: Path, key: Path, who: str, reason: str) -> Path:
    """Sign as `who` that `bundle` no longer stands, and why. Returns the path of the withdrawal. Raises as `review` does."""
    own = _authority(bundle, who)
    files = read_files(bundle)
    if read_records(bundle, files.contents, own.keyring, own.center).withdrawn:
        raise StatementError(f"{bundle}: it was withdrawn before")
    record = {
        "format": WITHDRAWAL_FORMAT,
        "manifest_sha256": hashlib.sha256(files.contents[MANIFEST_FILE]).hexdigest(),
        "withdrawn_by": who,
        "withdrawn_at": now(),
        "reason": reason,
    }
    return _put(bundle, own, "withdrawal", who, record, key, WITHDRAWAL_NAMESPACE)


def waive(rule: str, paths: Sequence[Path], key: Path, who: str, reason: str, expires: str) -> Path:
    """Sign as `who` that `rule` is not held against the bundles `paths`, or against all below one directory, until `expires`.

    Returns the path of the waiver. Raises as `review` does.
    """
    places = [_authority(path, who, directories=True) for path in paths]
    keyring = places[0].keyring
    if any(place.keyring.directory != keyring.directory for place in places):
        raise StatementError("the bundles lie beside several keyrings; make a waiver for each")
    if any(center_of(who) == place.place.split("/")[0] for place in places):
        raise StatementError(f"{who} is of the center whose bundles these are; a waiver is granted by somebody else")
    record: Json = {"format": WAIVER_FORMAT, "rule": rule, "reason": reason, "granted_by": who, "granted_at": now()}
    if expires:
        record["expires_at"] = f"{expires}T00:00:00Z"
    bundles = [path for path in paths if (path / MANIFEST_FILE).is_file()]
    if len(bundles) == len(paths):
        record["manifests"] = sorted({hashlib.sha256((path / MANIFEST_FILE).read_bytes()).hexdigest() for path in paths})
    elif bundles or len(paths) > 1:
        raise StatementError("name bundles, or one directory that holds bundles; a waiver is for one or the other")
    else:
        record["below"] = places[0].place
    content = json_bytes(record)
    name = f"{rule}-{record['granted_at'][:10]}-{hashlib.sha256(content).hexdigest()[:8]}.json"
    document = keyring.submissions / WAIVER_DIR / name
    document.parent.mkdir(exist_ok=True)
    signature = document.with_name(f"{name}.sig")
    made = sign(content, key, WAIVER_NAMESPACE)
    _write({document: content, signature: made})
    wrong = [problem for file, problem in waivers.judged(keyring, now())[1] if file == f"{WAIVER_DIR}/{name}"]
    if wrong:
        document.unlink()
        signature.unlink()
        raise StatementError(f"the waiver would not count: {_told(wrong)}")
    return document


def accept(paths: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Judge all submissions, and write into the LOG what lies at or below `paths` and passes, or was withdrawn since.

    Returns what was written, and what was refused, a line each. Raises StatementError where the LOG cannot be written on.
    """
    submissions = {_keyring_beside(path) for path in paths}
    if len(submissions) != 1:
        raise StatementError("the paths lie beside several keyrings; accept them one by one")
    (home,) = submissions
    judged = judge_all([home]).verdicts
    roots = [path.resolve() for path in paths]
    broken = [f"{f.pointer}: {f.found}. {f.message}" for v in judged if v.standing == "log" for f in v.findings]
    if broken:
        raise StatementError(f"{home / ACCEPTANCE_FILE}: nothing is accepted while it is broken:\n  " + "\n  ".join(broken))
    log = acceptance.read_log(home)
    entries, written, refusals = [], [], []
    at = now()
    mine = [v for v in judged if v.standing != "published" and any(v.path.is_relative_to(root) for root in roots)]
    mine = [v for v in mine if v.standing not in BESIDE]
    if not mine:
        raise StatementError(f"{paths[0]}: no bundle at or below it")
    for verdict in mine:
        path = verdict.path.relative_to(home).as_posix()
        event, why = _event(verdict, path, log)
        if event:
            entries.append((at, event, path, verdict.manifest_sha256, VERSION))
            written.append(f"{event}: {printable(path)}")
        elif why:
            refusals.append(f"refused: {printable(path)}: {why}")
    if entries:
        try:
            acceptance.append(home, log.head, entries)
        except Refused as refusal:
            raise StatementError(f"{home / ACCEPTANCE_FILE}: {_told(refusal.problems)}") from None
    return written, refusals


def _event(verdict: Verdict, path: str, log: acceptance.Log) -> tuple[str, str]:
    """The event to write down of a bundle, or else why it is refused; neither where the LOG says all that there is to say."""
    known = path in log.accepted
    if verdict.withdrawn:
        fits = known and log.accepted[path].manifest_sha256 == verdict.manifest_sha256
        if path in log.withdrawn or not known:
            return "", "" if known else "it was withdrawn before it was accepted"
        return (acceptance.WITHDRAWN, "") if fits else ("", "it is another bundle than was accepted")
    if verdict.status == "fail":
        return "", f"it fails: {', '.join(sorted({f.rule for f in verdict.findings if f.severity == Severity.ERROR}))}"
    return ("", "") if known else (acceptance.ACCEPTED, "")


def _authority(path: Path, who: str, directories: bool = False) -> Authority:
    """Who may sign the bundle `path`, or, with `directories`, what lies below such a one. Raises StatementError."""
    if not PRINCIPAL.fullmatch(who):
        raise StatementError(f"--principal {who}: must be like WHO@example.org, of letters, digits and . _ + -")
    try:
        own = authority(path, None, path)
    except Refused as refusal:
        raise StatementError(f"{path}: {_told(refusal.problems)}") from None
    is_bundle = (path / MANIFEST_FILE).is_file()
    holds_bundles = directories and not any((path / name).exists() for name in EVIDENCE_FILES) and bool(below(path).bundles)
    if not is_bundle and not holds_bundles:
        raise StatementError(f"{path}: no {MANIFEST_FILE} there, so it is not a finished bundle")
    if not (own.center if is_bundle else own.place):
        raise StatementError(f"{path}: it lies in no center's directory; put it below {own.keyring.submissions}/CENTER/SYSTEM/")
    return own


def _keyring_beside(path: Path) -> Path:
    """The directory `submissions` that `path` is or lies in. Raises StatementError."""
    try:
        return authority(path, None, path).keyring.submissions
    except Refused as refusal:
        raise StatementError(f"{path}: {_told(refusal.problems)}") from None


def _put(bundle: Path, own: Authority, kind: str, who: str, record: Json, key: Path, namespace: str) -> Path:
    """Write a record and its signature into the bundle, where it is one that counts. Raises StatementError otherwise."""
    content = json_bytes(record)
    made = sign(content, key, namespace)
    document, signature = (f"{SIGNATURE_DIR}/{kind}.{who}.{suffix}" for suffix in ("json", "sig"))
    before = {name: (bundle / name).read_bytes() for name in (document, signature) if (bundle / name).is_file()}
    (bundle / SIGNATURE_DIR).mkdir(exist_ok=True)
    _write({bundle / document: content, bundle / signature: made})
    found = read_records(bundle, read_files(bundle).contents, own.keyring, own.center).problems
    wrong = [p for p in found if p.found.file in (document, signature) and p.rule != "I113"]
    if wrong:
        for name in (document, signature):
            (bundle / name).unlink()
        _write({bundle / name: text for name, text in before.items()})
        raise StatementError(f"the {kind} would not count: {_told(wrong)}")
    return bundle / document


def _write(contents: Mapping[Path, bytes]) -> None:
    for path, content in contents.items():
        write_durable(path, content)


def _told(problems: Sequence[Problem]) -> str:
    return "\n".join(
        printable(f"{p.rule} {p.found.file}: {p.found.found}; {p.found.expected}. {p.found.message}") for p in problems
    )
