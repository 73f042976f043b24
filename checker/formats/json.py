"""For programs: one object, `wattmark-verdict/1` (`rules/bundle_format/schemas/verdict-1.json`)."""

import json
from dataclasses import asdict

from checker.selection import Shown, fingerprint, printable_strings
from checker.verdict import Verdict
from rules import VERSION

FORMAT = "wattmark-verdict/1"


def render(what: Shown) -> str:
    """The object as text, indented."""
    whole = {
        "format": FORMAT,
        "rules_version": VERSION,
        "partial": what.partial,
        "bundles": [_of_bundle(what, verdict) for verdict in what.verdicts],
        "skipped": [str(path) for path in what.skipped],
        "gone": what.gone,
    }
    return json.dumps(printable_strings(whole), indent=1)


def _of_bundle(what: Shown, verdict: Verdict) -> dict[str, object]:
    findings = [
        {**asdict(f), "known": what.is_known(verdict, f), "fingerprint": fingerprint(verdict, f)}
        for f in verdict.findings
    ]
    return {
        "path": str(verdict.path),
        "standing": verdict.standing,
        "signer": verdict.signer,
        "status": what.status(verdict),
        "withdrawn": verdict.withdrawn,
        "withdrawn_by": verdict.withdrawn_by,
        "withdrawn_at": verdict.withdrawn_at,
        "reviewers": verdict.reviewers,
        "reviews": [asdict(review) for review in verdict.reviews],
        "accepted": verdict.accepted,
        "rules_not_run": verdict.rules_not_run,
        "findings": findings,
    }
