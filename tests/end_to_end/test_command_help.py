"""Help at 80 columns, and the outputs for programs: `--json` of each command."""

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from conftest import Submissions, copy_evidence
from support.bundles import make_other_run, rederive
from support.rounds.verdicts import run_bench_check

from checker.command_line.config import SITE_VARIABLE
from checker.options import BundlePath, RoundPath, complete_path, complete_unfinished_run, drop_unit
from harness.cli import SECTIONS, main
from harness.cli_options import RUN_SECTIONS

SIMULATED = ("resnet50-train", "--simulate", "h200", "--epoch-seconds", "0.2")


def read_help(*arguments: str) -> str:
    result = CliRunner().invoke(main, [*arguments, "--help"], terminal_width=80)
    assert result.exit_code == 0
    return result.output


def list_headings(text: str) -> list[str]:
    return re.findall(r"^([A-Z].*):$", text, re.M)


def test_commands_stand_in_the_order_of_use_with_whole_sentences() -> None:
    text = read_help()
    assert list_headings(text) == ["Options", *SECTIONS]
    assert "..." not in text.partition("Look:")[2]
    shown = re.findall(r"^  ([a-z]\S*)  +[A-Z]", text.partition("Look:")[2], re.M)
    assert shown == [name for names in SECTIONS.values() for name in names]
    assert sorted(shown) == sorted(main.commands)


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_options_stand_under_headings_and_examples_are_commands(command: str) -> None:
    text = read_help(command)
    headings = list_headings(text)
    assert headings == [*(h for h in RUN_SECTIONS if h in headings), "Other options", "Examples"]
    assert set(RUN_SECTIONS) == set(headings[:-2])
    others = text.partition("Other options:")[2].partition("Examples:")[0]
    assert re.findall(r"--[\w-]+", others) == ["--help"]
    examples = re.findall(r"^  bench-submit (.*)$", text.partition("Examples:")[2], re.M)
    assert len(examples) == 2
    for example in examples:
        name, *arguments = example.split()
        workload = arguments[0]
        # click takes them out of the list.
        context = main.commands[name].make_context(name, arguments, parent=click.Context(main))
        assert context.params["workload"] == workload


@pytest.mark.parametrize("command", [(), *((name,) for name in main.commands)])
def test_help_fits_80_columns(command: tuple[str, ...]) -> None:
    assert max(map(len, read_help(*command).splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "cap_w"),
    [
        (["400"], 400.0),
        (["400W"], 400.0),
        (["400 W"], 400.0),
        (["412.5 w"], 412.5),
        (["0.4kW"], 400.0),
        (["400 watts"], 400.0),
        (["As found"], None),
    ],
)
def test_values_may_have_their_units(arguments: list[str], cap_w: float | None) -> None:
    run = main.commands["run"]
    options = ("--sm-clock", "0.99 GHz", "--epoch-seconds", "0.5 min", "--simulate", "H200")
    params = run.make_context("run", ["burn", "--cap", *arguments, *options]).params
    assert (params["cap_w"], params["sm_clock_mhz"], params["epoch_s"]) == (cap_w, 990, 30)
    assert params["simulate"] == "h200"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--cap", "400 mW"), "400 mW: give watts"),
        (("--epoch-seconds", "2h"), "2h: give seconds, such as 30"),
        (("--sm-clock", "fast"), "fast: give whole MHz"),
        (("--simulate", "h2000"), "did you mean h200"),
        (("--variant", "tunned"), "did you mean tuned"),
    ],
)
def test_value_that_cannot_be_taken_is_told(arguments: tuple[str, ...], text: str) -> None:
    result = CliRunner().invoke(main, ["run", *SIMULATED, *arguments])
    assert result.exit_code == 2 and text in result.output


def test_title_of_a_workload_finds_it() -> None:
    result = CliRunner().invoke(main, ["run", "stable-diffusion", *SIMULATED[1:]])
    assert "did you mean sd2-latents-train, sd2-train?" in result.output


def invoke_json(*arguments: Any) -> Any:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_run_and_a_sweep_print_their_bundles_alone_to_standard_output(tmp_path: Path) -> None:
    document = invoke_json("run", *SIMULATED, "--out", tmp_path / "run", "--json")
    (bundle,) = document["bundles"]
    result = json.loads((Path(bundle["path"]) / "result.json").read_text())
    assert (document["format"], document["passes"]) == ("wattmark-runs/1", True)
    checked = invoke_json("run", *SIMULATED, "--dry-run", "--json")
    assert checked == {**document, "bundles": []}
    assert (bundle["run_id"], bundle["headline"]) == (result["run_id"], result["headline"])
    caps = ("--caps", "400W,500 W")
    document = invoke_json("sweep", *SIMULATED, *caps, "--out", tmp_path / "sweep", "--json")
    assert document["failures"] == []
    runs = [Path(item["path"]).name for item in document["bundles"]]
    assert runs == sorted(path.name for path in (tmp_path / "sweep").glob("*-x1-?00W-*"))
    assert len(runs) == 2


def test_check_ends_with_its_findings_by_rule(submissions: Submissions) -> None:
    for number in (1, 2):
        evidence = make_other_run(copy_evidence(), number)
        evidence.environment["git"]["dirty"] = True
        rederive(evidence)
        submissions.add(evidence, run_id=f"run-000{number}")
    whole = run_bench_check(submissions.root).output.splitlines()
    quiet = run_bench_check(submissions.root, "--quiet").output.splitlines()
    assert "warning M108  2 in 2 bundles: A closed result from modified code" in quiet, quiet
    assert whole[-len(quiet) :] == quiet and "run-0001" not in "\n".join(quiet)
    as_json = run_bench_check(submissions.root, "--json").output
    assert as_json == run_bench_check(submissions.root, "--format", "json").output
    refused = run_bench_check(submissions.root, "--quiet", "--json")
    assert refused.exit_code == 2 and "has no summary" in refused.output


def test_beginning_of_a_run_id_names_its_bundle(tmp_path: Path) -> None:
    for name in ("20261120T1-a", "20261120T2-b", "20261121T1-c"):
        (tmp_path / name).mkdir()
    bundle = BundlePath()
    assert bundle.convert(str(tmp_path / "20261121"), None, None) == tmp_path / "20261121T1-c"
    assert bundle.convert(str(tmp_path / "20261120T2-b"), None, None) == tmp_path / "20261120T2-b"
    with pytest.raises(
        click.BadParameter, match=r"2 names begin so: .*/20261120T1-a, .*/20261120T2-b"
    ):
        bundle.convert(str(tmp_path / "20261120"), None, None)
    with pytest.raises(click.BadParameter, match="does not exist"):
        bundle.convert(str(tmp_path / "2027"), None, None)


def test_whole_run_id_names_no_copy_and_an_unfinished_run_is_hidden(tmp_path: Path) -> None:
    for name in ("20261120T1-a-0123ab.bak", "20261121T1-done", ".20261121T2-a.running"):
        (tmp_path / name).mkdir()
    whole = tmp_path / "20261120T1-a-0123ab"
    assert complete_path(str(whole)) == whole
    unfinished = tmp_path / ".20261121T2-a.running"
    assert complete_unfinished_run(str(tmp_path / "20261121T")) == unfinished
    assert complete_unfinished_run(str(unfinished)) == unfinished
    assert complete_unfinished_run(str(tmp_path / "2026")) == tmp_path / "2026"


@pytest.mark.parametrize(
    "text", ["1min5s", "200..700W", "1_000W", "1e0min", "0.3kW50W", "1.2.3GHz"]
)
def test_text_that_is_no_number_with_a_unit_is_left_as_it_is(text: str) -> None:
    unit = {"s": "s", "n": "s", "W": "W", "z": "MHz"}[text[-1]]
    assert drop_unit(text, unit) == text
    assert drop_unit("0.3kW,500 W:.7 kW", "W") == "300,500:700"


def test_paths_of_rounds_complete_run_ids_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bundle = Path("submissions/center/h200/20261121T1-c")
    bundle.mkdir(parents=True)
    Path(f"{bundle}.sweep.json").touch()
    for text in ("20261121T1", str(bundle)[:-2], str(bundle)):
        assert RoundPath().convert(text, None, None) == bundle
    with pytest.raises(click.BadParameter, match="does not exist"):
        RoundPath().convert("submissions/cent", None, None)
    run = tmp_path / "runs/20261122T1-d"
    run.mkdir(parents=True)
    site_file = tmp_path / "config.toml"
    site_file.write_text(f'out = "{run.parent}"')
    monkeypatch.setenv(SITE_VARIABLE, str(site_file))
    assert RoundPath().convert("20261122T", None, None) == run
    site_file.write_text(f'out = "{bundle.parent.resolve()}"')
    assert RoundPath().convert("20261121T1", None, None) == bundle
    result = run_bench_check("submisions")
    assert result.exit_code == 2 and "did you mean submissions?" in result.output
