"""Make signed statements on bundles: reviews, withdrawals, requests, challenges, commitments and
waivers."""

import hashlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from checker.engine import judge_all
from checker.trust.authority import SUBMISSION_PREFIX, Authority
from checker.trust.commitments import name_commitment, read_commitments
from checker.trust.keyring import Keyring, belongs_to
from checker.trust.records import CHALLENGE, REQUEST, REVIEW, WITHDRAWAL, read_records, utc_now
from checker.trust.requests import build_request
from checker.trust.signature import sign_content
from checker.trust.statements import StatementError, find_signing_authority, format_problems
from checker.trust.waivers import judge_waivers
from checker.verdict import INTERNAL, Verdict
from rules import VERSION
from rules.bundle_format.files import read_files
from rules.bundle_format.records import (
    CHALLENGE_FORMAT,
    COMMITMENT_FORMAT,
    MANIFEST_FILE,
    REVIEW_FORMAT,
    REVIEW_NAMESPACE,
    SIGNATURE_DIR,
    SUBMISSION_NAMESPACE,
    WAIVER_DIR,
    WAIVER_FORMAT,
    WAIVER_NAMESPACE,
    WITHDRAWAL_FORMAT,
    WITHDRAWAL_NAMESPACE,
    Json,
)
from rules.bundle_format.seal import encode_json, write_all_durable
from rules.finding import Problem, Severity
from rules.rule_ids import REVIEW_REJECTS


def review(
    bundle: Path, key: Path, principal: str, verdict: str, comment: str, replace: bool = False
) -> Path:
    """Judge `bundle` among those beside it, and sign the findings as the reviewer `principal`, with
    `verdict` accept or reject.

    An earlier review by `principal` is replaced only with `replace`.

    Returns the path of the review. Raises StatementError, SigningError, and CheckerError without
    ssh-keygen.
    """
    authority = find_signing_authority(bundle, principal)
    if tie := authority.keyring.find_tie(principal, authority.center):
        raise StatementError(
            f"{tie}; a reviewer must be of another center than the bundle, {authority.center}"
        )
    judged = _judge_beside_others(bundle)
    if not replace and (bundle / _record_name(REVIEW, principal, "json")).exists():
        earlier = next(
            (f"{r.verdict}, {r.reviewed_at}" for r in judged.reviews if r.reviewer == principal),
            "it does not count",
        )
        raise StatementError(
            f"{principal} has reviewed it before ({earlier}); use --replace to replace that review"
        )
    errors = _unwaived_errors(judged)
    if errors and verdict == "accept":
        raise StatementError(
            f"{bundle}: it fails ({', '.join(errors)}), and a failing bundle cannot be accepted; "
            "review it with --verdict reject"
        )
    counts = Counter((f.rule, str(f.severity), bool(f.waived)) for f in judged.findings)
    record = {
        "format": REVIEW_FORMAT,
        "manifest_sha256": judged.manifest_sha256,
        "reviewer": principal,
        "reviewed_at": utc_now(),
        "checker_version": version("wattmark"),
        # A reader must know which rule book the review is based on.
        "rules_version": VERSION,
        "status": judged.status,
        "verdict": verdict,
        "comment": comment,
        "findings": [
            {"rule": rule, "severity": severity, "waived": waived, "count": count}
            for (rule, severity, waived), count in sorted(counts.items())
        ],
    }
    return _write_record(bundle, authority, REVIEW, principal, record, key, REVIEW_NAMESPACE)


def _judge_beside_others(bundle: Path) -> Verdict:
    """The verdict on `bundle` among those in its directory. Raises StatementError if there is
    nothing to review."""
    resolved = bundle.resolve()
    judged = next((v for v in judge_all([resolved.parent]).verdicts if v.path == resolved), None)
    if judged is None:
        raise StatementError(
            f"{bundle}: bench-check skips hidden directories; it is no finished bundle"
        )
    if INTERNAL in _unwaived_errors(judged):
        raise StatementError(
            f"{bundle}: the checker failed on it, so there is nothing to sign; see "
            f"bench-check {bundle}"
        )
    if judged.withdrawn:
        raise StatementError(f"{bundle}: it was withdrawn; there is nothing to review")
    return judged


def _unwaived_errors(verdict: Verdict) -> list[str]:
    return sorted(
        {f.rule for f in verdict.findings if f.severity == Severity.ERROR and not f.waived}
    )


def withdraw(bundle: Path, key: Path, principal: str, reason: str) -> Path:
    """Sign as `principal` that `bundle` is withdrawn, and why. Returns the path of the withdrawal.
    Raises as `review` does."""
    authority = find_signing_authority(bundle, principal)
    contents = read_files(bundle).contents
    if read_records(contents, authority.keyring, authority.center).withdrawal:
        raise StatementError(f"{bundle}: it was withdrawn before")
    record = {
        "format": WITHDRAWAL_FORMAT,
        "manifest_sha256": _hash_manifest(bundle),
        "withdrawn_by": principal,
        "withdrawn_at": utc_now(),
        "reason": reason,
    }
    return _write_record(
        bundle, authority, WITHDRAWAL, principal, record, key, WITHDRAWAL_NAMESPACE
    )


def request(bundle: Path, key: Path, principal: str) -> Path:
    """Sign as `principal` that its center hands `bundle` in to the round that it lies in. Returns
    the path of the request. Raises as `review` does."""
    authority = _find_own_authority(bundle, principal)
    manifest = read_files(bundle).contents[MANIFEST_FILE]
    record = build_request(manifest, principal, authority.submissions)
    return _write_record(bundle, authority, REQUEST, principal, record, key, SUBMISSION_NAMESPACE)


def challenge(bundle: Path, key: Path, principal: str) -> tuple[Path, int]:
    """Draw a seed for reproductions of `bundle`, and sign it as `principal` of another center.
    Returns the path of the challenge and the seed. Raises as `review` does."""
    authority = find_signing_authority(bundle, principal)
    seed = secrets.randbits(32)
    record = {
        "format": CHALLENGE_FORMAT,
        "manifest_sha256": _hash_manifest(bundle),
        "seed": seed,
        "issued_by": principal,
        "issued_at": utc_now(),
    }
    path = bundle / _record_name(CHALLENGE, principal, "json")
    # A reproduction may be under way with the seed that is there.
    if path.exists():
        raise StatementError(f"{path}: there is a challenge by {principal} already")
    path = _write_record(bundle, authority, CHALLENGE, principal, record, key, REVIEW_NAMESPACE)
    return path, seed


def commit(bundle: Path, key: Path, principal: str) -> Path:
    """Sign as `principal` the hash of the manifest of `bundle`, and write it beside the keyring, so
    that it can be published before the bundle. Returns its path. Raises as `review` does."""
    authority = _find_own_authority(bundle, principal)
    contents = read_files(bundle).contents
    if not any(name.startswith(SUBMISSION_PREFIX) for name in contents):
        raise StatementError(f"{bundle}: sign it first, because that changes its manifest")
    manifest_sha256 = _hash_manifest(bundle)
    record = {
        "format": COMMITMENT_FORMAT,
        "manifest_sha256": manifest_sha256,
        "committed_by": principal,
        "committed_at": utc_now(),
    }
    name = name_commitment(principal.partition("@")[0], manifest_sha256)
    return _write_beside_keyring(
        authority.keyring,
        name,
        encode_json(record),
        key,
        SUBMISSION_NAMESPACE,
        lambda: read_commitments(authority.keyring)[1],
    )


def _find_own_authority(bundle: Path, principal: str) -> Authority:
    """The authority over `bundle`, which `principal` must have. Raises StatementError."""
    authority = find_signing_authority(bundle, principal)
    if not belongs_to(principal, authority.center):
        raise StatementError(
            f"{bundle}: it is a bundle of {authority.center}, and {principal} is of another center"
        )
    return authority


def _hash_manifest(bundle: Path) -> str:
    return hashlib.sha256(read_files(bundle).contents[MANIFEST_FILE]).hexdigest()


def waive(
    rule: str, paths: Sequence[Path], key: Path, principal: str, reason: str, expires: str
) -> Path:
    """Sign as `principal` that `rule` is waived for the bundles `paths`, or for all bundles below
    one directory, until the date `expires` (empty for ever).

    Returns the path of the waiver. Raises as `review` does.
    """
    authorities = [find_signing_authority(path, principal, directories=True) for path in paths]
    keyring = authorities[0].keyring
    # A waiver lies beside one keyring and counts for that one only.
    if any(authority.keyring.directory != keyring.directory for authority in authorities):
        raise StatementError("the bundles belong to several keyrings; make a waiver for each")
    for authority in authorities:
        if tie := keyring.find_tie(principal, authority.place.split("/")[0]):
            raise StatementError(f"{tie}; a principal of another center must grant the waiver")
    record: Json = {
        "format": WAIVER_FORMAT,
        "rule": rule,
        "reason": reason,
        "granted_by": principal,
        "granted_at": utc_now(),
    }
    if expires:
        record["expires_at"] = f"{expires}T00:00:00Z"
    directories = [path for path in paths if is_directory_of_bundles(path)]
    if not directories:
        record["manifests"] = sorted(
            {hashlib.sha256((path / MANIFEST_FILE).read_bytes()).hexdigest() for path in paths}
        )
    elif len(paths) > 1:
        raise StatementError(
            "name either bundles, or one directory of bundles; a waiver is for one or the other"
        )
    else:
        record["below"] = authorities[0].place
    return _write_waiver(record, keyring, key)


def _write_waiver(record: Json, keyring: Keyring, key: Path) -> Path:
    """Sign a waiver and write it with its signature. Raises StatementError if it would not
    count."""
    content = encode_json(record)
    date, digest = record["granted_at"][:10], hashlib.sha256(content).hexdigest()[:8]
    name = f"{WAIVER_DIR}/{record['rule']}-{date}-{digest}.json"
    return _write_beside_keyring(
        keyring, name, content, key, WAIVER_NAMESPACE, lambda: judge_waivers(keyring, utc_now())[1]
    )


def _write_beside_keyring(
    keyring: Keyring,
    name: str,
    content: bytes,
    key: Path,
    namespace: str,
    find_problems: Callable[[], Iterable[tuple[str, Problem]]],
) -> Path:
    """Sign `content` and write it with its signature as `name` below `submissions/`. Raises
    StatementError if it is among the files with problems, so that it would not count."""
    document = keyring.submissions / name
    _make_plain_directory(document.parent)
    signature = document.with_name(f"{document.name}.sig")
    # As for a record: write the files, and judge them as the checker does.
    write_all_durable({document: content, signature: sign_content(content, key, namespace)})
    problems = [problem for file, problem in find_problems() if file == name]
    if problems:
        document.unlink()
        signature.unlink()
        raise StatementError(f"{name} would not count: {format_problems(problems)}")
    return document


def is_directory_of_bundles(path: Path) -> bool:
    """Whether a waiver for `path` is for every bundle in it, now or later."""
    return not (path / MANIFEST_FILE).is_file()


def count_waived(waiver: Path, paths: Sequence[Path]) -> tuple[int, int]:
    """How many findings the file `waiver`, made for `paths`, waives now, and of how many
    bundles."""
    # Rules across bundles compare a bundle with all others, so judge the whole round for them.
    is_across = waiver.name.startswith("X")
    verdicts = judge_all([waiver.parents[1]] if is_across else paths).verdicts
    counts = [sum(f.waived == f"{WAIVER_DIR}/{waiver.name}" for f in v.findings) for v in verdicts]
    return sum(counts), sum(map(bool, counts))


def _write_record(
    bundle: Path,
    authority: Authority,
    kind: str,
    principal: str,
    record: Json,
    key: Path,
    namespace: str,
) -> Path:
    """Sign a record and write it with its signature into the bundle. If it would not count, put
    back what was there and raise StatementError."""
    content = encode_json(record)
    signed = sign_content(content, key, namespace)
    document, signature = (_record_name(kind, principal, suffix) for suffix in ("json", "sig"))
    before = {
        name: (bundle / name).read_bytes()
        for name in (document, signature)
        if (bundle / name).is_file()
    }
    _make_plain_directory(bundle / SIGNATURE_DIR)
    # Write the files and read them back as the checker of any other person does: only then is it
    # certain that the record counts.
    write_all_durable({bundle / document: content, bundle / signature: signed})
    contents = read_files(bundle).contents
    problems = [
        problem
        for problem in read_records(contents, authority.keyring, authority.center).problems
        # I113 reports a review that rejects: that one counts.
        if problem.violation.file in (document, signature) and problem.rule != REVIEW_REJECTS
    ]
    if problems:
        for name in (document, signature):
            # First remove, then restore: a record that did not exist before must not stay.
            (bundle / name).unlink()
        write_all_durable({bundle / name: text for name, text in before.items()})
        raise StatementError(f"the {kind} would not count: {format_problems(problems)}")
    return bundle / document


def _make_plain_directory(directory: Path) -> None:
    """Make `directory` if there is none. Raises StatementError if it is a link, which could lead
    out of the submissions."""
    if directory.is_symlink():
        raise StatementError(
            f"{directory}: this is a symbolic link, and nothing is written through it; replace it "
            "by the directory itself"
        )
    directory.mkdir(exist_ok=True)


def _record_name(kind: str, principal: str, suffix: str) -> str:
    return f"{SIGNATURE_DIR}/{kind}.{principal}.{suffix}"
