"""A cache that others may write is not used. One that is damaged, or cannot be written, changes no
verdict."""

import os
import pickle
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from subprocess import Popen

import pytest
from conftest import Submissions
from support.rounds.verdict_cache import alter_entry, drop_findings
from support.rounds.verdict_cache import cache as cache
from support.rounds.verdicts import add_altered_bundle, run_bench_check

from checker.command_line.user_cache import remove_old
from checker.engine import judge_all
from checker.judging.judgement import decode_judgement
from checker.judging.verdict_cache import VerdictCache, open_cache

_HEADER = b'{"stamp":[],"hashes":{}}\n'


@pytest.mark.parametrize("place", ["wattmark", "verdicts", "version", "entry", "salt"])
def test_what_others_may_write_is_not_read(
    cache: VerdictCache, submissions: Submissions, place: str
) -> None:
    bundle = add_altered_bundle(submissions)
    judge_all([submissions.root], cache=cache)
    alter_entry(cache, bundle, drop_findings)
    path = {
        "wattmark": cache.directory.parents[1],
        "verdicts": cache.directory.parent,
        "version": cache.directory,
        "entry": cache._locate(bundle),
        "salt": cache.directory / "salt",
    }[place]
    path.chmod(path.stat().st_mode | 0o020)
    result = run_bench_check(submissions.root)
    assert (result.exit_code, "T102" in result.output) == (1, True)
    assert result.output.count(f"bench-check: {path}: another user may write it, so no") == 1


def test_what_another_user_owns_is_not_read(
    cache: VerdictCache, submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_altered_bundle(submissions)
    judge_all([submissions.root], cache=cache)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    result = run_bench_check(submissions.root)
    assert "another user may write it" in result.output
    assert "earlier check" not in result.output


# What is damaged or cannot be written.


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
        lambda content: content.replace(b"standing", b"standinG"),
        lambda content: _with_hash(b'{"stamp":[],"hashes":{}}\n' + b"\xff" * 20),
        lambda content: _with_hash(b"[]\n" + content),
        lambda content: _with_hash(_HEADER + _framed(pickle.dumps(Popen))),
        lambda content: _with_hash(_HEADER + _framed(pickle.dumps(Path("x")))),
        lambda content: _with_hash(_HEADER + _framed(b"(" * 100_000)),
    ],
    ids=["empty", "cut", "bit", "text", "no JSON", "no header", "class", "other class", "deep"],
)
def test_a_damaged_entry_is_dropped(
    cache: VerdictCache, submissions: Submissions, damage: Callable[[bytes], bytes]
) -> None:
    entry = cache._locate(add_altered_bundle(submissions))
    expected = run_bench_check(submissions.root).stdout
    entry.write_bytes(damage(entry.read_bytes()))
    second = run_bench_check(submissions.root)
    assert (second.stdout, second.stderr) == (expected, "")
    third = run_bench_check(submissions.root)
    assert third.stdout == expected
    assert third.stderr == (
        "bench-check: the evidence of 1 bundle was judged by an earlier check (--no-cache judges "
        "it anew)\n"
    )


def test_a_summary_that_cannot_be_read_ends_the_check(
    cache: VerdictCache, submissions: Submissions
) -> None:
    """Only somebody who writes as the user can make one."""
    bundle = submissions.add()
    judge_all([submissions.root], cache=cache)
    header, _, encoded = cache._locate(bundle).read_bytes()[32:].partition(b"\n")
    _, summary = decode_judgement(encoded)
    other = encoded.removesuffix(summary) + pickle.dumps(Popen)
    cache._locate(bundle).write_bytes(_with_hash(header + b"\n" + other))
    result = run_bench_check(submissions.root)
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"{bundle}: what the cache has of this bundle cannot be read" in result.stderr


def _with_hash(content: bytes) -> bytes:
    return sha256(content).digest() + content


def _framed(head: bytes) -> bytes:
    return len(head).to_bytes(8, "little") + head


def test_a_damaged_salt_means_no_cache(cache: VerdictCache, submissions: Submissions) -> None:
    submissions.add()
    (cache.directory / "salt").write_text("x")
    for _ in range(2):
        result = run_bench_check(submissions.root)
        assert (result.exit_code, result.stderr) == (0, "")


def test_a_full_disk_means_no_cache(
    cache: VerdictCache, submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    submissions.add()
    monkeypatch.setattr(Path, "rename", refuse)
    for _ in range(2):
        result = run_bench_check(submissions.root)
        assert (result.exit_code, result.stderr) == (0, "")
    assert [path.name for path in cache.directory.iterdir()] == ["salt"]


@pytest.mark.parametrize("home", ["/dev/null", "/proc/none", "file"])
def test_a_place_that_cannot_be_written_means_no_cache(
    tmp_path: Path, submissions: Submissions, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / home))
    submissions.add()
    for _ in range(2):
        result = run_bench_check(submissions.root)
        assert (result.exit_code, result.stderr) == (0, "")


def test_an_old_entry_that_cannot_be_removed_is_left(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "old").symlink_to(tmp_path, target_is_directory=True)
    remove_old(tmp_path / "cache", kept=0)
    assert tmp_path.exists()


def test_without_a_home_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.chdir(tmp_path)
    assert open_cache(pytest.fail) is None
    assert list(tmp_path.iterdir()) == []


def test_all_is_for_the_user_alone(cache: VerdictCache, submissions: Submissions) -> None:
    submissions.add()
    judge_all([submissions.root], cache=cache)
    top = cache.directory.parents[1]
    modes = {path.stat().st_mode & 0o077 for path in (top, *top.rglob("*"))}
    assert modes == {0}
