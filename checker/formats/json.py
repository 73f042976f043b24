"""For programs: one object, `wattmark-verdict/1` (`rules/bundle_format/schemas/verdict-1.json`)."""

import json
from dataclasses import asdict

from checker.baseline import compute_fingerprint
from checker.printable import printable
from checker.selection import RoundView
from checker.verdict import Reproduction, Verdict
from rules import VERSION

FORMAT = "wattmark-verdict/1"


def render(view: RoundView) -> str:
    """The object as text, indented."""
    document = {
        "format": FORMAT,
        "rules_version": VERSION,
        "partial": view.partial,
        "bundles": [_convert_verdict(view, verdict) for verdict in view.listing.verdicts],
        "unlisted": {
            "bundles": view.listing.unlisted_bundles,
            "findings": view.listing.unlisted_findings,
        },
        "skipped": [str(path) for path in view.skipped],
        "gone": view.gone,
    }
    return _write(document, "\n")


def _write(value: object, margin: str) -> str:
    """As `json.dumps` with `indent=1`, which takes four times as long. Strings become
    `printable`, and `margin` is a line break and the indentation."""
    if isinstance(value, str):
        return json.dumps(printable(value))
    inner = f"{margin} "
    if value and isinstance(value, dict):
        items = (f"{json.dumps(key)}: {_write(item, inner)}" for key, item in value.items())
        return f"{{{inner}{f',{inner}'.join(items)}{margin}}}"
    if value and isinstance(value, list | tuple):
        return f"[{inner}{f',{inner}'.join(_write(item, inner) for item in value)}{margin}]"
    return json.dumps(value)


def _convert_verdict(view: RoundView, verdict: Verdict) -> dict[str, object]:
    findings = [
        {
            **vars(finding),
            "known": view.is_known(verdict, finding),
            "fingerprint": compute_fingerprint(verdict, finding),
        }
        for finding in verdict.findings
    ]
    return {
        "path": str(verdict.path),
        "standing": verdict.standing,
        "judged_standing": verdict.judged_standing,
        "signer": verdict.signer,
        "handed_in_by": verdict.handed_in_by,
        "status": view.status(verdict),
        "withdrawn": verdict.withdrawn,
        "withdrawn_by": verdict.withdrawn_by,
        "withdrawn_at": verdict.withdrawn_at,
        "reviewers": verdict.reviewers,
        "reviews": [asdict(review) for review in verdict.reviews],
        "accepted": verdict.accepted,
        "trust_level": verdict.trust_level,
        "reproductions": [_convert_reproduction(item) for item in verdict.reproductions],
        "reproduces": verdict.reproduces and _convert_reproduction(verdict.reproduces),
        "rules_not_run": verdict.rules_not_run,
        "findings": findings,
    }


def _convert_reproduction(reproduction: Reproduction) -> dict[str, object]:
    paths = {"path": str(reproduction.path), "original": str(reproduction.original)}
    return {**asdict(reproduction), **paths}
