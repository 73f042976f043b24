"""The head of the LOG, which shows that lines at its end are missing."""

from pathlib import Path

import pytest
from conftest import Submissions
from support.rounds.trust import make_second_run, run_command
from support.rounds.verdicts import run_bench_check

from checker.trust.acceptance_log import read_log
from rules.testing import tampering as forge


@pytest.fixture
def log(submissions: Submissions) -> Path:
    """A LOG with two lines."""
    bundles = [
        submissions.add(run_id="bundle-1", system="system-1"),
        submissions.add(make_second_run(), run_id="bundle-2", system="system-2"),
    ]
    return forge.write_log(
        bundles[0],
        {},
        {"path": "example/system-2/bundle-2", "manifest_sha256": forge.hash_manifest(bundles[1])},
    )


def truncate(log: Path, lines: int) -> None:
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:lines]))


@pytest.mark.parametrize("below", ["", "example", "example/system-1/bundle-1"])
def test_log_head_prints_lines_and_head(submissions: Submissions, log: Path, below: str) -> None:
    result = run_command("log", "head", submissions.root / below)
    head = read_log(submissions.root).head
    assert result.exit_code == 0, result.output
    assert result.output.endswith(f"LOG: 2 lines, head {head}\n")


def test_log_head_without_a_good_log_is_an_error(submissions: Submissions, log: Path) -> None:
    log.write_bytes(log.read_bytes()[:-5])
    result = run_command("log", "head", submissions.root)
    assert result.exit_code == 1 and "I117 LOG: a line without an end" in result.output
    log.unlink()
    result = run_command("log", "head", submissions.root)
    assert result.exit_code == 1 and "there is no LOG yet" in result.output
    result = run_command("log", "head", submissions.root.parent)
    assert result.exit_code == 1 and "no keyring at or above it" in result.output


@pytest.mark.parametrize("command", ["check", "verify"])
def test_missing_lines_at_the_end_are_noticed_with_the_published_head(
    submissions: Submissions, log: Path, command: str
) -> None:
    run = run_bench_check if command == "check" else lambda *a: run_command("verify", *a)
    head = read_log(submissions.root).head
    assert run(submissions.root, "--expect-head", head).exit_code == 0
    truncate(log, 1)
    assert run(submissions.root).exit_code == 0
    result = run(submissions.root, "--expect-head", head)
    assert result.exit_code == 1 and "I117" in result.output
    assert f"a line with the hash {head}" in result.output
    log.unlink()
    assert run(submissions.root, "--expect-head", head).exit_code == 1


def test_earlier_head_stays_good_while_the_log_grows(submissions: Submissions, log: Path) -> None:
    whole = log.read_bytes()
    truncate(log, 1)
    head = read_log(submissions.root).head
    log.write_bytes(whole)
    assert run_bench_check(submissions.root, "--expect-head", head).exit_code == 0


@pytest.mark.parametrize("options", [["12ab"], ["0" * 64, "--local"]])
def test_head_that_cannot_be_compared_is_wrong_usage(
    submissions: Submissions, log: Path, options: list[str]
) -> None:
    result = run_bench_check(submissions.root, "--expect-head", *options)
    assert result.exit_code == 2 and "--expect-head" in result.output
