"""Studies that a signal or `kill -9` ends: at most the model in work is lost, and the caps that
were found come back. `WATTMARK_KILLS` says how many moments are tried (default 2)."""

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.kills import KILLS, SEED, Sandbox, list_files, open_sandbox, wait_for

from checker.engine import judge
from harness.studies.plan import PLAN_FILE
from rules.finding import Severity

FOUND_MW, CAP_W = 700_000, 400
MODELS = ("mobilenetv3_small_100", "resnet18")
LONGEST_DELAY_S = 5.0
"""About the time of an entry, or of what precedes the first one."""
pytestmark = pytest.mark.xdist_group("kill")


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with open_sandbox(tmp_path) as new_sandbox:
        yield new_sandbox


def start_study(sandbox: Sandbox, *options: str) -> None:
    models = ",".join(f"{name}@224" for name in MODELS)
    sandbox.start(
        *("study", "image-inference", "--simulate", "h200", "--cap", str(CAP_W)),
        *(options or ("--models", models, "--long-seconds", "0.2")),
        *("-o", str(sandbox.out)),
    )


def list_entries(sandbox: Sandbox) -> list[dict]:
    """The finished entries of the unfinished study, without anchors."""
    records = []
    for path in list_files(sandbox.out, ".*.running/sessions/*/entries/*.json"):
        with suppress(FileNotFoundError):  # the study is over, and its directory renamed
            records.append(json.loads(path.read_text()))
    return [record for record in records if not record["is_anchor"]]


def draw_moments() -> Iterator[tuple[int, float]]:
    """How many entries are finished before a kill, and how long after the last of them it is."""
    generator = random.Random(f"{SEED} study")
    for number in range(KILLS):
        yield number % (len(MODELS) + 1), round(generator.uniform(0, LONGEST_DELAY_S), 2)


def wait_for_entries(sandbox: Sandbox, count: int) -> None:
    wait_for(lambda: len(list_entries(sandbox)) >= count or sandbox.bundles)


def read_study(bundle: Path) -> dict:
    assert not [f for f in judge(bundle, signed=False).findings if f.severity == Severity.ERROR]
    return json.loads((bundle / "study.json").read_text())


@pytest.mark.parametrize(("entries", "delay_s"), list(draw_moments()))
def test_killed_study_loses_at_most_the_model_in_work(
    sandbox: Sandbox, entries: int, delay_s: float
) -> None:
    start_study(sandbox)
    wait_for(lambda: sandbox.unfinished)
    wait_for_entries(sandbox, entries)
    time.sleep(delay_s)
    os.kill(sandbox.pid, signal.SIGKILL)
    sandbox.wait_for_exit()
    assert sandbox.caps_mw == {FOUND_MW}, sandbox.output
    finished = list_entries(sandbox)
    if sandbox.bundles:
        assert {w["status"] for w in read_study(sandbox.bundles[0])["work"]} == {"measured"}
        return
    assert len(finished) >= entries
    (directory,) = sandbox.unfinished
    if not (directory / PLAN_FILE).exists():
        return  # killed before anything was planned
    start_study(sandbox, "--resume", str(directory))
    assert sandbox.wait_for_exit() == 0, sandbox.output
    assert sandbox.caps_mw == {FOUND_MW} and not sandbox.unfinished
    work = read_study(sandbox.bundles[0])["work"]
    assert {entry["status"] for entry in work} == {"measured"} and len(work) == len(MODELS)
    for record in finished:
        (entry,) = [e for e in work if e["architecture"] == record["entry"]["architecture"]]
        assert entry["session"] == record["session"]


def test_interrupted_study_has_a_bundle_of_what_is_measured(sandbox: Sandbox) -> None:
    start_study(sandbox)
    wait_for_entries(sandbox, 1)
    time.sleep(0.5)
    os.kill(sandbox.pid, signal.SIGINT)
    assert sandbox.wait_for_exit() == 128 + signal.SIGINT, sandbox.output
    assert sandbox.caps_mw == {FOUND_MW} and not sandbox.unfinished
    (bundle,) = sandbox.bundles
    statuses = [entry["status"] for entry in read_study(bundle)["work"]]
    assert statuses == ["measured", "not-reached"]
    assert f"continue with: bench-submit study image-inference --resume {bundle}" in sandbox.output
