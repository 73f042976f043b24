"""The options of `bench-submit run`, what is refused with a reason, and what a plan states."""

import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from support.harness.node_power import METER
from support.harness.session_runs import TESTS, carry_out, change_plan, find_bundles, make_test_plan

from harness import checks
from harness.cli import main
from harness.power import sources
from harness.power.caps.restore import RestoreError
from harness.power.sources import open_source
from harness.run import cluster, command
from harness.run.plan import Machine, RunRequest
from harness.run.plan_checks import check_plan
from harness.run.planning import make_plan
from harness.run.session import RunFailed
from harness.system import DESCRIPTION, hash_source

pytestmark = pytest.mark.xdist_group("run-options")


@pytest.fixture(autouse=True)
def workers_find_the_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


SMOKE = "resnet50-train --smoke --simulate h200"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "resnet51-train",
            "there is no workload 'resnet51-train'; there are burn, llama3-8b-pretrain",
        ),
        (f"{SMOKE} --implementation no.such:build", "there is no module no.such"),
        (f"{SMOKE} --implementation tiny", "give package.module:function"),
        (f"{SMOKE} --option fast", "--option fast: give KEY=VALUE"),
        (f"{SMOKE} --request-rate 3", "--request-rate: resnet50-train serves no"),
        (f"{SMOKE} --corpus nowhere.txt", "--corpus nowhere.txt: the path does not exist"),
        ("resnet50-train --variant fast", "has no variant 'fast'; it has baseline, tuned"),
        ("resnet50-train --simulate b300", "no simulated accelerator 'b300'"),
        (f"{SMOKE} --gpus 9", "--gpus 9: the meter sees 8 accelerator"),
        (f"{SMOKE} --cap 100", "--cap 100: SIM-H200-0 can be set to 200 to 700 W"),
        (f"{SMOKE} --cap warm", "warm: give watts, such as 400, or as-found"),
        (f"{SMOKE} --cap nan", "nan: give watts, such as 400, or as-found"),
        (f"{SMOKE} --sm-clock 100", "the nearest are 345 and 360 MHz"),
        (
            "resnet50-train --smoke --simulate mi300x --sm-clock 1200",
            "--sm-clock 1200: SIM-MI300X-0 has no lock; leave out --sm-clock",
        ),
        (f"{SMOKE} --batch many", "--batch many: give a number"),
        (
            "resnet50-train --simulate h200 --concurrency 8",
            "resnet50-train serves no requests; give --batch instead",
        ),
        (
            "llama3-8b-serve --simulate h200 --concurrency many",
            "--concurrency many: give a number of requests of at least 1, or auto",
        ),
        (
            "llama3-8b-serve --simulate h200 --concurrency 8 --batch 8",
            "--batch and --concurrency are one setting of a server; give one",
        ),
        (
            f"{SMOKE} --system none.toml",
            "--system none.toml: cannot be read (No such file or directory)",
        ),
        (
            f"{SMOKE} --meters none.toml",
            "--meters none.toml: the description of the system (--system) declares no [[meter]]",
        ),
        (
            "--resume nowhere",
            "nowhere: no plan of a run there; an unfinished run is the hidden directory",
        ),
        (
            "resnet50-train --seed 4294967295 --resume x",
            "takes the plan of the run as it is; leave out workload, --seed",
        ),
        (f"{SMOKE} --epoch-seconds nan", "--epoch-seconds nan: give a number"),
        ("", "name a workload"),
    ],
)
def test_a_wish_that_cannot_be_fulfilled_is_refused_with_a_reason(tmp_path, arguments, message):
    out_option = [] if "--resume" in arguments else ["-o", str(tmp_path)]
    result = CliRunner().invoke(main, ["run", *arguments.split(), *out_option])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not list(tmp_path.iterdir())


def test_run_has_few_options():
    assert sorted(o for p in main.commands["run"].params for o in p.opts) == [
        *("--batch", "--cap", "--concurrency", "--corpus", "--cpu-threads", "--dry-run"),
        *("--epoch-seconds", "--export", "--gpus", "--head", "--implementation", "--json"),
        *("--like", "--meter", "--meters", "--node", "--nodes", "--option", "--out"),
        *("--output-tokens", "--prompt-tokens", "--request-rate", "--resume", "--seed"),
        *("--simulate", "--sm-clock", "--smoke", "--sweep-label", "--system", "--until-ci"),
        *("--variant", "--verbose", "--weights", "-o", "-v", "workload"),
    ]


def test_an_option_that_nothing_knows_ends_the_run_with_a_reason(tmp_path):
    arguments = ["run", *SMOKE.split(), "--option", "turbo=yes", "-o", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2 and "resnet50-train has no option turbo" in " ".join(
        result.output.split()
    )
    assert not find_bundles(tmp_path)


def test_code_of_ones_own_that_changed_since_the_plan_is_not_run(tmp_path):
    changed = change_plan(make_test_plan(), implementation_sha256="0" * 64)
    with pytest.raises(
        RunFailed,
        match=r"loaded another support.implementations:build than was planned; "
        r"has its file changed\?",
    ):
        carry_out(changed, tmp_path)


def test_closed_and_open_are_told_apart_by_what_is_run():
    def standing(
        workload: str = "llama3-8b-pretrain", device: str = "cuda", **options: object
    ) -> str:
        machine = Machine(
            "nvidia", device, None, tuple(open_source("simulated:h200").devices()[:1]), "P0", 700.0
        )
        return make_plan(
            RunRequest(workload, **options), machine, dict(DESCRIPTION), hash_source()
        ).standing

    assert (
        standing()
        == standing(options=("precision=bf16-mixed",))
        == standing("llama3-8b-serve")
        == standing("resnet50-train", variant="s2d")
        == "closed"
    )
    assert (
        standing(variant="fp8")
        == standing("resnet50-train", variant="mayr")
        == standing(corpus=TESTS)
        == standing(implementation="support.implementations:build")
        == "open"
    )
    assert (
        standing("llama3-8b-serve", output_tokens=128)
        == standing("llama3-8b-serve", rate_per_s=10.0)
        == "open"
    )
    assert standing(smoke=True) == standing(epoch_s=29.0) == standing(device="cpu") == "demo"
    # A batch that trains to a target is long, so that fewer seconds suffice.
    assert standing("xception-transfer", epoch_s=10.0) == "open"
    assert standing("xception-transfer", epoch_s=9.0) == "demo"


def test_simulated_source_of_a_user_is_a_demo_even_with_the_torch_device_of_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "benchrig.py").write_text(
        "from harness.power.sources.simulated import SimulatedSource\n"
        "class RigSource(SimulatedSource):\n"
        "    torch_device = 'cuda'\n"
    )
    monkeypatch.setattr(sources, "__path__", [*sources.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "harness.power.sources.benchrig", raising=False)
    devices = tuple(open_source("simulated:h200").devices()[:1])

    def standing(meter: str) -> str:
        machine = Machine(meter, "cuda", None, devices, "P0", 700.0)
        run_request = RunRequest("llama3-8b-pretrain")
        return make_plan(run_request, machine, dict(DESCRIPTION), hash_source()).standing

    assert standing("nvidia") == "closed"
    assert standing("benchrig") == standing("benchrig:h200") == "demo"


def test_on_simulated_accelerators_the_work_is_simulated_too_unless_something_is_to_be_computed(
    tmp_path,
):
    def planned(**options: object) -> tuple[str, str, float]:
        demo_plan = command.plan_run(
            RunRequest("resnet50-train", simulate="h200", **options), tmp_path
        )
        assert demo_plan.standing == "demo"
        configuration = demo_plan.configuration
        return configuration.implementation, configuration.size, configuration.epoch_s

    assert planned() == ("harness.simulation.work:build", "smoke", 1.5)
    assert planned(smoke=True) == ("reference.resnet50_train:build", "smoke", 1.5)
    assert planned(implementation="support.implementations:build") == (
        "support.implementations:build",
        "full",
        31.5,
    )


def test_a_plan_says_which_run_of_which_sweep_it_is(tmp_path):
    place = {
        "id": "s",
        "place": 1,
        "of": 6,
        "repeat": 1,
        "order": "random within each repeat",
        "seed": 1,
    }
    assert (
        command.plan_run(RunRequest("resnet50-train", simulate="h200", sweep=place), tmp_path).sweep
        == place
    )
    assert command.plan_run(RunRequest("resnet50-train", simulate="h200"), tmp_path).sweep is None


@pytest.mark.parametrize(
    ("dirty", "standing", "has_warning"),
    [(True, "closed", True), (False, "closed", False), (True, "demo", False)],
)
def test_a_checkout_with_changes_is_told_of_before_the_run(
    monkeypatch, dirty, standing, has_warning
):
    monkeypatch.setattr(checks, "read_git_state", lambda _: {"commit": "0" * 40, "dirty": dirty})
    assert (
        any(
            "M108" in check.result
            for check in check_plan(replace(make_test_plan(), standing=standing))
            if check.ok is None
        )
        == has_warning
    )


@pytest.mark.parametrize(
    ("interval_ms", "scope", "advice"),
    [
        (1000, "node", "give --epoch-seconds 3.5 or more"),
        (50, "node", None),
        (1000, "cpu", None),
    ],
)
def test_node_meter_with_too_few_readings_is_told_of_before_the_run(interval_ms, scope, advice):
    meter = METER | {"interval_ms": interval_ms, "scope": scope}
    plan = make_test_plan(epoch_s=1.5)
    checks = check_plan(replace(plan, system={**plan.system, "meters": [meter]}))
    advices = [check.advice for check in checks if check.name == "readings of nodes"]
    assert advices == ([advice] if advice else [])


@pytest.mark.parametrize(("node", "judged"), [(0, 1), (1, 0)])
def test_bundle_of_a_run_that_could_not_restore_limits_is_judged_by_the_head(
    tmp_path, monkeypatch, node, judged
):
    @contextmanager
    def fail_to_restore(plan):
        yield
        (tmp_path / plan.run_id).mkdir()
        raise RestoreError("still at 300 W")

    checks = []
    monkeypatch.setattr(command, "applied_cap", fail_to_restore)
    monkeypatch.setattr(command.session, "run", lambda *_: None)
    monkeypatch.setattr(command, "conclude_run", lambda *arguments: checks.append(arguments))
    with pytest.raises(RestoreError, match="300 W"):
        carry_out(change_plan(make_test_plan(), node=node), tmp_path)
    assert len(checks) == judged


def test_node_that_starts_before_the_head_waits_for_it(monkeypatch):
    attempts = []

    def connect(*arguments, **options):
        attempts.append(arguments)
        if len(attempts) < 3:
            raise RuntimeError("connection refused")
        return "store"

    for name in ("torch", "torch.distributed"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(TCPStore=connect))
    monkeypatch.setattr(cluster, "STEP_S", 0.0)
    assert cluster._connect("node0", 29500, is_head=False) == "store"
    assert attempts == [("node0", 29500)] * 3
    attempts.clear()
    with pytest.raises(cluster.ClusterError, match="--head node0:29500: the nodes cannot"):
        cluster._connect("node0", 29500, is_head=True)
