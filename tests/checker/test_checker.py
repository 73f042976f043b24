"""The command, its exit codes and outputs, and who may sign what."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import PRINCIPAL, Submissions, fresh_evidence, make_key
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.bundles import another_run, rederive

from checker import CheckerError
from checker.cli import COMMANDS, check, load
from checker.commands import explain, rules
from checker.engine import judge, judge_all
from checker.find import find_places
from checker.verdict import INTERNAL
from harness.sign import sign
from rules.bundle import Bundle
from rules.bundle_format import csv_table as tables
from rules.bundle_format.documents import read_document, read_json, schema_of
from rules.bundle_format.files import Refused
from rules.bundle_format.records import (
    BATCH_COLUMNS,
    EVIDENCE_FILES,
    MANIFEST_FILE,
    OPTIONAL_FILES,
    SAMPLE_COLUMNS,
    SYSTEM_FORMAT,
)
from rules.registry import bundle_rules, round_rules, rules_by_id
from rules.testing.frames import EvidenceFrames

ROOT = Path(__file__).parents[2]


def bench_check(*arguments: str | Path) -> Result:
    return CliRunner().invoke(check, [str(a) for a in arguments])


def rules_of(path: Path, keyring: Path | None = None, root: Path | None = None) -> set[str]:
    return {f.rule for f in judge(path, keyring, root).findings}


def sign_by_hand(bundle: Path, key: Path, namespace: str) -> None:
    """Sign with ssh-keygen alone, in any namespace."""
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", namespace]
    signed = subprocess.run(
        command, input=(bundle / MANIFEST_FILE).read_bytes(), capture_output=True, check=True
    )
    (bundle / "signatures" / f"submission.{PRINCIPAL}.sig").write_bytes(signed.stdout)


def run_number(number: int) -> EvidenceFrames:
    """Good evidence, each number that of a run of its own."""
    evidence = another_run(fresh_evidence(), number)
    rederive(evidence)
    return evidence


# Exit codes and outputs.


def test_good_bundle_passes(submissions: Submissions) -> None:
    done = bench_check(submissions.root if submissions.add() else "")
    assert done.exit_code == 0
    assert done.output.splitlines()[-1] == "1 judged: 1 pass, 0 fail; 0 errors, 0 warnings, 0 notes"
    assert f"pass (closed, signed by {PRINCIPAL})" in done.output


def test_json_has_the_promised_shape(submissions: Submissions) -> None:
    bundle = submissions.add()
    (bundle / "log.txt.gz").unlink()
    done = bench_check(submissions.root, "--format", "json")
    assert done.exit_code == 1
    said = json.loads(done.output)
    Draft202012Validator(schema_of(said["format"])).validate(said)
    (judged,) = said["bundles"]
    assert (judged["path"], judged["standing"], judged["status"]) == (str(bundle), None, "fail")
    assert judged["signer"] == PRINCIPAL
    (finding,) = judged["findings"]
    assert (finding["rule"], finding["severity"], finding["file"]) == (
        "S101",
        "error",
        "log.txt.gz",
    )


def test_verdict_says_how_many_rules_were_not_asked(submissions: Submissions) -> None:
    bundle = submissions.add()
    (bundle / "log.txt.gz").unlink()
    of_evidence = len(bundle_rules()) + len(round_rules())
    assert judge(bundle).rules_not_run == of_evidence
    assert f"{of_evidence} rules were not run" in bench_check(bundle).output


def test_path_without_a_bundle_is_an_error(tmp_path: Path, submissions: Submissions) -> None:
    (tmp_path / "empty").mkdir()
    done = bench_check(tmp_path / "empty", submissions.root if submissions.add() else "")
    assert done.exit_code == 1
    assert "no bundle at or below this path" in done.output
    assert "1 pass, 1 fail; 1 error," in done.output.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments", [(), ("/nowhere/at/all",), (".", "--format", "xml"), (".", "--keyring", "/no")]
)
def test_wrong_usage_exits_2(arguments: tuple[str, ...]) -> None:
    assert bench_check(*arguments).exit_code == 2


def test_rule_that_raises_is_an_internal_error(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(bundle: Bundle) -> Any:
        raise ZeroDivisionError("by nothing")
        yield

    monkeypatch.setattr(rules_by_id()["T101"], "run", broken)
    bundle = submissions.add()
    (finding,) = judge(bundle).findings
    assert finding.rule == INTERNAL
    assert "rule T101" in finding.message
    assert str(bundle) in finding.message
    done = bench_check(bundle)  # the workers are forked, or import the rule anew where they are not
    assert done.exit_code == 3 or sys.version_info >= (3, 14)


def test_killed_worker_loses_its_own_bundle_only(
    submissions: Submissions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = [submissions.add(run_number(i), run_id=f"good-bundle-{i}") for i in range(3)]
    evil = submissions.add(run_id="evil-bundle")
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "ssh-keygen"
    real = shutil.which("ssh-keygen")
    fake.write_text(
        f'#!/bin/sh\ncase "$*" in *evil-bundle*) kill -9 $PPID;; *) exec {real} "$@";; esac\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    done = bench_check(submissions.root, "--format", "json")
    assert done.exit_code == 3
    judged = {b["path"]: b for b in json.loads(done.output)["bundles"]}
    assert [judged[str(path)]["status"] for path in good] == ["pass"] * 3
    assert [f["rule"] for f in judged[str(evil)]["findings"]] == [INTERNAL]


def test_one_bad_bundle_in_a_round(submissions: Submissions) -> None:
    paths = [
        submissions.add(run_number(i), run_id=f"bundle-{i}", system=f"system-{i % 2}")
        for i in range(5)
    ]
    (paths[2] / "result.json").write_text("{")
    done = bench_check(submissions.root, "--format", "json")
    status = {b["path"]: b["status"] for b in json.loads(done.output)["bundles"]}
    assert status == {str(path): "fail" if path == paths[2] else "pass" for path in paths}


# What lies below a path.


def test_hidden_directories_are_skipped_and_mentioned(submissions: Submissions) -> None:
    bundle = submissions.add()
    draft = shutil.copytree(bundle, bundle.with_name(".draft.writing"))
    done = bench_check(submissions.root)
    assert done.exit_code == 0
    assert f"not judged, because hidden (unfinished runs): {draft}" in done.output


def test_nothing_in_the_keyring_is_a_bundle(submissions: Submissions) -> None:
    bundle = submissions.add()
    shutil.copytree(bundle, submissions.keyring / "bundle")
    assert find_places(submissions.root).bundles == [bundle]


def test_linked_directory_is_refused_not_followed(submissions: Submissions) -> None:
    bundle = submissions.add()
    link = submissions.root / "example" / "latest"
    link.symlink_to(bundle.parent)
    assert find_places(submissions.root).bundles == [bundle, link]
    assert rules_of(link) == {"S102"}


def published() -> dict[str, Any]:
    row = {
        "workload": "resnet50-train",
        "accelerator": "H200",
        "cap_w": 700,
        "items_per_s_per_accelerator": 1.0,
        "cap_enforced": True,
        "table": "Table 1",
    }
    texts = dict.fromkeys(("authors", "id", "notes", "title", "url"), "x")
    return {
        "format": "wattmark-published/1",
        "standing": "published",
        "year": 2026,
        "rows": [row],
        **texts,
    }


def test_published_figures_are_validated(tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()
    path = tmp_path / "published" / "paper.json"
    path.write_text(json.dumps(published()))
    (tmp_path / "published" / "README.md").write_text("not judged")
    for checked in (tmp_path, path.parent, path):
        (verdict,) = judge_all([checked]).verdicts
        assert (verdict.path, verdict.standing, verdict.signer, verdict.status) == (
            path,
            "published",
            None,
            "pass",
        )
    path.write_text(json.dumps({**published(), "rows": []}))
    (verdict,) = judge_all([tmp_path]).verdicts
    assert [f.rule for f in verdict.findings] == ["S107"]


def test_bundle_as_the_path_itself(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(submissions.add())
    assert bench_check(".").exit_code == 0


# Who signed.


def test_signature_by_an_unknown_key(submissions: Submissions, tmp_path: Path) -> None:
    bundle = submissions.add()
    sign(bundle, make_key(tmp_path / "stranger"), PRINCIPAL)
    verdict = judge(bundle)
    assert {f.rule for f in verdict.findings} == {"I107"}
    assert verdict.signer is None


def test_signature_in_another_namespace(submissions: Submissions) -> None:
    bundle = submissions.add()
    sign_by_hand(bundle, submissions.key, "review@wattmark")
    assert rules_of(bundle) == {"I106"}


def test_signature_of_another_bundle(submissions: Submissions) -> None:
    one, other = submissions.add(run_id="bundle-1"), submissions.add(run_id="bundle-2")
    shutil.copy(*(b / "signatures" / f"submission.{PRINCIPAL}.sig" for b in (one, other)))
    assert rules_of(other) == {"I106"}


def test_bundle_moved_to_another_center(submissions: Submissions) -> None:
    submissions.allow(submissions.key, "other@wattmark")
    moved = submissions.root / "other" / "h200x2" / "run"
    shutil.copytree(submissions.add(), moved)
    assert rules_of(moved) == {"I107"}


def test_signature_renamed_to_the_principal_of_the_path(
    submissions: Submissions, tmp_path: Path
) -> None:
    """The other center has a key in the keyring, and it is not the one that signed."""
    submissions.allow(make_key(tmp_path / "other"), "other@wattmark")
    moved = submissions.root / "other" / "h200x2" / "run"
    shutil.copytree(submissions.add(), moved)
    signatures = moved / "signatures"
    (signatures / f"submission.{PRINCIPAL}.sig").rename(
        signatures / "submission.other@wattmark.sig"
    )
    assert rules_of(moved) == {"I107"}


def test_second_key_of_a_principal_is_as_good(submissions: Submissions, tmp_path: Path) -> None:
    key = make_key(tmp_path / "second")
    submissions.allow(key)
    bundle = submissions.add()
    sign(bundle, key, PRINCIPAL)
    assert rules_of(bundle) == set()


def test_expired_key_beside_a_valid_one(submissions: Submissions, tmp_path: Path) -> None:
    old = make_key(tmp_path / "old")
    submissions.allow(old, options='valid-before="20200101"')
    bundle = submissions.add()
    assert rules_of(bundle) == set()
    sign(bundle, old, PRINCIPAL)
    assert rules_of(bundle) == {"I109"}


def test_revoked_key_of_somebody_else_does_not_matter(
    submissions: Submissions, tmp_path: Path
) -> None:
    lost = make_key(tmp_path / "lost")
    shutil.copy(lost.with_suffix(".pub"), submissions.keyring / "revoked_signers")
    bundle = submissions.add()
    assert rules_of(bundle) == set()
    submissions.allow(lost)
    sign(bundle, lost, PRINCIPAL)
    assert rules_of(bundle) == {"I108"}


def test_one_bad_signature_beside_a_good_one(submissions: Submissions) -> None:
    bundle = submissions.add()
    (bundle / "signatures" / "submission.zoe@wattmark.sig").write_text("nonsense")
    verdict = judge(bundle)
    assert {f.rule for f in verdict.findings} == {"I107"}
    assert verdict.signer is None


def test_named_keyring(submissions: Submissions, tmp_path: Path) -> None:
    """The center is the first directory below the checked path, or else the bundle's parent
    directory."""
    bundle = submissions.add()
    keyring = shutil.move(submissions.keyring, tmp_path / "named")
    assert rules_of(bundle) == {"I110"}
    assert bench_check(submissions.root, "--keyring", keyring).exit_code == 0
    assert "I107" in bench_check(submissions.root / "example", "--keyring", keyring).output
    direct = shutil.copytree(bundle, tmp_path / "example" / "run")
    assert bench_check(direct, "--keyring", keyring).exit_code == 0


def test_named_keyring_wins_over_the_one_beside(submissions: Submissions, tmp_path: Path) -> None:
    submissions.add()
    named = Submissions(tmp_path / "elsewhere", make_key(tmp_path / "stranger"))
    named.allow(named.key)
    done = bench_check(submissions.root, "--keyring", named.keyring)
    assert (done.exit_code, "I107" in done.output) == (1, True)


def test_nothing_passes_without_ssh_keygen(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = submissions.add()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CheckerError, match="ssh-keygen was not found"):
        judge(bundle)
    done = bench_check(submissions.root)
    assert done.exit_code == 3
    assert "ssh-keygen was not found" in done.output
    assert "pass" not in done.output


# explain.


@pytest.mark.parametrize("name", ["S101", "s101", "file-missing"])
def test_explain_prints_the_page(name: str) -> None:
    done = CliRunner().invoke(explain, [name])
    assert done.exit_code == 0
    assert done.output.startswith("S101 file-missing (error)\n\nA file of the bundle is missing\n")


@pytest.mark.parametrize(
    "name, near", [("S1O1", "S101"), ("file-mising", "file-missing"), ("???", "bench-check rules")]
)
def test_explain_lists_near_rules(name: str, near: str) -> None:
    done = CliRunner().invoke(explain, [name])
    assert done.exit_code == 2
    assert near in done.output


@pytest.mark.parametrize(
    ("name", "key", "value", "expected"),
    [
        ("environment.json", "git", 7, "an object with the keys commit, dirty or null"),
        (
            "result.json",
            "headline",
            {"mfu": 7},
            "an object with the keys ci95, mean, n, sd or null",
        ),
    ],
)
def test_one_of_several_shapes_is_asked_for_in_words(
    submissions: Submissions, name: str, key: str, value: Any, expected: str
) -> None:
    path = submissions.add() / name
    stated = json.loads(path.read_text())
    stated[key] = {**stated[key], **value} if isinstance(value, dict) else value
    with pytest.raises(Refused) as refusal:
        read_document(name, json.dumps(stated).encode(), stated["format"])
    assert expected in {problem.violation.expected for problem in refusal.value.problems}


@pytest.mark.parametrize("name", COMMANDS)
def test_command_answers_and_its_name_may_be_a_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    run = [sys.executable, "-m", "checker"]
    help_ = subprocess.run(
        [*run, name, "--help"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (help_.returncode, help_.stdout.split("\n")[0].split("[")[0].strip()) == (
        0,
        f"Usage: bench-check {name}",
    )
    checked = subprocess.run(
        [*run, f"./{name}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, "no bundle at or below this path" in checked.stdout) == (1, True)


def test_help_names_every_command() -> None:
    said = bench_check("--help").output
    for name, (_, does) in COMMANDS.items():
        assert re.search(rf"bench-check {name} +{re.escape(does)}", said)


def test_guide_for_reviewers_names_commands_and_options_that_exist() -> None:
    page = (ROOT / "docs" / "trust.md").read_text()
    assert set(re.findall(r"^\$ bench-check (\w+) ", page, re.MULTILINE)) - {
        "submissions"
    } == COMMANDS.keys() - {
        "explain",
        "rules",
    }
    options = {
        p for c in [check, *map(load, COMMANDS)] for parameter in c.params for p in parameter.opts
    }
    asked = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page))
    assert len(asked) > 10
    assert asked <= options


def test_rules_lists_the_whole_book() -> None:
    said = CliRunner().invoke(rules, []).output
    listed = json.loads(CliRunner().invoke(rules, ["--format", "json"]).output)["rules"]
    assert [r["id"] for r in listed] == list(rules_by_id())
    for rule in rules_by_id().values():
        assert re.search(
            rf"^  {rule.id}  {rule.severity} +{re.escape(rule.added)}  {rule.name}\b",
            said,
            re.MULTILINE,
        )
    assert {
        "family": "Schema and form",
        "added": "1.0.0",
        "severity": "error",
    }.items() <= listed_by_id(listed)["S101"].items()
    assert listed_by_id(listed)["M109"]["standings"] == ["closed", "open"]


def listed_by_id(listed: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {r["id"]: r for r in listed}


# Whatever bytes come, the readers answer or refuse.


@given(
    st.binary()
    | st.text().map(str.encode)
    | st.recursive(st.none() | st.text(), st.lists).map(json.dumps).map(str.encode)
)
def test_any_bytes_as_json(raw: bytes) -> None:
    for read in (lambda: read_json("x", raw), lambda: read_document("x", raw, SYSTEM_FORMAT)):
        try:
            read()
        except Refused as refusal:
            assert refusal.problems


@given(st.text(alphabet='0123456789,\n-."e \r\0nan\x85\u2028') | st.text())
def test_any_text_as_table(body: str) -> None:
    text = (",".join(BATCH_COLUMNS) + "\n" + body).encode(errors="replace")
    try:
        table = tables.read_table("batches.csv.gz", text)
    except Refused as refusal:
        assert refusal.problems
    else:
        rows = list(csv.reader(body.removesuffix("\n").split("\n"))) if body else []
        read = np.array([table.ints(column) for column in BATCH_COLUMNS])
        assert read.T.tolist() == [[int(cell) for cell in row] for row in rows]


# How a number may be written, and how other readers might take it for one.
CELLS = [
    "5",
    "007",
    "-3",
    "x",
    "9223372036854775807",
    "9223372036854775808",
    "99999999999999999999",
    "9007199254740993",
    '"5"',
    "",
]
CELLS += [
    " 5",
    "5 ",
    "\t5",
    "0x1f",
    "0X1F",
    "+5",
    "1_0",
    "1.0",
    "1e3",
    "nan",
    "NA",
    "null",
    "\u0665",
    '" 5"',
    '"0x1"',
    "5 000",
]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("column", ["scheduled_ns", "power_mw", "slowdown"])
@pytest.mark.parametrize("others", ["", "0x at xenia, and elsewhere"])
def test_number_is_digits_and_nothing_else(cell: str, column: str, others: str) -> None:
    good = dict.fromkeys(SAMPLE_COLUMNS, "7") | {"node": f'"{others or "n"}"', "status": "ok"}
    text = "\n".join(
        ",".join(row.values())
        for row in (
            dict(zip(SAMPLE_COLUMNS, SAMPLE_COLUMNS, strict=True)),
            good,
            good | {column: cell},
        )
    ).encode()
    plain, required = cell.strip('"'), column == "scheduled_ns"
    digits = plain if required else plain.removeprefix("-")
    limit = 2**63 - 1 if required else 2**53
    if (digits.isascii() and digits.isdigit() and int(digits) <= limit) or (
        not plain and not required
    ):
        value = tables.read_table("samples.csv.gz", text).floats(column)[1]
        assert value == float(plain) if plain else np.isnan(value)
    else:
        with pytest.raises(Refused) as caught:
            tables.read_table("samples.csv.gz", text)
        assert caught.value.problems[0].violation.pointer == "row 2"


# docs/verify.md.


def run_lines_of_the_page(directory: Path) -> subprocess.CompletedProcess[str]:
    page = (ROOT / "docs" / "verify.md").read_text()
    lines = "\n".join(re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    in_english = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        ["sh", "-eu", "-c", lines],
        cwd=directory,
        env=in_english,
        capture_output=True,
        text=True,
        check=False,
    )


def test_lines_of_the_page_verify_a_bundle() -> None:
    done = run_lines_of_the_page(ROOT)
    assert done.returncode == 0, done.stderr
    good, *files = done.stdout.splitlines()
    assert good.startswith('Good "submission@wattmark" signature for reference@wattmark ')
    assert sorted(files) == sorted(f"{name}: OK" for name in set(EVIDENCE_FILES) - OPTIONAL_FILES)


@pytest.mark.parametrize("name", ["MANIFEST.json", "samples.csv.gz"])
def test_lines_of_the_page_notice_a_change(tmp_path: Path, name: str) -> None:
    shutil.copytree(ROOT / "submissions", tmp_path / "submissions")
    for path in tmp_path.rglob(name):
        path.write_bytes(path.read_bytes() + b"\n")
    assert run_lines_of_the_page(tmp_path).returncode != 0
