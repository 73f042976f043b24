"""What `doctor` prints: its checks in lines of a terminal or as JSON, and the verdict on the
machine."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from harness.checks import Check
from rules.bundle_format.records import Json

METERS = ("meter ", "node meter ")
CAPS = "caps "
INDENT = "    "
_TRIAL = """to try it without a board:
    bench-submit run resnet50-train --simulate h200 --epoch-seconds 1"""


def format_check(check: Check, width: int) -> str:
    """The check in lines of at most `width` columns. A longer word, such as a path, stays whole."""
    return _wrap(str(check), width)


def format_verdict(checks: Sequence[Check], width: int) -> str:
    """The verdict in lines of at most `width` columns."""
    verdict = _wrap(describe_verdict(checks), width)
    return verdict if any(_list_measured(checks)) else f"{verdict}\n{_TRIAL}"


def describe_verdict(checks: Sequence[Check]) -> str:
    """What this machine can measure, what it cannot, and why."""
    measured = ", ".join(_list_measured(checks)) or "nothing"
    refusals = "; ".join(f"{what} because {reason}" for what, reason in _list_refusals(checks))
    return f"this machine can measure: {measured}" + (f"; cannot: {refusals}" if refusals else "")


def checks_to_json(checks: Sequence[Check]) -> Json:
    """The checks and the verdict as an object of JSON."""
    return {
        "checks": [
            {"name": c.name, "ok": c.ok, "result": c.result, "advice": c.advice} for c in checks
        ],
        "can_measure": list(_list_measured(checks)),
        "cannot": [{"what": what, "because": why} for what, why in _list_refusals(checks)],
        "verdict": describe_verdict(checks),
    }


def _wrap(text: str, width: int) -> str:
    return textwrap.fill(
        text,
        width,
        subsequent_indent=INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _list_measured(checks: Sequence[Check]) -> Iterator[str]:
    boards = Counter(
        check.subject or check.name
        for check in checks
        if check.name.startswith(METERS) and check.is_usable
    )
    for board, count in boards.items():
        yield board if count == 1 else f"{count} x {board}"


def _list_refusals(checks: Sequence[Check]) -> Iterator[tuple[str, str]]:
    """What cannot be done, and why: meters, caps, and whatever prevents a run."""
    refusals: dict[tuple[str, str], int] = {}
    for check in checks:
        is_meter = check.name.startswith(METERS)
        is_caps = check.name.startswith(CAPS)
        if check.is_usable or not (is_meter or is_caps or check.ok is False):
            continue
        reason = ((check.advice if is_meter or is_caps else "") or check.result).partition("; ")[0]
        if check.subject:
            # The reason begins with the UUID of a board, which differs from that of its neighbours.
            reason = reason.partition(": ")[2] or reason
        what = check.subject or check.name.removeprefix(METERS[0])
        what = "set caps" if is_caps else what
        refusals[what, reason] = refusals.get((what, reason), 0) + 1
    for (what, reason), count in refusals.items():
        yield (what if count == 1 else f"{count} x {what}"), reason
