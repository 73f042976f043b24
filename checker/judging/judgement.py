"""What the evidence of a bundle gives, whoever signed it and wherever it lies, and how a cache
writes that down."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rules.declarations.run import OriginalRun, SweepLabel
from rules.finding import Finding, Problem, Severity, Violation
from rules.fingerprints import Fingerprints, Noise
from rules.metrics.figures import Estimate, Headline, MeanClocks
from rules.run_summary import RunSummary
from rules.settings import ConfigurationKey
from rules.summaries.observation_summary import ObservationSummary
from rules.summaries.study_summary import SessionSummary, StudySummary

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


_RECORDS: Mapping[str, Any] = {
    record.__name__: record
    for record in (
        *(Judgement, Finding, Problem, Severity, Violation, RunSummary, Estimate, Headline),
        *(MeanClocks, Fingerprints, Noise, OriginalRun, SweepLabel, StudySummary, SessionSummary),
        ObservationSummary,
        Path,
    )
}
"""The classes whose instances are read: nothing else in a file can become an object."""

_MAPPINGS: Mapping[str, Any] = {mapping.__name__: mapping for mapping in (dict, ConfigurationKey)}


def encode_judgement(judgement: Judgement) -> bytes:
    """The judgement as it is written: without its summary, then the summary. Raises TypeError,
    ValueError or RecursionError for what has no form in JSON."""
    head = _encode_record(replace(judgement, summary=None))
    return _frame(head) + _encode_record(judgement.summary)


def decode_judgement(content: bytes) -> tuple[Judgement, bytes]:
    """Read what `encode_judgement` wrote: the judgement without its summary, and the summary as it
    is written. Raises LookupError, TypeError, ValueError or RecursionError for other content."""
    head, summary = _split(content)
    judgement = _decode_record(head)
    if not isinstance(judgement, Judgement):
        raise TypeError("no judgement")
    return judgement, summary


def decode_summary(content: bytes) -> RunSummary | StudySummary | ObservationSummary | None:
    """Read the summary of a judgement. Raises as `decode_judgement` does."""
    summary = _decode_record(content)
    if not isinstance(summary, RunSummary | StudySummary | ObservationSummary | None):
        raise TypeError("no summary")
    return summary


def _encode_record(value: object) -> bytes:
    """The value as JSON, followed by its arrays.

    JSON has no tuples, objects and arrays of NumPy: a tuple is an array, and an object with one key
    stands for everything else.
    """
    arrays: list[bytes] = []
    text = json.dumps(_encode(value, arrays), separators=(",", ":")).encode()
    return b"".join((_frame(text), *arrays))


def _decode_record(content: bytes) -> Any:
    text, arrays = _split(content)
    (value,) = _decode_all([json.loads(text)], arrays)
    return value


def _frame(content: bytes) -> bytes:
    return len(content).to_bytes(_LENGTH_BYTES, "little") + content


def _split(content: bytes) -> tuple[bytes, bytes]:
    """What `_frame` wrote, and what follows it."""
    end = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    return content[_LENGTH_BYTES:end], content[end:]


def _encode(value: object, arrays: list[bytes]) -> object:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, tuple):
        return [_encode(item, arrays) for item in value]
    if isinstance(value, list):
        return {"list": [_encode(item, arrays) for item in value]}
    if (name := type(value).__name__) in _MAPPINGS:
        assert isinstance(value, dict)
        return {name: {str(key): _encode(item, arrays) for key, item in value.items()}}
    if isinstance(value, np.ndarray):
        begin = sum(map(len, arrays))
        arrays.append(value.tobytes())
        return {"array": [value.dtype.str, len(value), begin]}
    if isinstance(value, Severity | Path):
        return {"Path" if isinstance(value, Path) else "Severity": [str(value)]}
    names = _list_fields(_RECORDS[name]) if name in _RECORDS else ()
    if not names:
        raise TypeError(f"a {name} cannot be written")
    return {name: [_encode(getattr(value, field), arrays) for field in names]}


def _decode(value: Any, arrays: bytes) -> Any:
    if isinstance(value, list):
        return tuple(_decode_all(value, arrays))
    ((name, content),) = value.items()
    if name == "list":
        return _decode_all(content, arrays)
    if name in _MAPPINGS:
        values = _decode_all(content.values(), arrays)
        return _MAPPINGS[name](zip(content, values, strict=True))
    if name == "array":
        dtype, length, begin = content
        # A copy is aligned, and may be written to like the original.
        return np.frombuffer(arrays, np.dtype(dtype), length, begin).copy()
    record, names = _RECORDS[name], _list_fields(_RECORDS[name])
    values = _decode_all(content, arrays)
    return record(**dict(zip(names, values, strict=True))) if names else record(*values)


def _decode_all(values: Iterable[Any], arrays: bytes) -> list[Any]:
    # Most values are numbers and texts, for which a call would take more time than the rest.
    return [_decode(v, arrays) if v.__class__ in (list, dict) else v for v in values]


@cache
def _list_fields(record: Any) -> tuple[str, ...]:
    """The names of the fields of a class; none if it is no dataclass."""
    return tuple(field.name for field in fields(record)) if is_dataclass(record) else ()
