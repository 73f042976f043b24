"""The cache keeps the summary of an observed job."""

from pathlib import Path

import numpy as np

from checker.judging.judgement import (
    Judgement,
    decode_judgement,
    decode_summary,
    encode_judgement,
)
from rules.observations.bundle import ObservationBundle
from rules.summaries.observation_summary import ObservationSummary, summarize_observation
from rules.testing.observations import make_observation_frames


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
