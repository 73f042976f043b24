"""Power sources that a user adds: found without an entry in any list, chosen by name or
automatically, with and without cap control."""

import json
import os
import random
import re
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import main
from harness.errors import MeterError
from harness.power import sources
from harness.power.caps import apply as cap_apply
from harness.power.caps.registry import state_directories
from harness.power.source import CapControl, PowerSource, Readback, read_back
from harness.power.sources import measuring_meters, open_source, source_class, source_names

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs" / "write-a-meter.md"
SMOKE = ["resnet50-train", "--smoke", "--epoch-seconds", "0.3", "--batch", "4"]
SMOKE += ["--variant", "baseline", "--implementation", "support.implementations:build"]
SHIPPED = ["nvidia", "amd", "rapl"]


def extract_example() -> str:
    """The complete source file that docs/write-a-meter.md shows."""
    (code,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        if "(PowerSource):" in block and "def open" in block
    ]
    return code


@pytest.fixture
def extra(tmp_path, monkeypatch) -> Path:
    """A directory of sources beside that of the package, on the search path of this process."""
    directory = tmp_path / "sources"
    directory.mkdir()
    monkeypatch.setattr(sources, "__path__", [*sources.__path__, str(directory)])
    before = set(sys.modules)
    yield directory
    for name in set(sys.modules) - before:
        if name.startswith("harness.power.sources."):
            del sys.modules[name]


def add_source(directory: Path, name: str, body: str, base: str = "PowerSource") -> None:
    """A source file with one class, whose methods are `body`."""
    (directory / f"{name}.py").write_text(
        "from harness.power.source import *\n"
        "from harness.power.source import CapControl, Device, PowerSource, Readback\n"
        "from rules.bundle_format.records import Reading\n"
        f"class Added({base}):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    )


WHOLE = """
    @classmethod
    def open(cls, argument):
        source = cls()
        source.argument = argument
        return source

    def devices(self):
        return [Device("ADDED-0", "Added board", "Example")]

    def read(self, uuid):
        return Reading(power_mw=50_000, energy_mj=1)
"""


def run_with(directory: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """bench-submit in a process of its own, with WATTMARK_SOURCES and without GPUs."""
    environment = {k: v for k, v in os.environ.items() if k != "WATTMARK_SIMULATOR"}
    environment |= {"WATTMARK_SOURCES": str(directory), "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = str(TESTS)
    return subprocess.run(
        [sys.executable, "-m", "harness.cli", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=directory.parent,
        check=False,
        timeout=600,
    )


def test_every_shipped_source_is_found_in_the_order_of_the_automatic_choice():
    assert source_names() == ["amd", "nvidia", "rapl", "simulated"]
    assert measuring_meters() == SHIPPED
    assert measuring_meters(("cuda",)) == ["nvidia", "amd"]


def test_shipped_sources_say_what_they_can():
    can_set = {name for name in source_names() if issubclass(source_class(name), CapControl)}
    assert can_set == {"nvidia", "amd", "simulated"}
    assert [name for name in source_names() if source_class(name).simulated] == ["simulated"]


def test_a_file_is_found_without_an_entry_in_any_list(extra):
    add_source(extra, "wattson", WHOLE)
    assert source_names() == ["amd", "nvidia", "rapl", "simulated", "wattson"]
    assert measuring_meters() == [*SHIPPED, "wattson"]
    assert "wattson" not in measuring_meters(("cuda",)), "it measures no GPU"
    assert open_source("wattson:left").argument == "left"
    assert open_source("wattson").argument == ""


def test_priority_decides_which_source_is_tried_first(extra):
    add_source(extra, "wattson", "    priority = 5\n" + WHOLE)
    assert measuring_meters() == ["wattson", *SHIPPED]


def test_a_file_that_starts_with_an_underscore_is_no_source(extra):
    (extra / "_shared.py").write_text("1/0")
    assert "_shared" not in source_names()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import no_such_library", "wattson cannot be loaded (ModuleNotFoundError"),
        ("1/0", "wattson cannot be loaded (ZeroDivisionError"),
        ("", "defines 0 public subclasses of PowerSource"),
    ],
)
def test_a_file_with_a_mistake_is_told_and_stops_no_other_meter(extra, text, says):
    (extra / "wattson.py").write_text(text)
    with pytest.raises(MeterError, match=re.escape(says)):
        open_source("wattson")
    assert measuring_meters() == [*SHIPPED, "wattson"], "last, so that opening it tells the mistake"
    assert open_source("simulated:h200").devices() and state_directories()


def test_a_class_that_lacks_a_method_is_told_which(extra):
    add_source(extra, "wattson", "def devices(self):\n    return []\n")
    with pytest.raises(MeterError, match="the meter wattson lacks the methods open, read"):
        open_source("wattson")


def test_a_source_that_fails_to_open_is_a_meter_that_cannot_be_used(extra):
    add_source(extra, "wattson", WHOLE.replace("source = cls()", "import no_such_library"))
    with pytest.raises(MeterError, match=r"wattson cannot be opened \(ModuleNotFoundError"):
        open_source("wattson")


def test_a_shipped_source_is_not_replaced_by_a_file_of_its_name(extra):
    add_source(extra, "rapl", WHOLE)
    assert source_class("rapl").__name__ == "RaplSource"


def test_a_source_without_settings_gives_an_empty_readback(extra):
    add_source(extra, "wattson", WHOLE)
    assert read_back(open_source("wattson"), "ADDED-0") == Readback()


def test_a_cap_with_a_source_that_sets_none_is_refused(extra, tmp_path):
    add_source(extra, "wattson", WHOLE)
    assert cap_apply.explain_refusal("wattson") == "the meter wattson cannot set power caps"
    command = ["run", "resnet50-train", "--smoke", "--meter", "wattson"]
    result = CliRunner().invoke(main, [*command, "--cap", "40", "-o", str(tmp_path / "out")])
    output = " ".join(result.output.split())
    assert result.exit_code == 2 and "--cap 40: the meter cannot set power caps" in output
    result = CliRunner().invoke(main, ["sweep", *command[1:], "--caps", "40,50"])
    output = " ".join(result.output.split())
    assert (
        result.exit_code == 2
        and "reports no power limit of this board; use --caps as-found" in output
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--meter", "wattson"], "there is no meter called 'wattson'"),
        (["--meter", "simulated:b300"], "no simulated accelerator 'b300'"),
        (["--meter", "rapl", "--simulate", "h200"], "--meter and --simulate: give one of them"),
    ],
)
@pytest.mark.parametrize("command", ["run", "sweep"])
def test_a_meter_that_cannot_be_chosen_is_refused(command, arguments, says, tmp_path):
    result = CliRunner().invoke(
        main, [command, "resnet50-train", "--smoke", *arguments, "-o", str(tmp_path / "out")]
    )
    assert result.exit_code == 2 and says in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()


def test_the_simulated_meter_by_name_is_the_same_as_simulate(tmp_path):
    result = [
        CliRunner()
        .invoke(
            main,
            ["sweep", "resnet50-train", *choice, "--dry-run", "--caps", "300,700", "--seed", "3"],
        )
        .output
        for choice in (["--meter", "simulated:h200"], ["--simulate", "h200"])
    ]
    assert "Simulated H200" in result[0]
    assert re.sub(r"\d{8}T\S+", "", result[0]) == re.sub(r"\d{8}T\S+", "", result[1])


def test_the_batch_script_of_a_sweep_passes_the_meter_on(tmp_path):
    result = CliRunner().invoke(main, ["sweep", "resnet50-train", "--slurm", "--meter", "nvidia"])
    assert result.exit_code == 0 and "--meter nvidia" in result.output


def test_doctor_checks_the_named_meter_only(extra):
    add_source(extra, "wattson", WHOLE)
    result = CliRunner().invoke(main, ["doctor", "--meter", "wattson"])
    meters = [line for line in result.output.splitlines() if " meter " in line]
    assert len(meters) == 1 and "ADDED-0: Added board, 50 W, no cap, energy counter" in meters[0]
    result = CliRunner().invoke(main, ["doctor", "--meter", "nobody"])
    assert result.exit_code == 1 and "there is no meter called 'nobody'" in result.output


@pytest.fixture
def watts(tmp_path) -> Path:
    """A file with a power in W that changes all the time, as a program of the site would keep
    it."""
    path, end_event = tmp_path / "watts", threading.Event()
    noise = random.Random(1)

    def write() -> None:
        while not end_event.wait(0.01):
            draft = path.with_suffix(".new")
            draft.write_text(f"{noise.gauss(200, 5):.3f}\n")
            draft.rename(path)

    writer = threading.Thread(target=write)
    writer.start()
    while not path.exists():
        time.sleep(0.01)
    yield path
    end_event.set()
    writer.join()


def test_the_example_of_the_page_works_from_a_directory_of_its_own(tmp_path, watts):
    """As the page says: doctor, then a whole smoke run."""
    directory = tmp_path / "my-meters"
    directory.mkdir()
    (directory / "wattfile.py").write_text(extract_example())
    meter = f"wattfile:{watts}"
    cli_result = run_with(directory, "doctor", "--meter", meter)
    assert "FILE-0: Accelerator, " in cli_result.stdout, cli_result.stdout + cli_result.stderr
    cli_result = run_with(directory, "run", *SMOKE, "--meter", meter, "-o", "out")
    assert "pre-check: no errors" in cli_result.stdout, cli_result.stdout + cli_result.stderr
    (path,) = tmp_path.glob("out/*/result.json")
    result = json.loads(path.read_text())
    assert result["sampling"]["meter"] == meter and result["standing"] == "demo"
    assert result["power"]["mode"] == "as-found"


def test_the_example_is_chosen_without_meter_if_it_is_the_first_that_opens(tmp_path, watts):
    """With a priority above that of the shipped ones, so that it does not matter which of these can
    be used here."""
    directory = tmp_path / "my-meters"
    directory.mkdir()
    head = "class FileSource(PowerSource):\n"
    code = extract_example().replace("/run/watts", str(watts))
    (directory / "wattfile.py").write_text(code.replace(head, f"{head}    priority = 1\n"))
    result = run_with(directory, "run", *SMOKE, "-o", "out")
    assert "meter wattfile" in result.stdout and "no errors" in result.stdout, (
        result.stdout + result.stderr
    )


def test_interfaces_are_as_small_as_the_page_says():
    assert PowerSource.__abstractmethods__ == {"open", "devices", "read"}
    assert CapControl.__abstractmethods__ == {"readback", "set_cap"}
