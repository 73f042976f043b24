"""Links, FIFOs, sockets, devices and directories in every place of a round are answered: none hangs
the checker, ends the round or is followed."""

import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Submissions
from support.rounds.verdicts import run_bench_check

from checker import engine
from checker.output import write_output
from checker.verdict import INTERNAL
from rules.bundle_format.records import MANIFEST_FILE, RUN
from rules.testing import tampering

BUNDLE = "{bundle}"
PLACES = (
    *(f"{BUNDLE}/{name}" for name in sorted({*RUN.required_files, MANIFEST_FILE})),
    f"{BUNDLE}/requests.csv.gz",
    f"{BUNDLE}/signatures",
    f"{BUNDLE}/signatures/submission.example@wattmark.sig",
    f"{BUNDLE}/signatures/review.x@example.org.json",
    f"{BUNDLE}/signatures/review.x@example.org.sig",
    f"{BUNDLE}/other",
    BUNDLE,
    "example",
    "other-center",
    "keyring",
    "keyring/allowed_signers",
    "keyring/revoked_signers",
    "LOG",
    "waivers",
    "waivers/of-the-case.json",
    "waivers/of-the-case.json.sig",
    "published",
    "published/paper.json",
    "example/published",
    "example/keyring",
)


def make_socket(path: Path) -> None:
    descriptor = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        # A socket's own path may have 107 bytes only.
        listener.bind(f"/proc/self/fd/{descriptor}/{path.name}")
    os.close(descriptor)


KINDS: dict[str, Callable[[Path], None]] = {
    "a FIFO": os.mkfifo,
    "a socket": make_socket,
    "a directory": Path.mkdir,
    "an unreadable directory": lambda path: path.mkdir(mode=0),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to a directory": lambda path: path.symlink_to("/proc/self/fd"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
}


@pytest.fixture
def round_of_one(submissions: Submissions, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The bundle of a round with a review, a waiver and a LOG. It is judged in this process, and
    within two minutes."""
    bundle = submissions.add()
    tampering.add_review(bundle)
    tampering.add_waiver(bundle)
    tampering.write_log(bundle, {})
    monkeypatch.setattr(engine, "map_in_processes", lambda function, items, _: function(items))
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("the checker waits"))
    signal.alarm(120)  # far more than a busy machine takes
    yield bundle
    signal.alarm(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


@pytest.mark.parametrize("kind", KINDS)
def test_special_file_in_any_place_is_answered(
    round_of_one: Path, submissions: Submissions, tmp_path: Path, kind: str
) -> None:
    unchanged = tmp_path / "unchanged"
    shutil.copytree(submissions.root, unchanged, symlinks=True)
    for place in PLACES:
        shutil.rmtree(submissions.root)
        shutil.copytree(unchanged, submissions.root, symlinks=True)
        path = submissions.root / place.format(bundle=round_of_one.relative_to(submissions.root))
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        KINDS[kind](path)
        judged = engine.judge_all([submissions.root])
        assert judged.verdicts, place
        findings = [finding for verdict in judged.verdicts for finding in verdict.findings]
        assert not [f.found for f in findings if f.rule == INTERNAL], place
        # Links that are followed would show what they lead to.
        assert not [f for f in findings if "/proc/self" in f.found], place


def test_checked_path_that_is_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    path.symlink_to("loop")
    result = run_bench_check(path)
    assert (result.exit_code, "a symbolic link" in result.output) == (1, True)


def test_output_file_that_is_a_link_to_itself_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    path.symlink_to("loop")
    write_output(path, "a report", "report")
    assert (path.is_symlink(), path.read_text()) == (False, "a report")
