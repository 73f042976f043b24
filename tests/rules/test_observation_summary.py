"""The cache keeps the summary of an observed job."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from checker.judging.judgement import Judgement, decode_judgement, decode_summary, encode_judgement
from rules.bundle_format.files import read_files
from rules.bundle_format.observation_files import read_observation, write_observation
from rules.checks.observed import observed_jobs_overlap
from rules.observations.bundle import ObservationBundle
from rules.summaries.observation_summary import ObservationSummary, summarize_observation
from rules.testing.observations import make_observation_frames


def test_a_table_of_other_feeds_than_the_declared_ones_is_refused(tmp_path: Path) -> None:
    frames = make_observation_frames()
    frames.observation["meter"]["feeds"].append("other")
    write_observation(frames.evidence(), tmp_path / "job")
    evidence, problems = read_observation(read_files(tmp_path / "job"))
    assert evidence is None and [p.violation.pointer for p in problems] == ["/meter/feeds"]


def test_jobs_that_follow_each_other_without_a_pause_do_not_overlap() -> None:
    bundle = ObservationBundle(Path("center/h200/a"), (), make_observation_frames().evidence())
    first = summarize_observation(bundle)
    assert first is not None
    for start_s, found in ((first.until_s, []), (first.until_s - 1, ["b"])):
        second = replace(first, path=Path("b"), from_s=start_s, until_s=start_s + 60)
        assert [path.name for path, _ in observed_jobs_overlap.RULE.run([first, second])] == found


def test_a_summary_that_is_read_is_the_one_that_was_written() -> None:
    path = Path("submissions/center/h200/job")
    bundle = ObservationBundle(path, (), make_observation_frames().evidence())
    summary = summarize_observation(bundle)
    assert summary is not None
    assert (summary.center, summary.system) == ("center", "example")
    assert summary.until_s - summary.from_s == 3600
    # Two feeds with a reading a second, in the window alone.
    assert 7000 < len(summary.readings) <= 2 * 3601
    judgement = Judgement("observation", "observed", "observed", {}, (), summary=summary)
    _, packed = decode_judgement(encode_judgement(judgement))
    read = decode_summary(packed)
    assert isinstance(read, ObservationSummary)
    assert np.array_equal(read.readings, summary.readings)
    assert (read.path, read.from_s, read.system) == (path, summary.from_s, "example")
