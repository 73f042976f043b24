"""What a study does with models that fail, workers that die, and boards that fail."""

import gzip
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.harness import fake_study_worker as fake
from support.harness.session_runs import TESTS

from checker.engine import judge
from harness.cli import main
from harness.errors import PlanError
from harness.run.plan import RunRequest
from harness.run.session import RunFailed
from harness.studies import command
from harness.studies.boards import worker_process
from harness.studies.plan import StudyEntry
from harness.studies.planning import StudyRequest
from harness.studies.records import FAILED_PREFIX
from harness.system import hash_source
from rules.bundle_format.csv_table import read_table
from rules.bundle_format.records import SAMPLES_FILE, STUDY
from rules.bundle_format.seal import seal
from rules.bundle_format.study_records import POINTS_FILE, STUDY_FILE
from rules.bundle_format.table import Table
from rules.studies.bundle import StudyBundle
from rules.studies.order import order_work

pytestmark = pytest.mark.xdist_group("signals")
LONG_S = 0.2
SOUND = "resnet50@224"
LOG_ADVICE = "the log has its output"


@pytest.fixture(autouse=True)
def fake_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    use_fake_workers(monkeypatch)


def use_fake_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setattr(worker_process, "MODULE", fake.__name__)
    # A busy machine may delay a sound worker by seconds.
    monkeypatch.setattr(worker_process, "BUILD_TIMEOUT_S", 3.0)
    monkeypatch.setattr(worker_process, "SLACK", 0.1)


def make_request(models: str | None, gpus: int = 1) -> StudyRequest:
    run = RunRequest("image-inference", simulate="h200", gpus=gpus)
    return StudyRequest(run, models=models, long_s=None if models is None else LONG_S)


def run_study(out: Path, request: StudyRequest, resume: Path | None = None) -> Path:
    command.run(request, resume, out)
    (bundle,) = (path for path in out.iterdir() if not path.name.startswith("."))
    return bundle


def read_points(bundle: Path) -> Table:
    return read_table(POINTS_FILE, gzip.decompress((bundle / POINTS_FILE).read_bytes()), STUDY)


def read_samples(bundle: Path) -> Table:
    return read_table(SAMPLES_FILE, gzip.decompress((bundle / SAMPLES_FILE).read_bytes()), STUDY)


def read_outcomes(bundle: Path) -> dict[str, tuple[str, str | None]]:
    study = json.loads((bundle / "study.json").read_text())
    return {work["architecture"]: (work["status"], work["reason"]) for work in study["work"]}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a study with a sound model, and one of each fault."""
    names = (fake.REFUSED, fake.LARGE, fake.DYING, fake.HANGING, fake.FAILING)
    models = ",".join((SOUND, *(f"{name}@224" for name in names)))
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_fake_workers(monkeypatch)
        return run_study(tmp_path_factory.mktemp("faulty"), make_request(models))


def test_models_that_fail_are_skipped_with_their_reason(faulty: Path) -> None:
    assert read_outcomes(faulty) == {
        "resnet50": ("measured", None),
        fake.REFUSED: ("skipped", "no such size"),
        fake.LARGE: ("skipped", "out-of-memory at batch 1; the log has the error"),
        fake.DYING: ("skipped", f"{FAILED_PREFIX}the worker ended with status 7; {LOG_ADVICE}"),
        fake.HANGING: ("skipped", f"{FAILED_PREFIX}the worker did not answer within 3 s"),
        fake.FAILING: ("skipped", f"{FAILED_PREFIX}the worker failed: RuntimeError: CUDA error"),
    }
    points = read_points(faulty)
    assert points.text("architecture").distinct() == ["resnet50"]
    rows = zip(*(points.text(name).to_list() for name in ("kind", "outcome")), strict=True)
    ladder = [("ladder", "ok"), ("ladder", "ok"), ("ladder", "out-of-memory")]
    long_points = [("long", "ok")] * 2
    anchor = [("anchor", "ok")]
    assert list(rows) == [*ladder, *anchor, *ladder, *long_points, *anchor]
    log = gzip.decompress((faulty / "log.txt.gz").read_bytes()).decode()
    assert "a line of a library" in log
    environment = json.loads((faulty / "environment.json").read_text())
    assert (environment["source_sha256"], environment["driver"]) == (hash_source(), "simulated")


def test_resume_tries_only_models_again_whose_worker_died(
    faulty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(fake.SOUND_VARIABLE, "1")
    monkeypatch.setattr(command, "hash_implementation", lambda name: "a" * 64)
    bundle = run_study(tmp_path, make_request(None, gpus=2), faulty)
    outcomes = read_outcomes(bundle)
    skipped = {name for name, (status, _) in outcomes.items() if status == "skipped"}
    assert skipped == {fake.REFUSED, fake.LARGE}
    before, after = read_points(faulty), read_points(bundle)
    second = after.at(after.ints("session") == 1)
    tried_again = {fake.DYING, fake.HANGING, fake.FAILING}
    assert set(second.text("architecture").distinct()) == {"resnet50", *tried_again}
    # The rows of the earlier session are those of the earlier bundle.
    kept = after.at(slice(0, len(before)))
    assert all((kept.ints(name) == before.ints(name)).all() for name in ("start_ns", "items"))
    times_ns = [read_samples(path).ints("read_ns") for path in (faulty, bundle)]
    assert (times_ns[1][: len(times_ns[0])] == times_ns[0]).all()
    logs = [gzip.decompress((path / "log.txt.gz").read_bytes()) for path in (faulty, bundle)]
    assert logs[1].startswith(logs[0]) and len(logs[1]) > len(logs[0])
    # A session that other code measured says so.
    sessions = json.loads((bundle / "study.json").read_text())["sessions"]
    assert [s["versions"].get("implementation") for s in sessions] == [None, "a" * 64]
    # Both boards of the second session begin with the anchor, at the batch size that the first
    # session has found, without a ladder.
    kinds = second.at(second.text("architecture").equals("resnet50")).text("kind")
    assert kinds.distinct() == ["anchor"]
    anchors = second.at(second.text("kind").equals("anchor"))
    assert len(anchors.text("accelerator").distinct()) == 2
    assert set(anchors.ints("batch").tolist()) == {2}
    assert anchors.ints("repeat").tolist() == list(range(2, 2 + len(anchors)))
    with pytest.raises(PlanError, match="nothing is left to measure"):
        run_study(tmp_path / "again", make_request(None), bundle)


def test_anchor_that_cannot_be_measured_ends_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(fake.REFUSING_VARIABLE, "resnet50")
    with pytest.raises(RunFailed, match=r"the anchor resnet50@224 .*: no such size"):
        run_study(tmp_path, make_request("resnet101@224"))
    assert "--resume" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--engine", "eager"), "--engine: the study .* has cudagraph"),
        (("--precision", "fp32"), "--precision: the study .* has bf16"),
        (("--seed", "7"), "--seed: the study .* has 1"),
        (("--full",), "--full: the study .* has False"),
        (("--cap", "500"), "at a cap of 700 W, and here it is 500 W"),
        (("--simulate", "h100"), "boards of the same kind"),
        (("--models", "resnet50x"), "--models 'resnet50x': no such model"),
        (("--accuracy", "none.csv"), "none.csv: No such file"),
    ],
)
def test_resume_refuses_another_study(
    faulty: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    result = invoke("--resume", str(faulty), *options, "--out", str(tmp_path / "out"))
    assert result.exit_code in (2, 3)
    assert re.search(message, join_lines(result.output)), result.output
    assert not (tmp_path / "out").exists()


def test_resume_refuses_what_is_no_intact_study(
    faulty: Path, tmp_path: Path, sealed_bundle: Callable[..., Path]
) -> None:
    missing = invoke("--resume", str(tmp_path / "none"))
    assert "there is no such directory" in join_lines(missing.output)
    for directory in (tmp_path, sealed_bundle()):
        output = join_lines(invoke("--resume", str(directory)).output)
        assert "no bundle of a study: study.json is missing" in output
    unplanned = tmp_path / ".study.running"
    unplanned.mkdir()
    assert "no plan of a study there" in join_lines(invoke("--resume", str(unplanned)).output)
    edited = tmp_path / "edited"
    shutil.copytree(faulty, edited)
    (edited / "study.json").write_text((edited / "study.json").read_text() + "\n")
    assert "the bundle is not intact" in join_lines(invoke("--resume", str(edited)).output)


def test_resume_with_models_measures_these_alone_in_the_order_of_the_seed(
    faulty: Path, tmp_path: Path
) -> None:
    names = f"resnet50@224,vgg1*@224,{fake.DYING}@224"
    options = ("--models", names, "--dry-run", "--out", str(tmp_path / "out"))
    result = invoke("--resume", str(faulty), *options)
    left = re.findall(r"^ +\d+  (\S+)@224 cudagraph bf16$", result.output, re.MULTILINE)
    assert {fake.DYING, "vgg16"} < set(left)
    assert not {"resnet50", fake.HANGING} & set(left)
    entries = [StudyEntry(name, 224, "cudagraph", "bf16") for name in left]
    assert order_work(entries, seed=1) == entries
    # Models that the study has already are not named twice.
    options = ("--models", f"{fake.DYING}@224", "--dry-run", "--out", str(tmp_path / "out"))
    named = re.search(r"6 models: (.*); 1 sel", invoke("--resume", str(faulty), *options).output)
    assert named and named[1].count(fake.DYING) == 1


def test_resume_measures_models_of_several_sessions_in_the_order_of_the_seed(
    faulty: Path, tmp_path: Path
) -> None:
    """A bundle lists its entries by session."""
    bundle = tmp_path / "bundle"
    shutil.copytree(faulty, bundle, ignore=shutil.ignore_patterns("signatures"))
    document = json.loads((bundle / STUDY_FILE).read_text())
    document["work"].reverse()
    (bundle / STUDY_FILE).write_text(json.dumps(document))
    seal(bundle)
    output = invoke("--resume", str(bundle), "--dry-run", "--out", str(tmp_path / "out")).output
    left = re.findall(r"^ +\d+  (\S+)@224 cudagraph bf16$", output, re.MULTILINE)
    assert left == [fake.DYING, fake.HANGING, fake.FAILING]


def test_resume_with_measured_models_alone_is_refused(faulty: Path, tmp_path: Path) -> None:
    result = invoke("--resume", str(faulty), "--models", SOUND, "--out", str(tmp_path / "out"))
    assert "nothing is left to measure in this study" in join_lines(result.output)


def test_dry_run_lists_what_is_left_and_measures_nothing(faulty: Path, tmp_path: Path) -> None:
    result = invoke("--resume", str(faulty), "--dry-run", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    left = re.findall(r"^ +\d+  (\S+)@224 cudagraph bf16$", result.output, re.MULTILINE)
    assert left == [fake.DYING, fake.HANGING, fake.FAILING]
    assert "expected time: about" in result.output
    assert not (tmp_path / "out").exists()


def dry_run(tmp_path: Path, *options: str) -> tuple[list[str], str]:
    """The models that a dry run lists, and its output."""
    arguments = ("--simulate", "h200", "--models", "vgg1*@224", "--dry-run", *options)
    result = invoke(*arguments, "--seed", "1", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    return re.findall(r"^ +\d+  (\S+)@224", result.output, re.MULTILINE), result.output


def test_dry_run_follows_the_budget(tmp_path: Path) -> None:
    models, _ = dry_run(tmp_path)
    listed, output = dry_run(tmp_path, "--budget", "5m")
    assert 0 < len(listed) < len(models) and listed == models[: len(listed)]
    excess = len(models) - len(listed)
    assert f"{excess} models beyond the budget, for a session with --resume" in output
    minutes = re.search(r"expected time: about (\d+) min", output)
    assert minutes and int(minutes[1]) <= 5
    assert dry_run(tmp_path, "--budget", "10s")[0] == []
    assert dry_run(tmp_path, "--budget", "9h")[0] == models


def test_dry_run_expects_more_time_of_full_ladders(tmp_path: Path) -> None:
    usual_s, full_s = (
        int(re.search(r"assuming (\d+) s for each entry", dry_run(tmp_path, *options)[1])[1])
        for options in ((), ("--full",))
    )
    assert full_s > usual_s


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["study", "image-inference", *arguments])


def join_lines(output: str) -> str:
    return " ".join(output.split())


def stop_sampler(bundle: Path, architecture: str) -> None:
    """Remove the samples in the last window of a model, and seal the bundle again."""
    points = read_points(bundle)
    last = points.at(points.text("architecture").equals(architecture).nonzero()[0][-1:])
    start_ns, end_ns = (int(last.ints(name)[0]) for name in ("start_ns", "end_ns"))
    header, *rows = gzip.decompress((bundle / SAMPLES_FILE).read_bytes()).decode().splitlines()
    time_place = header.split(",").index("read_ns")
    kept = [row for row in rows if not start_ns < int(row.split(",")[time_place]) < end_ns]
    text = "\n".join([header, *kept]) + "\n"
    (bundle / SAMPLES_FILE).write_bytes(gzip.compress(text.encode(), mtime=0))
    seal(bundle)


def list_unsampled(bundle: Path) -> list[str]:
    findings = judge(bundle, signed=False).findings
    return [finding.found for finding in findings if finding.rule == "Y110"]


def test_resume_measures_a_model_again_whose_samples_have_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = ("resnet14t", "resnet26d")
    request = make_request(",".join(f"{model}@224" for model in models))
    # Long enough for a gap that does not reach into the next window.
    first = run_study(tmp_path / "first", replace(request, long_s=0.6))
    stop_sampler(first, "resnet14t")
    # A study with short windows is judged as a demo, which Y110 does not judge.
    monkeypatch.setattr(StudyBundle, "judged_standing", "study")
    assert any("resnet14t@224" in found for found in list_unsampled(first))
    second = run_study(tmp_path / "second", make_request(None), first)
    before, after = read_points(first), read_points(second)
    sessions = {
        model: set(after.ints("session")[after.text("architecture").equals(model)].tolist())
        for model in models
    }
    assert sessions == {"resnet14t": {1}, "resnet26d": {0}}
    assert not list_unsampled(second)
    assert read_outcomes(second) == dict.fromkeys(models, ("measured", None))
    kept = before.at(~before.text("architecture").equals("resnet14t"))
    first_session = after.at(after.ints("session") == 0)
    for name in ("start_ns", "end_ns", "items", "batch"):
        assert first_session.ints(name).tolist() == kept.ints(name).tolist()
