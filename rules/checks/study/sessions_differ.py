"""The sessions of a study differ in board, cap or software

## What it does
Compares the name of the boards, the power cap and the versions of torch, timm, CUDA and driver of
all sessions with those of the first one. Other boards or caps are a warning, other versions a note.

## Why it is bad
Energy depends on all of them. A model of one session cannot be compared with one of another session
if they differ.

## What to do
Continue a study on boards of one kind, at one cap and with one environment. Otherwise submit two
studies.

## Source
Method 1.0 of studies (docs/image-inference.md).
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import STUDY_FILE
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle
from rules.studies.declaration import Session

RULE = StudyRule(__name__, "Y120", Severity.WARNING, added="1.7.0")


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    names = {board.name for board in bundle.accelerators.values()}
    if len(names) > 1:
        yield Violation(
            SYSTEM, "/nodes", f"boards {', '.join(sorted(names))}", "boards of one kind"
        )
    first = bundle.sessions[0]
    for session in bundle.sessions[1:]:
        if session.power.cap_w != first.power.cap_w:
            yield Violation(
                STUDY_FILE,
                f"{session.pointer}/power/cap_w",
                f"{session.power.cap_w} W",
                f"{first.power.cap_w} W as in session 0",
            )
        versions, first_versions = (_list_versions(bundle, s) for s in (session, first))
        for name in sorted(first_versions.keys() | versions.keys()):
            version, expected = (v.get(name, "not stated") for v in (versions, first_versions))
            if version != expected:
                yield Violation(
                    STUDY_FILE,
                    f"{session.pointer}/versions",
                    f"{name} {version}",
                    f"{name} {expected} as in session 0",
                    severity=Severity.NOTE,
                )


def _list_versions(bundle: StudyBundle, session: Session) -> dict[str, str]:
    """The versions of a session. It states its implementation only if the study has another."""
    sha256 = bundle.declaration.implementation.sha256 or "not stated"
    return {"implementation": sha256, **session.versions}
