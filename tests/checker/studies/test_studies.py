"""Bundles of studies through all that `bench-check` and `bench-submit` do with bundles: the same
trust as runs, rules of their own."""

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import PRINCIPAL, Submissions, copy_study, make_key
from support.rounds.trust import TrustRound, list_errors, run_command
from support.rounds.trust import a_round as a_round
from support.rounds.verdicts import run_bench_check

from checker.engine import judge, judge_all
from checker.fix import UnfixableError, fix
from harness.cli import main as bench_submit
from reporting.collect import collect
from rules import VERSION
from rules.bundle_format.documents import read_document
from rules.bundle_format.seal import seal
from rules.registry import (
    bundle_rules,
    round_rules,
    rules_by_id,
    study_round_rules,
    study_rules,
)
from rules.rule import FormRule
from rules.testing import tampering as forge

FORMATS = ["text", "json", "junit", "github", "sarif"]


def run_bench_submit(*arguments: str | Path) -> Result:
    return CliRunner().invoke(bench_submit, [str(a) for a in arguments])


def edit_study_json(bundle: Path, **changes: object) -> None:
    path = bundle / "study.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.fixture
def unsigned_study(submissions: Submissions) -> Path:
    bundle = submissions.add_study()
    shutil.rmtree(bundle / "signatures")
    return bundle


def test_study_passes_beside_a_run(submissions: Submissions) -> None:
    run, study = submissions.add(), submissions.add_study()
    result = run_bench_check(submissions.root)
    assert result.exit_code == 0, result.output
    assert f"{study}: pass (study, signed by {PRINCIPAL})" in result.output
    assert f"{run}: pass (closed, signed by {PRINCIPAL})" in result.output
    assert result.output.splitlines()[-1].startswith("2 judged: 2 pass, 0 fail;")


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_has_the_study(submissions: Submissions, output_format: str) -> None:
    bundle = submissions.add_study()
    edit_study_json(bundle, note="")
    result = run_bench_check("--format", output_format, submissions.root)
    assert result.exit_code == 1
    # The changed file is not the signed one, and its new key is none of the schema.
    assert "I101" in result.output and "S107" in result.output
    assert "study.json" in result.output or output_format == "junit"
    if output_format == "json":
        read_document("verdict.json", result.output.encode(), "wattmark-verdict/1")


def test_json_states_the_standing(submissions: Submissions) -> None:
    submissions.add_study()
    document = json.loads(run_bench_check("--format", "json", submissions.root).output)
    read_document("verdict.json", json.dumps(document).encode(), "wattmark-verdict/1")
    (judged,) = document["bundles"]
    assert (judged["standing"], judged["status"], judged["signer"]) == ("study", "pass", PRINCIPAL)


def test_rules_of_runs_and_of_studies_are_run_on_their_own_kind(submissions: Submissions) -> None:
    # A short study is judged as a demo, a standing that runs have too.
    short = copy_study()
    short.study["settings"]["long_s"] = 2.0
    study, run = submissions.add_study(short), submissions.add()
    root = ET.fromstring(run_bench_check("--format", "junit", submissions.root).output)
    not_run = {
        Path(suite.get("name", "")): {
            case.get("name", "").split()[0]
            for case in suite.iter("testcase")
            if case.find("skipped") is not None
        }
        for suite in root
    }
    of_runs = {rule.id for rule in (*bundle_rules(), *round_rules())}
    of_studies = {rule.id for rule in (*study_rules(), *study_round_rules())}
    of_form = {id for id, rule in rules_by_id().items() if isinstance(rule, FormRule)}
    assert not_run[study] >= of_runs and not not_run[study] & of_form
    assert not_run[run] >= of_studies and not not_run[run] & of_form


def test_study_that_is_judged_as_demo_is_marked(submissions: Submissions) -> None:
    short = copy_study()
    short.study["settings"]["long_s"] = 2.0
    bundle = submissions.add_study(short)
    assert f"{bundle}: pass (study, judged as demo, signed by" in run_bench_check(bundle).output
    document = json.loads(run_bench_check("--format", "json", bundle).output)
    read_document("verdict.json", json.dumps(document).encode(), "wattmark-verdict/1")
    assert document["bundles"][0]["judged_standing"] == "demo"


def test_unreadable_study_states_how_many_rules_were_not_run(submissions: Submissions) -> None:
    bundle = submissions.add_study()
    (bundle / "points.csv.gz").unlink()
    verdict = judge(bundle)
    assert verdict.rules_not_run == len(study_rules()) + len(study_round_rules())
    assert (verdict.standing, list_errors(verdict)) == (None, {"S101"})


def test_local_judgement_of_a_study_is_partial(unsigned_study: Path) -> None:
    assert list_errors(judge(unsigned_study)) == {"I105"}
    result = run_bench_check("--local", unsigned_study)
    assert result.exit_code == 4
    assert f"{unsigned_study}: partial (study, local, not signed)" in result.output


def test_signing_a_study_writes_its_place(unsigned_study: Path, submissions: Submissions) -> None:
    result = run_bench_submit(
        "sign", unsigned_study, "--key", submissions.key, "--principal", PRINCIPAL
    )
    assert result.exit_code == 0, result.output
    manifest = json.loads((unsigned_study / "MANIFEST.json").read_text())
    assert (manifest["center"], manifest["system"]) == ("example", "h200")
    assert judge(unsigned_study).status == "pass"


def test_study_counts_only_where_it_was_signed_for(submissions: Submissions) -> None:
    bundle = submissions.add_study()
    moved = submissions.root / "example" / "b200" / bundle.name
    shutil.copytree(bundle, moved)
    assert list_errors(judge(moved)) == {"I129"}


def test_old_manifest_and_old_rule_book_give_a_study_no_place(submissions: Submissions) -> None:
    """Runs of rule books before 1.5.0 may have a manifest without a place. No study is so old."""
    bundle = submissions.add_study()
    edit_study_json(bundle, rules_version="1.4.0")
    seal(bundle)
    manifest = json.loads((bundle / "MANIFEST.json").read_text())
    submissions.reseal(bundle)
    forge.sign_manifest(bundle, {"format": "wattmark-manifest/1", "files": manifest["files"]})
    assert "S106" in list_errors(judge(bundle))


def test_review_acceptance_and_withdrawal_of_a_study(a_round: TrustRound) -> None:
    bundle = a_round.tree.add_study()
    assert a_round.review(bundle).exit_code == 0
    result = run_bench_check("--require", "accepted", a_round.tree.root)
    assert result.exit_code == 1 and "--require asks for accepted" in result.output
    assert run_command("accept", bundle).exit_code == 0
    assert run_bench_check("--require", "accepted", a_round.tree.root).exit_code == 0
    assert judge(bundle).accepted == VERSION
    assert a_round.withdraw(bundle).exit_code == 0
    assert judge(bundle).status == "withdrawn"
    assert run_command("verify", a_round.tree.root).exit_code == 0


def test_waiver_lifts_a_finding_on_a_study(a_round: TrustRound) -> None:
    study = copy_study()
    study.study["sessions"][0]["readbacks"][1]["enforced_mw"] -= 50_000
    bundle = a_round.tree.add_study(study)
    assert list_errors(judge(bundle)) == {"Y124"}
    result = a_round.waive("Y124", bundle)
    assert result.exit_code == 0, result.output
    verdict = judge(bundle)
    assert verdict.status == "pass"
    assert {f.rule for f in verdict.findings if f.waived} == {"Y124"}


def test_findings_of_studies_are_selected_by_their_family(submissions: Submissions) -> None:
    study = copy_study()
    study.study["sessions"][0]["readbacks"][1]["enforced_mw"] -= 50_000
    bundle = submissions.add_study(study)
    assert "Y124" in run_bench_check("--select", "Y", bundle).output
    assert "Y124" not in run_bench_check("--ignore", "Y", bundle).output


def test_nobody_need_reproduce_a_study(submissions: Submissions) -> None:
    bundle = submissions.add_study()
    forge.write_log(bundle, {})
    result = run_bench_check("--require", "reproduced", submissions.root)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({"at": "2025-12-01T00:00:00Z"}, "/ended_at"),
        ({"rules_version": "1.6.0"}, "/rules_version"),
    ],
)
def test_acceptance_that_contradicts_a_study_does_not_count(
    submissions: Submissions, entry: dict[str, str], place: str
) -> None:
    bundle = submissions.add_study()
    forge.write_log(bundle, entry)
    verdict = judge(bundle)
    findings = {(f.rule, f.file, f.pointer) for f in verdict.findings}
    assert ("I126", "study.json", place) in findings and not verdict.accepted


def test_acceptance_is_compared_with_a_study_that_cannot_be_read(submissions: Submissions) -> None:
    bundle = submissions.add_study()
    forge.write_log(bundle, {"rules_version": "1.6.0"})
    (bundle / "points.csv.gz").unlink()
    findings = {(f.rule, f.file) for f in judge(bundle).findings}
    assert findings == {("S101", "points.csv.gz"), ("I126", "study.json")}


def test_accepted_study_that_is_missing_is_found(submissions: Submissions) -> None:
    submissions.add()
    bundle = submissions.add_study()
    forge.write_log(bundle, {})
    shutil.rmtree(bundle)
    verdicts = judge_all([submissions.root]).verdicts
    assert {f.rule for v in verdicts for f in v.findings} == {"I118"}


def test_study_of_an_unknown_key_is_refused(submissions: Submissions, tmp_path: Path) -> None:
    other = Submissions(submissions.root, make_key(tmp_path / "other"))
    assert list_errors(judge(other.add_study())) == {"I107"}


def test_study_in_the_place_of_a_run_and_a_run_with_a_study_file(submissions: Submissions) -> None:
    study, run = submissions.add_study(), submissions.add()
    shutil.copy(run / "result.json", study)
    shutil.copy(study / "study.json", run)
    assert list_errors(judge(study)) == {"I102"}
    assert list_errors(judge(run)) == {"I102"}


def test_fix_computes_the_figures_of_a_study_again(unsigned_study: Path) -> None:
    assert fix(unsigned_study) == []
    original = (unsigned_study / "study.json").read_bytes()
    figures = json.loads(original)["figures"]
    best = figures["results"][0]["best"]
    stated = best["joules_per_image"]
    best["joules_per_image"] = 1.1 * stated
    edit_study_json(unsigned_study, figures=figures)
    (change,) = fix(unsigned_study)
    place = "study.json /figures/results/0/best/joules_per_image"
    assert change == f"{place}: {1.1 * stated} is now {stated}"
    assert (unsigned_study / "study.json").read_bytes() == original
    assert fix(unsigned_study) == []


def test_fix_leaves_figures_of_another_table_of_accuracies(unsigned_study: Path) -> None:
    figures = json.loads((unsigned_study / "study.json").read_text())["figures"]
    figures["fronts"] = []
    edit_study_json(unsigned_study, figures=figures, accuracy={"sha256": "0" * 64})
    seal(unsigned_study)
    fix(unsigned_study)
    assert json.loads((unsigned_study / "study.json").read_text())["figures"] == figures


def test_fix_changes_no_table_of_a_study(unsigned_study: Path) -> None:
    path = unsigned_study / "points.csv.gz"
    path.write_bytes(path.read_bytes()[:-9] + bytes(9))
    with pytest.raises(UnfixableError, match=r"points.csv.gz is not the file"):
        fix(unsigned_study)


def test_study_cannot_be_reproduced(submissions: Submissions, tmp_path: Path) -> None:
    bundle = submissions.add_study()
    result = run_bench_submit("reproduce", bundle, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "this is a study of models, and only a run can be reproduced" in result.output


def test_power_log_cannot_be_attached_to_a_study(unsigned_study: Path, tmp_path: Path) -> None:
    for name in ("log.csv", "meter.toml"):
        (tmp_path / name).write_text("")
    result = run_bench_submit(
        "attach-power",
        unsigned_study,
        tmp_path / "log.csv",
        "--meter-file",
        tmp_path / "meter.toml",
    )
    assert result.exit_code != 0
    assert "the bundle of a study of models" in result.output


def test_report_collects_the_runs_of_a_round_with_a_study(submissions: Submissions) -> None:
    submissions.add()
    submissions.add_study()
    collected = collect([submissions.root])
    assert [row.workload for row in collected.rows] == ["resnet50-train"]
    assert not collected.rejected
