"""Search the studies of a round for sessions that share readings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rules.copies.search import count_repetitions, list_copies, order_runs
from rules.fingerprints import Hashes
from rules.summaries.study_summary import SessionSummary, StudySummary


@dataclass(frozen=True)
class SharedSession:
    """A session of a study that repeats a part of another study."""

    study: StudySummary
    session: SessionSummary
    other_study: StudySummary
    other_session: SessionSummary
    share: float
    """How much of what is compared in `session` occurs in `other_session`."""


def find_shared_sessions(
    studies: Sequence[StudySummary], sequences_of: Callable[[SessionSummary], Hashes]
) -> Iterator[SharedSession]:
    """For each study to be reported because a session of it shares sequences with a session of
    another study, the pair of sessions that shares most. The sessions that a study continues are
    left out (`continues`)."""
    sessions = [(study, session) for study in order_runs(studies) for session in study.sessions]
    hashes = [sequences_of(session) for _, session in sessions]
    shared: dict[Path, SharedSession] = {}
    for later, earlier, count in count_repetitions(hashes):
        (study, session), (other_study, other_session) = sessions[later], sessions[earlier]
        is_continued = session.sha256 == other_session.sha256 and continues(study, other_study)
        if study.path == other_study.path or is_continued:
            continue
        pairs = (
            SharedSession(study, session, other_study, other_session, count / len(hashes[later])),
            SharedSession(other_study, other_session, study, session, count / len(hashes[earlier])),
        )
        for pair in pairs[: len(list_copies(other_study, study))]:
            if pair.study.path not in shared or pair.share > shared[pair.study.path].share:
                shared[pair.study.path] = pair
    return iter(shared.values())


def continues(study: StudySummary, other_study: StudySummary) -> bool:
    """Whether two studies of one center may have equal sessions: one continues the other, or both
    continue a third one. Two studies with the same sessions are one study."""
    sessions, other_sessions = (
        {session.sha256 for session in each.sessions} for each in (study, other_study)
    )
    return study.center == other_study.center and sessions != other_sessions
