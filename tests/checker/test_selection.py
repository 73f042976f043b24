"""Parts of a check: --select, --ignore and --baseline."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Submissions
from support.rounds.verdicts import (
    add_altered_bundle,
    make_finding,
    make_verdict,
    make_view,
    run_bench_check,
)

from checker.baseline import compute_fingerprint, write_baseline
from checker.selection import parse_selection, select_findings
from checker.terminal import UnwritableError
from checker.verdict import INTERNAL

# --select, --ignore.


@pytest.mark.parametrize(
    "arguments, rules, exit_code",
    [
        (("--select", "M108"), {"M108"}, 4),
        (("--select", "git-dirty"), {"M108"}, 4),
        (("--select", "m,T102"), {"M108", "T102"}, 1),
        (("--select", "T", "--ignore", "T102"), set(), 4),
        (("--ignore", "T", "--ignore", "M"), set(), 4),
        (("--ignore", "S"), {"M108", "T102"}, 1),
    ],
)
def test_part_of_the_rules(
    submissions: Submissions, arguments: tuple[str, ...], rules: set[str], exit_code: int
) -> None:
    add_altered_bundle(submissions)
    result = run_bench_check(submissions.root, "--format", "json", *arguments)
    (judged,) = json.loads(result.output)["bundles"]
    assert {f["rule"] for f in judged["findings"]} == rules
    assert (result.exit_code, judged["status"]) == (exit_code, {4: "partial", 1: "fail"}[exit_code])


def test_part_of_the_rules_is_told_in_the_summary(submissions: Submissions) -> None:
    submissions.add()
    *_, output, lines = run_bench_check(submissions.root, "--select", "P").output.splitlines()
    assert output == "partial: with --select P this is no judgement by the whole rule book"
    assert (
        lines
        == "1 judged in part (--select P): 1 without errors in that part, 0 fail; 0 errors, 0 "
        "warnings, 0 notes"
    )


def test_wrong_name_of_a_rule_is_refused_with_near_ones(submissions: Submissions) -> None:
    result = run_bench_check(submissions.add(), "--ignore", "P1O3")
    assert (
        result.exit_code,
        "Invalid value for --ignore" in result.output,
        "P103" in result.output,
    ) == (2, True, True)


def test_failure_of_the_checker_cannot_be_left_out() -> None:
    from checker.verdict import Round

    judged = Round((make_verdict(make_finding(INTERNAL), make_finding("W103")),), ())
    selection = select_findings(judged, parse_selection(select=["P"]))
    assert [f.rule for f in selection.verdicts[0].findings] == [INTERNAL]
    assert (selection.broken, selection.status(selection.verdicts[0])) == (True, "fail")


# --baseline.


def test_baseline_knows_what_is_there_and_nothing_else(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle, baseline = add_altered_bundle(submissions), tmp_path / "known.txt"
    assert run_bench_check(submissions.root, "--write-baseline", baseline).exit_code == 1
    lines = [
        line.split("\t") for line in baseline.read_text().splitlines() if not line.startswith("#")
    ]
    bundle_path = "/".join(bundle.parts[-3:])
    assert [line[:4] for line in lines] == [
        ["M108", bundle_path, "environment.json", "/git/dirty"],
        ["T102", bundle_path, "result.json", "/headline/joules_per_item"],
    ]
    result = run_bench_check(submissions.root, "--baseline", baseline)
    assert result.exit_code == 4
    assert "known error T102" in result.output
    assert result.output.splitlines()[-1].endswith("0 errors, 0 warnings, 0 notes, 2 known")
    (bundle / "stray").write_text("")
    result = run_bench_check(submissions.root, "--baseline", baseline)
    assert (result.exit_code, "\n  error I102 stray" in result.output) == (1, True)


def test_baseline_tells_what_is_gone(submissions: Submissions, tmp_path: Path) -> None:
    add_altered_bundle(submissions)
    baseline = tmp_path / "known.txt"
    run_bench_check(submissions.root, "--write-baseline", baseline)
    other_line = (
        baseline.read_text().splitlines()[-1].replace("T102", "T101").replace("\t/", "\t/x")[:-3]
        + "000"
    )
    baseline.write_text(f"{baseline.read_text()}{other_line}\n")
    result = run_bench_check(submissions.root, "--baseline", baseline)
    assert (result.exit_code, "in the baseline, but no longer found: T101" in result.output) == (
        4,
        True,
    )
    assert "2 known and 1 no longer found" in result.output


def test_baseline_is_the_same_text_in_any_order(tmp_path: Path) -> None:
    findings = [make_finding("W103", pointer=f"row {i}") for i in range(10, 20)]
    verdict, other_verdict = (
        make_verdict(*findings, make_finding("M108")),
        make_verdict(make_finding("M108"), path="a/b/c"),
    )
    texts = set()
    for view in (
        make_view(verdict, other_verdict),
        make_view(other_verdict, replace(verdict, findings=verdict.findings[::-1])),
    ):
        write_baseline(tmp_path / "known.txt", view.verdicts)
        texts.add((tmp_path / "known.txt").read_text())
    (text,) = texts
    lines = [line.split("\t")[:4] for line in text.splitlines() if not line.startswith("#")]
    assert [line[:2] for line in lines[:3]] == [
        ["M108", "a/b/c"],
        ["M108", "center/system/run"],
        ["W103", "center/system/run"],
    ]
    assert [line[3] for line in lines[2:]] == [f"row {i}" for i in range(10, 20)]


def test_failure_of_the_checker_is_never_known() -> None:
    failed_verdict = make_verdict(make_finding(INTERNAL))
    view = make_view(
        failed_verdict,
        known=frozenset({compute_fingerprint(failed_verdict, failed_verdict.findings[0])}),
        partial=("--baseline known.txt",),
    )
    assert view.status(failed_verdict) == "fail"


def test_baseline_is_written_over_a_baseline_alone(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle = add_altered_bundle(submissions)
    waivers, other_files = submissions.root / "waivers", tmp_path / "notes.txt"
    waivers.mkdir()
    other_files.write_text("mine")
    (tmp_path / "link").symlink_to(other_files)
    round_, kind = "LOG, keyring or waivers of the round in", "a file of another kind"
    for path, reason in (
        (bundle / "known.txt", "lies in the bundle"),
        (bundle / "signatures" / "known.txt", "lies in the bundle"),
        (bundle / "result.json", "lies in the bundle"),
        (submissions.root / "LOG", round_),
        (submissions.keyring / "allowed_signers", round_),
        (submissions.keyring / "revoked_signers", round_),
        (waivers / "known.txt", round_),
        (other_files, kind),
        (tmp_path / "link", kind),
        (Path("/dev/null"), "no regular file"),
    ):
        before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        result = run_bench_check(submissions.root, "--write-baseline", path)
        assert result.exit_code == 2 and reason in " ".join(result.stderr.split()), path
        assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    missing = tmp_path / "none" / "known.txt"
    result = run_bench_check(submissions.root, "--write-baseline", missing)
    assert result.exit_code == 3
    assert result.stderr == f"Error: {missing}: cannot be written: No such file or directory\n"
    baseline = submissions.root / "known.txt"
    baseline.touch()
    for _ in range(2):
        assert run_bench_check(submissions.root, "--write-baseline", baseline).exit_code == 1
    assert "T102" in baseline.read_text()


def test_full_disk_keeps_the_baseline_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline = tmp_path / "known.txt"
    write_baseline(baseline, make_view(make_verdict(make_finding())).verdicts)
    before = baseline.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnwritableError, match=r"known.txt: cannot be written: No space left"):
        write_baseline(baseline, make_view(make_verdict(make_finding("M108"))).verdicts)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


@pytest.mark.parametrize("content", [b"nonsense\n", b"\xff\n", b"a\tb\n"])
def test_what_is_no_baseline_is_refused(
    submissions: Submissions, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "known.txt").write_bytes(content)
    result = run_bench_check(submissions.add(), "--baseline", tmp_path / "known.txt")
    assert result.exit_code == 2
    assert "known.txt" in result.output and "Traceback" not in result.output
