"""Studies of a round that share windows: copies, and studies that continue others."""

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Submissions, copy_study, make_key

from checker.engine import judge_all
from rules.finding import Severity
from rules.testing import tampering as forge
from rules.testing.frames import StudyFrames
from rules.testing.studies import make_study_frames, state_figures
from rules.testing.study_mutations import (
    MODEL,
    copy_readings,
    find_points,
    keep_sessions,
    select_samples,
)

OTHER_PRINCIPAL = "elsewhere@wattmark"


def make_part(sessions: int) -> StudyFrames:
    """The good study of two sessions, ended after some of them."""
    study = copy_study(2)
    keep_sessions(study, sessions)
    state_figures(study)
    return study


@pytest.fixture
def elsewhere(submissions: Submissions) -> Submissions:
    """The submissions as another center sees them."""
    center = replace(submissions, key=submissions.root / "elsewhere-key")
    submissions.allow(make_key(center.key), OTHER_PRINCIPAL)
    return center


def find_copies(submissions: Submissions) -> dict[Path, set[Severity]]:
    """The severities of the findings on copies, by bundle."""
    return {
        verdict.path: {f.severity for f in verdict.findings if f.rule == "Y131"}
        for verdict in judge_all([submissions.root]).verdicts
    }


ERROR, NONE = {Severity.ERROR}, set()


def test_study_copied_by_another_center_is_refused(
    submissions: Submissions, elsewhere: Submissions
) -> None:
    original = submissions.add_study()
    copy = elsewhere.add_study(study_id="of-elsewhere", principal=OTHER_PRINCIPAL)
    # Nothing shows which of both was first.
    assert find_copies(submissions) == {original: {Severity.WARNING}, copy: {Severity.WARNING}}
    forge.write_log(original, {})
    assert find_copies(submissions) == {original: NONE, copy: ERROR}


def test_one_model_copied_by_another_center_is_found(
    submissions: Submissions, elsewhere: Submissions
) -> None:
    original, study = copy_study(), make_study_frames(seed=8)
    copy_readings(study, original, MODEL)
    state_figures(study)
    first = submissions.add_study(original)
    forge.write_log(first, {})
    copy = elsewhere.add_study(study, "of-elsewhere", OTHER_PRINCIPAL)
    assert find_copies(submissions) == {first: NONE, copy: ERROR}


def test_studies_that_share_nothing_pass(submissions: Submissions, elsewhere: Submissions) -> None:
    first = submissions.add_study()
    second = elsewhere.add_study(make_study_frames(seed=8), "of-elsewhere", OTHER_PRINCIPAL)
    assert find_copies(submissions) == {first: NONE, second: NONE}


def test_study_that_continues_another_of_its_center_passes(submissions: Submissions) -> None:
    first = submissions.add_study(make_part(1), "first-part")
    whole = submissions.add_study(copy_study(2), "whole-study")
    assert find_copies(submissions) == {first: NONE, whole: NONE}


def test_study_that_continues_one_of_another_center_is_refused(
    submissions: Submissions, elsewhere: Submissions
) -> None:
    first = submissions.add_study(make_part(1), "first-part")
    forge.write_log(first, {})
    whole = elsewhere.add_study(copy_study(2), "whole-study", OTHER_PRINCIPAL)
    assert find_copies(submissions) == {first: NONE, whole: ERROR}


def test_study_submitted_twice_by_its_center_is_refused(submissions: Submissions) -> None:
    first = submissions.add_study(study_id="first-study")
    second = submissions.add_study(study_id="second-study")
    assert find_copies(submissions) == {first: NONE, second: ERROR}


def test_session_that_was_altered_when_the_study_went_on_is_refused(
    submissions: Submissions,
) -> None:
    first = submissions.add_study(make_part(1), "first-part")
    altered = copy_study(2)
    model = altered.study["work"][0]["architecture"]
    rows = select_samples(altered, find_points(altered, model, "long")).nonzero()[0]
    altered.samples.loc[rows[::40], "power_mw"] += 2 * 322.0
    state_figures(altered)
    whole = submissions.add_study(altered, "whole-study")
    assert find_copies(submissions) == {first: NONE, whole: ERROR}
