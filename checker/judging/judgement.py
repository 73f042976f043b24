"""What the evidence of a bundle gives, whoever signed it and wherever it lies."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from checker.judging.kept import pack, unpack_kept
from rules.finding import Finding, Problem
from rules.run_summary import RunSummary
from rules.summaries.observation_summary import ObservationSummary
from rules.summaries.study_summary import StudySummary

_LENGTH_BYTES = 8


@dataclass(frozen=True)
class Judgement:
    """What is known of a bundle before signatures, LOG and waivers are read."""

    kind: str
    """Name of its `BundleKind`."""
    standing: str | None
    """None without evidence, as for `judged_standing`."""
    judged_standing: str | None
    stated: Mapping[str, str]
    """The texts at the top of the main document, such as the rule book that a run names."""
    problems: tuple[Problem, ...]
    """Those of the files and of the manifest."""
    findings: tuple[Finding, ...] = ()
    """Those of the rules on evidence, without waivers."""
    summary: RunSummary | StudySummary | ObservationSummary | None = None
    """Without what the LOG, signatures and path say."""


def encode_judgement(judgement: Judgement) -> bytes:
    """The judgement as it is written: without its summary, then the summary. Empty if
    `decode_judgement` would not read it."""
    head, summary = pack(replace(judgement, summary=None)), pack(judgement.summary)
    if not head or not summary:
        return b""
    return len(head).to_bytes(_LENGTH_BYTES, "little") + head + summary


def decode_judgement(content: bytes) -> tuple[Judgement, bytes]:
    """Read what `encode_judgement` wrote: the judgement without its summary, and the summary as it
    is written. Raises TypeError or ValueError for other content."""
    end = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    judgement = unpack_kept(content[_LENGTH_BYTES:end])
    if not isinstance(judgement, Judgement):
        raise TypeError("no judgement")
    return judgement, content[end:]


def decode_summary(content: bytes) -> RunSummary | StudySummary | ObservationSummary | None:
    """Read the summary of a judgement. Raises as `decode_judgement` does."""
    summary = unpack_kept(content)
    if not isinstance(summary, RunSummary | StudySummary | ObservationSummary | None):
        raise TypeError("no summary")
    return summary
