"""The command: its exit codes, what it finds below a path, and the commands beside it."""

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import PRINCIPAL, Submissions, copy_evidence
from jsonschema import Draft202012Validator
from support.bundles import make_other_run, rederive
from support.rounds.verdicts import run_bench_check

from checker.cli import COMMANDS, check, load, main
from checker.commands import explain, rules
from checker.engine import judge, judge_all
from checker.find import find_places
from checker.verdict import INTERNAL
from reporting.rounds.command import compare
from rules.bundle import Bundle
from rules.bundle_format.documents import read_schema
from rules.registry import bundle_rules, round_rules, rules_by_id
from rules.testing.frames import EvidenceFrames

ROOT = Path(__file__).parents[2]


def list_rules(path: Path, keyring: Path | None = None, root: Path | None = None) -> set[str]:
    return {f.rule for f in judge(path, keyring, root).findings}


def make_numbered_run(number: int) -> EvidenceFrames:
    """Good evidence, each number that of a run of its own."""
    evidence = make_other_run(copy_evidence(), number)
    rederive(evidence)
    return evidence


# Exit codes and outputs.


def test_good_bundle_passes(submissions: Submissions) -> None:
    result = run_bench_check(submissions.root if submissions.add() else "")
    assert result.exit_code == 0
    assert (
        result.output.splitlines()[-1] == "1 judged: 1 pass, 0 fail; 0 errors, 0 warnings, 0 notes"
    )
    assert f"pass (closed, signed by {PRINCIPAL})" in result.output


def test_json_has_the_promised_shape(submissions: Submissions) -> None:
    bundle = submissions.add()
    (bundle / "log.txt.gz").unlink()
    result = run_bench_check(submissions.root, "--format", "json")
    assert result.exit_code == 1
    document = json.loads(result.output)
    Draft202012Validator(read_schema(document["format"])).validate(document)
    (judged,) = document["bundles"]
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
    assert f"{of_evidence} rules were not run" in run_bench_check(bundle).output


def test_path_without_a_bundle_is_an_error(tmp_path: Path, submissions: Submissions) -> None:
    (tmp_path / "empty").mkdir()
    result = run_bench_check(tmp_path / "empty", submissions.root if submissions.add() else "")
    assert result.exit_code == 1
    assert "no bundle at or below this path" in result.output
    assert "1 pass, 1 fail; 1 error," in result.output.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments", [(), ("/nowhere/at/all",), (".", "--format", "xml"), (".", "--keyring", "/no")]
)
def test_wrong_usage_exits_2(arguments: tuple[str, ...]) -> None:
    assert run_bench_check(*arguments).exit_code == 2


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
    result = run_bench_check(
        bundle
    )  # the workers are forked, or import the rule anew where they are not
    assert result.exit_code == 3 or sys.version_info >= (3, 14)


@pytest.mark.usefixtures("judged_in_processes")
def test_killed_worker_loses_its_own_bundle_only(
    submissions: Submissions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundles = [submissions.add(make_numbered_run(i), run_id=f"good-bundle-{i}") for i in range(3)]
    evil = submissions.add(run_id="evil-bundle")
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "ssh-keygen"
    original = shutil.which("ssh-keygen")
    # The path of a signature is that of a temporary file, so compare its content.
    signature = evil / "signatures" / f"submission.{PRINCIPAL}.sig"
    fake.write_text(
        "#!/bin/sh\n"
        f"signature={shlex.quote(str(signature))}\n"
        'for file; do [ -f "$file" ] && cmp -s "$file" "$signature" && kill -9 $PPID; done\n'
        f'exec {original} "$@"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    result = run_bench_check(submissions.root, "--format", "json")
    assert result.exit_code == 3
    judged = {b["path"]: b for b in json.loads(result.output)["bundles"]}
    assert [judged[str(path)]["status"] for path in bundles] == ["pass"] * 3
    assert [f["rule"] for f in judged[str(evil)]["findings"]] == [INTERNAL]


def test_one_bad_bundle_in_a_round(submissions: Submissions) -> None:
    paths = [
        submissions.add(make_numbered_run(i), run_id=f"bundle-{i}", system=f"system-{i % 2}")
        for i in range(5)
    ]
    (paths[2] / "result.json").write_text("{")
    result = run_bench_check(submissions.root, "--format", "json")
    status = {b["path"]: b["status"] for b in json.loads(result.output)["bundles"]}
    assert status == {str(path): "fail" if path == paths[2] else "pass" for path in paths}


# What lies below a path.


def test_hidden_directories_are_skipped_and_mentioned(submissions: Submissions) -> None:
    bundle = submissions.add()
    draft = shutil.copytree(bundle, bundle.with_name(".draft.writing"))
    result = run_bench_check(submissions.root)
    assert result.exit_code == 0
    assert f"not judged, because hidden (unfinished runs): {draft}" in result.output


def test_nothing_in_the_keyring_is_a_bundle(submissions: Submissions) -> None:
    bundle = submissions.add()
    shutil.copytree(bundle, submissions.keyring / "bundle")
    assert find_places(submissions.root).bundles == [bundle]


def test_linked_directory_is_refused_not_followed(submissions: Submissions) -> None:
    bundle = submissions.add()
    link = submissions.root / "example" / "latest"
    link.symlink_to(bundle.parent)
    assert find_places(submissions.root).bundles == [bundle, link]
    assert list_rules(link) == {"S102"}


def copy_published() -> dict[str, Any]:
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
    path.write_text(json.dumps(copy_published()))
    (tmp_path / "published" / "README.md").write_text("not judged")
    for checked in (tmp_path, path.parent, path):
        (verdict,) = judge_all([checked]).verdicts
        assert (verdict.path, verdict.standing, verdict.signer, verdict.status) == (
            path,
            "published",
            None,
            "pass",
        )
    path.write_text(json.dumps({**copy_published(), "rows": []}))
    (verdict,) = judge_all([tmp_path]).verdicts
    assert [f.rule for f in verdict.findings] == ["S107"]


def test_bundle_as_the_path_itself(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(submissions.add())
    assert run_bench_check(".").exit_code == 0


# explain.


@pytest.mark.parametrize("name", ["S101", "s101", "file-missing"])
def test_explain_prints_the_page(name: str) -> None:
    result = CliRunner().invoke(explain, [name])
    assert result.exit_code == 0
    assert result.output.startswith(
        "S101 file-missing (error)\n\nA file of the bundle is missing\n"
    )


@pytest.mark.parametrize(
    "name, near", [("S1O1", "S101"), ("file-mising", "file-missing"), ("???", "bench-check rules")]
)
def test_explain_lists_near_rules(name: str, near: str) -> None:
    result = CliRunner().invoke(explain, [name])
    assert result.exit_code == 2
    assert near in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_command_answers_and_its_name_may_be_a_directory(
    tmp_path: Path,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("checker.cli.collect_garbage_rarely", lambda: None)

    def run(*arguments: str) -> tuple[object, str]:
        monkeypatch.setattr("sys.argv", ["bench-check", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr().out

    code, output = run(name, "--help")
    usage = output.split("\n")[0].split("[")[0].strip()
    assert (code, usage) == (0, f"Usage: bench-check {name}")
    code, output = run(f"./{name}")
    assert (code, "no bundle at or below this path" in output) == (1, True)


def test_help_names_every_command() -> None:
    output = run_bench_check("--help").output
    for name, (_, does) in COMMANDS.items():
        assert re.search(rf"bench-check {name} +{re.escape(does)}", output)


def test_guide_for_reviewers_names_commands_and_options_that_exist() -> None:
    page = (ROOT / "docs" / "trust.md").read_text()
    # The blocks `sh` are commands of OpenSSH and sha256sum.
    page = re.sub(r"^```sh\n.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"^\$ bench-check (\w+) ", page, re.MULTILINE)) - {
        "submissions"
    } == COMMANDS.keys() - {
        # Not steps of the session that the page shows.
        *("explain", "rules", "audit", "request", "commit", "challenge"),
    }
    options = {
        p
        for c in [check, compare, *map(load, COMMANDS)]
        for parameter in c.params
        for p in parameter.opts
    }
    page_options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page))
    assert len(page_options) > 10
    assert page_options <= options


def test_rules_lists_the_whole_book() -> None:
    output = CliRunner().invoke(rules, []).output
    listed = json.loads(CliRunner().invoke(rules, ["--format", "json"]).output)["rules"]
    assert [r["id"] for r in listed] == list(rules_by_id())
    for rule in rules_by_id().values():
        assert re.search(
            rf"^  {rule.id}  {rule.severity} +{re.escape(rule.added)}  {rule.name}\b",
            output,
            re.MULTILINE,
        )
    assert {
        "family": "Schema and form",
        "added": "1.0.0",
        "severity": "error",
    }.items() <= list_by_id(listed)["S101"].items()
    assert list_by_id(listed)["M109"]["standings"] == ["closed", "open", "control"]


def list_by_id(listed: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {r["id"]: r for r in listed}
