"""`bench-submit reproduce`: the run that it requests, what it refuses, and the way from a signed
run to a reproduced one."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import Submissions, copy_evidence, make_key
from support.bundles import rederive
from support.harness.session_runs import change_plan

from checker import CheckerError
from checker.cli import check
from checker.judging import bundle_judge
from harness.cli import main
from harness.errors import PlanError
from harness.power.source import Device
from harness.reproduce import make_reproduction_request
from harness.run.command import plan_run, simulate_boards
from harness.run.plan import Machine, Original, OriginalReference, Plan, RunRequest
from harness.run.plan_checks import check_plan
from harness.run.planning import make_plan
from harness.system import DESCRIPTION
from rules.declarations.run import RunDeclaration
from rules.declarations.system import SystemDeclaration
from rules.testing import tampering as forge
from rules.testing.mutations import add_twin, lock_sm_clock

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "submissions" / "reference"
BUNDLES = sorted(path.parent for path in COMMITTED.glob("*/*/result.json"))
NO_OPTIONS: dict[str, Any] = dict.fromkeys(("meter", "system", "corpus", "weights", "head"))


def request_reproduction(bundle: Path, seed: int | None = None) -> RunRequest:
    return make_reproduction_request(bundle, seed, node=0, **NO_OPTIONS)


def make_machine(count: int, name: str = "NVIDIA H200", cap_w: float | None = 700.0) -> Machine:
    devices = tuple(Device(f"GPU-of-another-node-{n}", name, "NVIDIA") for n in range(count))
    return Machine("nvidia", "cuda", None, devices, "P0", cap_w)


def plan(run_request: RunRequest, machine: Machine | None = None) -> Plan:
    machine = machine or make_machine(run_request.gpus)
    return make_plan(run_request, machine, dict(DESCRIPTION), "0" * 64)


@pytest.fixture
def good_request(submissions: Submissions) -> RunRequest:
    return request_reproduction(submissions.add())


def alter_original(run_request: RunRequest, part: str, **changes: Any) -> RunRequest:
    """The request with other statements of the original in `settings`, `implementation` or the
    run itself."""
    assert run_request.original is not None
    run = run_request.original.run
    altered = (
        replace(run, **{part: replace(getattr(run, part), **changes)})
        if part
        else replace(run, **changes)
    )
    return replace(run_request, original=replace(run_request.original, run=altered))


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.name)
def test_reproduction_of_a_committed_bundle_has_its_configuration(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Open runs of own code need its file.
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    result, system = (
        json.loads((bundle / name).read_text()) for name in ("result.json", "system.json")
    )
    run_request = request_reproduction(bundle)
    board = system["nodes"][0]["accelerators"][0]["name"]
    reproduction = plan(run_request, make_machine(run_request.gpus, board))
    settings, implementation = result["settings"], result["implementation"]
    configuration = reproduction.configuration
    assert (configuration.workload, configuration.size, reproduction.standing) == tuple(
        result[name] for name in ("workload", "size", "standing")
    )
    assert (configuration.implementation, configuration.variant) == (
        implementation["name"],
        implementation["variant"],
    )
    assert configuration.batch_size == settings["batch_size"]
    assert configuration.seed == settings["seed"]
    assert len(reproduction.devices) * reproduction.nodes == settings["accelerators"]
    assert dict(configuration.options) == settings.get("options", {})
    assert reproduction.cap_w == result["power"]["cap_w"]
    requests = configuration.requests and vars(configuration.requests)
    stated_requests = settings.get("requests")
    # Earlier bundles do not state whether the lengths are uniform.
    assert requests == (stated_requests and {"uniform": False, **stated_requests})
    is_control = result["standing"] == "control"
    assert configuration.epoch_s == (settings["epoch_target_s"] if is_control else 31.5)


def test_newest_challenge_gives_the_seed(
    submissions: Submissions, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = submissions.add()
    forge.add_challenge(bundle, 17, "first@third.example", issued_at="2026-01-02T00:00:00Z")
    forge.add_challenge(
        bundle, 4_000_000_000, "last@third.example", issued_at="2026-01-03T00:00:00Z"
    )
    assert plan(request_reproduction(bundle)).configuration.seed == 4_000_000_000
    assert "seed 4000000000 of the challenge by last@third.example" in capsys.readouterr().err


def test_reproduction_of_a_smoke_run_is_one(
    good_request: RunRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = alter_original(good_request, "", size="smoke").original
    monkeypatch.setattr("harness.reproduce._read_original", lambda _: (original, {}, ()))
    assert request_reproduction(Path()).smoke and not good_request.smoke


def test_seed_of_a_reviewer_replaces_that_of_the_original(submissions: Submissions) -> None:
    assert (
        plan(request_reproduction(submissions.add(), seed=20261122)).configuration.seed == 20261122
    )


def test_reproduction_locks_the_sm_clock_of_the_original(submissions: Submissions) -> None:
    evidence = copy_evidence()
    lock_sm_clock(evidence, 1200)
    rederive(evidence)
    assert request_reproduction(submissions.add(evidence)).sm_clock_mhz == 1200


def test_plan_keeps_the_original_when_it_is_read_again(
    good_request: RunRequest, tmp_path: Path
) -> None:
    planned = plan(good_request)
    planned.save(tmp_path)
    assert planned.reproduces is not None
    assert Plan.load(tmp_path).reproduces == planned.reproduces


def test_boards_of_another_kind_are_refused(good_request: RunRequest) -> None:
    with pytest.raises(PlanError, match="NVIDIA H200, and the accelerators here are NVIDIA H100"):
        plan(good_request, make_machine(2, "NVIDIA H100 80GB HBM3"))


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("", {"standing": "open"}, "has the standing open, and the run here would have closed"),
        ("", {"protocol": "0.9"}, "follows protocol 0.9"),
        ("implementation", {"sha256": "ab" * 32}, "the file has another SHA-256 than in example"),
        ("settings", {"corpus_sha256": "ab" * 32}, "--corpus: the original read a file with"),
        ("settings", {"weights": f"sha256:{'ab' * 32}"}, "--weights: the original read a file"),
        ("power", {"cap_w": None}, "ran without a power cap, and 700 W is in force"),
    ],
)
def test_run_that_would_have_another_configuration_is_refused(
    good_request: RunRequest, part: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        plan(alter_original(good_request, part, **changes))


def test_corpus_must_be_that_of_the_original(good_request: RunRequest, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("another text")
    with pytest.raises(PlanError, match="the original read no such file; leave out --corpus"):
        plan(replace(good_request, corpus=corpus))
    altered = alter_original(good_request, "settings", corpus_sha256="ab" * 32)
    with pytest.raises(PlanError, match="not the file of the original, whose SHA-256 is abab"):
        plan(replace(altered, corpus=corpus))


def test_board_of_the_original_gives_a_remark(good_request: RunRequest) -> None:
    planned = plan(good_request)
    assert not any("X120" in check.result for check in check_plan(planned))
    assert good_request.original is not None
    uuid = good_request.original.reference.boards[0]
    same_board = replace(planned.devices[0], uuid=uuid)
    checks = check_plan(change_plan(planned, devices=(same_board,)))
    (remark,) = (check for check in checks if "X120" in check.result)
    assert remark.result.startswith(f"{uuid}: the original ran on this accelerator")
    assert remark.ok is None


def test_original_on_two_nodes_asks_for_the_address_of_the_first(submissions: Submissions) -> None:
    evidence = copy_evidence()
    add_twin(evidence, node="node1")
    rederive(evidence)
    bundle = submissions.add(evidence)
    with pytest.raises(PlanError, match="ran on 2 nodes; start this command on each of them"):
        request_reproduction(bundle)
    options = {**NO_OPTIONS, "head": "node0:29500"}
    run_request = make_reproduction_request(bundle, None, node=1, **options)
    assert (run_request.nodes, run_request.node) == (2, 1)


def reproduce(bundle: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["reproduce", str(bundle), *options])


def test_bundle_that_fails_is_refused_with_its_findings(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle = submissions.add()
    (bundle / "system.json").write_bytes((bundle / "system.json").read_bytes() + b"\n")
    result = reproduce(bundle, "-o", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "only a bundle that passes can be reproduced" in result.output
    assert "I101 system.json" in result.output
    assert not (tmp_path / "out").exists()


def test_machine_that_cannot_have_the_cap_of_the_original_is_refused(
    good_request: RunRequest, tmp_path: Path
) -> None:
    run_request = replace(good_request, simulate="h200", cap_w=900.0)
    message = r"example/h200x2/\S+ cannot be reproduced here: --cap 900: SIM-H200-0 can be set to"
    with simulate_boards("h200"), pytest.raises(PlanError, match=message):
        plan_run(run_request, tmp_path)


def test_directory_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    result = reproduce(tmp_path)
    assert result.exit_code == 2
    assert "S101" in result.output


def test_node_without_ssh_keygen_reproduces_and_says_so(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise CheckerError("ssh-keygen is not installed")

    bundle = submissions.add()
    monkeypatch.setattr(bundle_judge, "establish_trust", fail)
    original = request_reproduction(bundle).original
    assert original is not None and original.reference.run_id == bundle.name
    assert "is not verified: ssh-keygen is not installed" in capsys.readouterr().err


def test_other_software_than_that_of_the_original_is_named_and_not_refused(
    submissions: Submissions, capsys: pytest.CaptureFixture[str]
) -> None:
    evidence = copy_evidence()
    evidence.environment["packages"] = {"torch": "1.0.0", "numpy": "1.0.0"}
    request_reproduction(submissions.add(evidence))
    output = capsys.readouterr().err
    assert "other software than the original: numpy 1.0.0 there, " in output


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_simulated_run_that_another_center_repeats_is_reproduced(
    tmp_path: Path,
) -> None:
    """Run, sign, reproduce with the seed of a challenge, sign with a second key, check."""
    submissions = Submissions(tmp_path / "submissions", make_key(tmp_path / "first"))
    second_key = make_key(tmp_path / "second")
    submissions.allow(submissions.key, "alpha@one.example.org")
    submissions.allow(second_key, "beta@two.example.org")
    first_out, second_out = (submissions.root / name / "h200" for name in ("alpha", "beta"))
    run = ["run", "resnet50-train", "--simulate", "h200", "--epoch-seconds", "0.5"]
    original = call_harness(first_out, *run)
    sign(original, submissions.key, "alpha@one.example.org")
    dry_run = CliRunner().invoke(main, ["reproduce", str(original), "--dry-run"])
    assert dry_run.exit_code == 0 and "the run can start" in dry_run.output
    assert "ok  meter: simulated:h200, 1 x " in dry_run.output
    forge.add_challenge(original, 20261122)
    reproduction = call_harness(second_out, "reproduce", str(original))
    sign(reproduction, second_key, "beta@two.example.org")
    result = json.loads((reproduction / "result.json").read_text())
    assert result["settings"]["seed"] == 20261122
    assert result["reproduces"]["path"] == f"alpha/h200/{original.name}"
    checked = CliRunner().invoke(check, [str(submissions.root)])
    assert checked.exit_code == 0, checked.output
    assert "  reproduced by 1 center: " in checked.output
    assert f"  reproduces {original}: " in checked.output


def call_harness(out: Path, *arguments: str) -> Path:
    """The bundle that a command of bench-submit writes to `out`."""
    result = CliRunner().invoke(main, [*arguments, "-o", str(out)])
    assert result.exit_code == 0, result.output
    (bundle,) = out.iterdir()
    return bundle


def sign(bundle: Path, key: Path, principal: str) -> None:
    arguments = ["sign", str(bundle), "--key", str(key), "--principal", principal]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output


def test_original_names_only_the_boards_that_worked() -> None:
    evidence = copy_evidence()
    idle = {**evidence.system["nodes"][0]["accelerators"][0], "uuid": "GPU-idle", "name": "idle"}
    evidence.system["nodes"][0]["accelerators"].append(idle)
    run = RunDeclaration.from_document(evidence.result)
    boards = tuple(uuid for rank in run.ranks for uuid in rank.accelerators)
    reference = OriginalReference(run.run_id, "example/h200x2/run", "0" * 64, boards)
    system = SystemDeclaration.from_document(evidence.system)
    assert Original(reference, run, system).board_names == {"NVIDIA H200"}
