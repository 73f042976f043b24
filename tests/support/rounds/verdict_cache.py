"""A cache of verdicts for tests, and how somebody alters it."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

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
