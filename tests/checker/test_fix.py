"""`bench-check --fix`: what it makes anew before a bundle is signed, and what it leaves as it
is."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import PRINCIPAL, Submissions, copy_evidence

from checker.cli import check
from checker.engine import judge
from checker.fix import UnfixableError, fix
from harness.sign import sign
from rules.bundle_format import seal
from rules.bundle_format.records import MANIFEST_FILE, RUN
from rules.testing.cases.node.idle_contradicts_evidence import record_idle

ROOT = Path(__file__).parents[2]


def run_bench_fix(*arguments: str | Path) -> Result:
    return CliRunner().invoke(check, ["--fix", *map(str, arguments)])


@pytest.fixture
def unsigned(submissions: Submissions) -> Path:
    bundle = submissions.add()
    shutil.rmtree(bundle / "signatures")
    return bundle


def read_contents(bundle: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(bundle)): path.read_bytes()
        for path in sorted(bundle.rglob("*"))
        if path.is_file()
    }


def reformat(path: Path) -> None:
    """The same content in another form: other spaces, other order of keys."""
    path.write_text(json.dumps(dict(reversed(json.loads(path.read_text()).items())), indent=4))


def alter(bundle: Path, change: Callable[[dict], None]) -> None:
    result = json.loads((bundle / "result.json").read_text())
    change(result)
    (bundle / "result.json").write_text(json.dumps(result))


def test_bundle_as_the_run_wrote_it_is_not_touched(unsigned: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in unsigned.iterdir()}
    assert fix(unsigned) == []
    assert {path: path.stat().st_mtime_ns for path in unsigned.iterdir()} == before


@pytest.mark.parametrize("name", [MANIFEST_FILE, *RUN.documents])
def test_form_of_json_is_made_anew(unsigned: Path, name: str) -> None:
    original = read_contents(unsigned)
    reformat(unsigned / name)
    assert [change.split(":")[0] for change in fix(unsigned)] == [name]
    assert read_contents(unsigned) == original


def test_manifest_follows_what_was_made_anew(unsigned: Path) -> None:
    original = read_contents(unsigned)
    manifest = json.loads((unsigned / MANIFEST_FILE).read_text())
    (entry,) = (entry for entry in manifest["files"] if entry["path"] == "system.json")
    entry["sha256"] = "0" * 64
    (unsigned / MANIFEST_FILE).write_text(json.dumps(manifest))
    assert fix(unsigned) == ["MANIFEST.json: written again"]
    assert read_contents(unsigned) == original


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"format": "wattmark-manifest/1"}'])
def test_without_the_manifest_of_the_run_nothing_is_sealed(
    unsigned: Path, content: str | None
) -> None:
    """Or samples of another run, put beside the figures of this one, would be taken for its own."""
    (unsigned / MANIFEST_FILE).unlink()
    if content is not None:
        (unsigned / MANIFEST_FILE).write_text(content)
    before = read_contents(unsigned)
    with pytest.raises(UnfixableError, match=r"run again"):
        fix(unsigned)
    assert read_contents(unsigned) == before


def test_figures_are_recomputed_and_told(unsigned: Path, submissions: Submissions) -> None:
    original = read_contents(unsigned)

    def spoil(result: dict) -> None:
        result["headline"]["joules_per_item"]["mean"] = 1.5
        result["epochs"][3]["figures"]["items_per_s"] *= 2
        result["observed"][0]["cap_enforced"] = None

    alter(unsigned, spoil)
    cli_result = run_bench_fix(unsigned)
    assert read_contents(unsigned) == original
    assert "result.json /headline/joules_per_item/mean: 1.5 is now " in cli_result.stderr
    assert cli_result.stderr.count("\n") == 3
    assert cli_result.exit_code == 1  # nobody has signed it yet
    assert "I105" in cli_result.stdout and "T102" not in cli_result.stdout
    sign(unsigned, submissions.key, PRINCIPAL)
    assert judge(unsigned).status == "pass"


def test_what_was_declared_is_kept(unsigned: Path) -> None:
    alter(unsigned, lambda result: result["settings"].update(seed=99))
    alter(unsigned, lambda result: result["epochs"][2].update({"x-note": "kept"}))
    stated = json.loads((unsigned / "result.json").read_text())
    alter(unsigned, lambda result: result["epochs"][3]["figures"].update(mfu=7.0))
    assert len(fix(unsigned)) == 2
    assert json.loads((unsigned / "result.json").read_text()) == stated
    assert "I101" not in {f.rule for f in judge(unsigned).findings}


def test_signed_bundle_is_left_alone(submissions: Submissions) -> None:
    bundle = submissions.add()
    reformat(bundle / "result.json")
    before = read_contents(bundle)
    result = run_bench_fix(submissions.root)
    assert (result.exit_code, "not fixed" in result.stderr, "it is signed" in result.stderr) == (
        1,
        True,
        True,
    )
    assert read_contents(bundle) == before


def test_nothing_to_fix_is_no_refusal(submissions: Submissions) -> None:
    submissions.add()
    result = run_bench_fix(submissions.root)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "not fixed" not in result.stdout


def test_refusal_is_no_success_even_where_all_pass(submissions: Submissions) -> None:
    bundle = submissions.add()
    reformat(bundle / "system.json")
    submissions.reseal(bundle)
    assert judge(bundle).status == "pass"
    result = run_bench_fix(submissions.root)
    assert (result.exit_code, "it is signed" in result.stderr) == (1, True)
    assert "1 pass, 0 fail, 1 not fixed;" in result.stdout.splitlines()[-1]


@pytest.mark.parametrize("name", sorted(RUN.required_files - RUN.documents.keys()))
@pytest.mark.parametrize(
    "spoil", [lambda p: p.write_bytes(p.read_bytes()[:-9] + bytes(9)), Path.unlink]
)
def test_evidence_is_never_made_anew(
    unsigned: Path, name: str, spoil: Callable[[Path], None]
) -> None:
    spoil(unsigned / name)
    before = read_contents(unsigned)
    with pytest.raises(UnfixableError, match=name):
        fix(unsigned)
    assert read_contents(unsigned) == before


def test_samples_of_another_run_are_not_taken_in(unsigned: Path, submissions: Submissions) -> None:
    """They can be read, but they are not what the manifest lists."""
    evidence = copy_evidence()
    evidence.samples["power_mw"] += 1
    other_bundle = submissions.add(evidence, run_id="another-run")
    shutil.copy(other_bundle / "samples.csv.gz", unsigned)
    with pytest.raises(UnfixableError, match=r"samples.csv.gz is not the file that the run wrote"):
        fix(unsigned)


def test_evidence_that_the_manifest_does_not_list_is_not_taken_in(unsigned: Path) -> None:
    manifest = json.loads((unsigned / MANIFEST_FILE).read_text())
    manifest["files"] = [entry for entry in manifest["files"] if entry["path"] != "samples.csv.gz"]
    (unsigned / MANIFEST_FILE).write_text(json.dumps(manifest))
    with pytest.raises(
        UnfixableError, match=r"samples.csv.gz is evidence that the manifest does not list"
    ):
        fix(unsigned)


def test_links_are_not_followed(unsigned: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    shutil.move(unsigned / "result.json", outside)
    reformat(outside)
    before = outside.read_bytes()
    (unsigned / "result.json").symlink_to(outside)
    with pytest.raises(UnfixableError, match="symbolic link"):
        fix(unsigned)
    assert outside.read_bytes() == before
    link = tmp_path / "link"
    link.symlink_to(unsigned)
    with pytest.raises(UnfixableError, match="symbolic link"):
        fix(link)


def test_writing_replaces_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("stays")
    (tmp_path / "file").symlink_to(tmp_path / "outside")
    seal.write_durable(tmp_path / "file", b"new")
    assert [(tmp_path / name).read_text() for name in ("file", "outside")] == ["new", "stays"]
    assert len(list(tmp_path.iterdir())) == 2


def test_disk_that_is_full_is_told_and_nothing_is_left_behind(
    unsigned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reformat(unsigned / "result.json")
    before = read_contents(unsigned)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run_bench_fix(unsigned)
    assert (
        result.exit_code,
        "No space left on device" in result.stderr,
        "Traceback" in result.stderr,
    ) == (1, True, False)
    assert read_contents(unsigned) == before


def test_published_figures_are_left_alone(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "submissions" / "published", tmp_path / "published")
    assert "fixed" not in run_bench_fix(tmp_path).output
    before = read_contents(ROOT / "submissions" / "published")
    assert read_contents(tmp_path / "published") == before


def test_epochs_that_the_tables_do_not_have_are_refused(unsigned: Path) -> None:
    alter(unsigned, lambda result: result["epochs"].pop())
    with pytest.raises(UnfixableError, match="other epochs"):
        fix(unsigned)


def test_idle_power_is_made_anew_and_that_of_unused_boards_is_kept(
    submissions: Submissions,
) -> None:
    evidence = copy_evidence()
    record_idle(evidence)
    unused = {**evidence.result["idle"][0], "accelerator": "GPU-unused", "used": False}
    evidence.result["idle"].append(unused)
    bundle = submissions.add(evidence)
    shutil.rmtree(bundle / "signatures")
    original = read_contents(bundle)

    def halve_idle_power(result: dict) -> None:
        result["idle"][0]["resident_w"] /= 2
        result["phases"][0]["energy_j"] /= 2

    alter(bundle, halve_idle_power)
    assert [change.split(": ")[0] for change in fix(bundle)] == [
        "result.json /idle/0/resident_w",
        "result.json /phases/0/energy_j",
    ]
    assert read_contents(bundle) == original
