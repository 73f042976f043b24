"""A cache of verdicts for tests, and how somebody alters it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checker.judging import verdict_cache
from checker.judging.judgement import (
    Judgement,
    decode_judgement,
    decode_summary,
    encode_judgement,
)
from checker.judging.verdict_cache import VerdictCache, open_cache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VerdictCache:
    """An empty cache, in which files that have just been written count as unchanged."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(verdict_cache, "SETTLED_S", float("-inf"))
    opened = open_cache(pytest.fail)
    assert opened is not None
    return opened


def alter_entry(cache: VerdictCache, bundle: Path, alter: Callable[[Judgement], Judgement]) -> None:
    """Write another judgement into the entry of a bundle, as somebody who may write it can."""
    path = cache._locate(bundle)
    content = path.read_bytes()[32:]
    header, _, encoded = content.partition(b"\n")
    judgement, summary = decode_judgement(encoded)
    whole = replace(judgement, summary=decode_summary(summary))
    content = header + b"\n" + encode_judgement(alter(whole))
    path.write_bytes(sha256(content).digest() + content)


def drop_findings(judgement: Judgement) -> Judgement:
    return replace(judgement, findings=())


def find_differences(found: Any, expected: Any, place: str = "summary") -> Iterator[str]:
    """Where two values differ in type or value, at any depth. NaN equals NaN."""
    if type(found) is not type(expected):
        yield f"{place}: {type(found).__name__}, expected {type(expected).__name__}"
    elif is_dataclass(expected):
        for field in fields(expected):
            parts = getattr(found, field.name), getattr(expected, field.name)
            yield from find_differences(*parts, f"{place}.{field.name}")
    elif isinstance(expected, Mapping):
        # Two mappings with the keys in another order have other hashes.
        yield from find_differences(tuple(found), tuple(expected), f"keys of {place}")
        for key in found.keys() & expected.keys():
            yield from find_differences(found[key], expected[key], f"{place}[{key!r}]")
    elif isinstance(expected, tuple | list):
        if len(found) != len(expected):
            yield f"{place}: {len(found)} items, expected {len(expected)}"
        else:
            for number, parts in enumerate(zip(found, expected, strict=True)):
                yield from find_differences(*parts, f"{place}[{number}]")
    elif isinstance(expected, np.ndarray):
        if found.dtype != expected.dtype or found.tobytes() != expected.tobytes():
            yield f"{place}: another array"
    elif found != expected and not (found != found and expected != expected):
        yield f"{place}: {found!r}, expected {expected!r}"
