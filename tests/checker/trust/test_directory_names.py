"""Names of directories that the LOG cannot hold, or that look like others, are refused for their
own bundles only."""

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import PRINCIPAL, Submissions, make_key
from support.rounds.trust import accept, list_rules, make_second_run

from checker.engine import judge, judge_all
from harness.cli import main
from rules.testing import tampering as forge

UNSAFE_NAMES = {
    "not UTF-8": os.fsdecode(b"h200\xff"),
    "backslash": "h200\\x2",
    "newline": "h200\nx2",
    "bidirectional override": "h200\u202ex2",
    "letter without a shape": "h200\u3164x2",
    "more than 1 000 characters": "/".join(["a" * 200] * 5),
}


def move_to(bundle: Path, system: Path) -> Path:
    system.mkdir(parents=True)
    return Path(shutil.move(bundle, system))


@pytest.mark.parametrize("name", UNSAFE_NAMES.values(), ids=UNSAFE_NAMES)
def test_unsafe_name_refuses_its_bundle_and_blocks_no_other(
    submissions: Submissions, name: str
) -> None:
    good = submissions.add()
    bundle = move_to(
        submissions.add(make_second_run(), "second-run"), submissions.root / "example" / name
    )
    verdict = judge(bundle)
    assert (verdict.status, list_rules(verdict)) == ("fail", {"S110"})
    result = accept(submissions.root)
    assert "1 written to the LOG, 1 refused" in result.output
    assert good.name in (submissions.root / "LOG").read_text()


@pytest.mark.parametrize("has_keyring", [True, False])
@pytest.mark.parametrize("name", ["not UTF-8", "newline"])
def test_bundle_below_an_unsafe_name_is_not_signed(
    submissions: Submissions, name: str, has_keyring: bool
) -> None:
    bundle = move_to(submissions.add(), submissions.root / "example" / UNSAFE_NAMES[name])
    shutil.rmtree(bundle / "signatures")
    if not has_keyring:
        shutil.rmtree(submissions.keyring)
    before = (bundle / "MANIFEST.json").read_bytes()
    command = ["sign", str(bundle), "--key", str(submissions.key), "--principal", PRINCIPAL]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1 and "S110" in result.output, result.output
    assert (bundle / "MANIFEST.json").read_bytes() == before
    assert not (bundle / "signatures").exists()


ALIKE = {
    "capital letters": ("kit-strasse", "Kit-Strasse"),
    "Kelvin sign": ("kit-strasse", "\u212ait-strasse"),
    "sharp s": ("kit-strasse", "kit-stra\u00dfe"),
}


@pytest.mark.parametrize(("accepted_name", "name"), ALIKE.values(), ids=ALIKE)
def test_directory_that_looks_like_an_accepted_one_is_refused(
    submissions: Submissions, tmp_path: Path, accepted_name: str, name: str
) -> None:
    principal = f"{accepted_name}@example.org"
    key = make_key(tmp_path / "key")
    submissions.allow(key, principal)
    center = Submissions(submissions.root, key)
    accepted = center.add(principal=principal)
    forge.write_log(accepted, {})
    (submissions.root / name / "h200").mkdir(parents=True)
    second = center.add(make_second_run(), "second-run", system="gh200", principal=principal)
    moved = move_to(second, submissions.root / name / "gh200")
    assert list_rules(judge(accepted)) == set()
    assert "I131" in list_rules(judge(moved))
    assert {v.path: v.status for v in judge_all([submissions.root]).verdicts} == {
        accepted: "pass",
        moved: "fail",
    }


def test_systems_and_runs_that_look_alike_are_refused(submissions: Submissions) -> None:
    bundles = [
        submissions.add(run_id="run-number-1", system="h200x2"),
        submissions.add(run_id="run-number-1", system="H200x2"),
        submissions.add(run_id="run-number-2", system="gh200"),
        submissions.add(run_id="Run-number-2", system="gh200"),
    ]
    assert [list_rules(judge(bundle)) for bundle in bundles] == [{"I131"}] * 4
