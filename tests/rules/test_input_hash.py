"""When the files that a run reads are hashed anew."""

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rules.input_hash import hash_input


def test_link_to_another_file_of_equal_time_and_size_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_state, link = Path.stat, tmp_path / "corpus"

    def read_state_without_time(path: Path, **options: Any) -> Any:
        state = read_state(path, **options)
        names = ("st_ino", "st_size", "st_mode")
        return SimpleNamespace(st_ctime_ns=0, **{name: getattr(state, name) for name in names})

    monkeypatch.setattr(Path, "stat", read_state_without_time)
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / name)
        assert hash_input(link) == hashlib.sha256(name.encode()).hexdigest()
