"""`bench-report advise`: measured sweeps with and without a node meter, published ones, what is
open, and the output as text and JSON."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import Submissions
from support.report.report_runs import add_sweep, make_run_at_cap, on_one
from support.report.result_rows import make_run_row

from reporting.advice.command import advise
from reporting.advice.setting import format_sweep_command
from rules.metrics.node.racks import plan_rack
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power

PUBLISHED = Path(__file__).parents[3] / "submissions/published"
WORKLOAD = "resnet50-train"
RATES = {400: 0.7, 500: 0.9, 600: 0.95, 700: 1.0}


def invoke(root: Path, *arguments: str, workload: str = WORKLOAD) -> Result:
    return CliRunner().invoke(
        advise, [str(root), "--workload", workload, *arguments], env={"COLUMNS": "80"}
    )


def read_sweeps(root: Path, *arguments: str, workload: str = WORKLOAD) -> list[dict[str, Any]]:
    result = invoke(root, *arguments, "--json", workload=workload)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["format"] == "wattmark-advice/1"
    sweeps: list[dict[str, Any]] = document["sweeps"]
    return sweeps


def add_runs(
    submissions: Submissions,
    metered: bool = False,
    installed: int | None = 2,
    rated_w: float | None = None,
    rates: dict[int, float] = RATES,
) -> None:
    runs = []
    for seed, (cap_w, rate) in enumerate(rates.items()):
        evidence = make_run_at_cap(cap_w, rate)
        (node,) = evidence.system["nodes"]
        node.pop("accelerators_installed", None)
        if installed is not None:
            node["accelerators_installed"] = installed
        if rated_w is not None:
            node["rated_w"] = rated_w
        if metered:
            add_node_power(evidence, seed=seed)
        runs.append(evidence)
    add_sweep(submissions, *runs)


@pytest.mark.parametrize("requests", [None, "sharegpt"])
def test_sweep_of_a_setting_is_a_command_with_its_batch_size_or_load(requests: str | None) -> None:
    row = make_run_row(100.0, "a", "b", batch_size=8)
    assert row.provenance is not None
    row.provenance.run.declaration.settings.requests = requests  # type: ignore[misc]
    option = "--concurrency 8" if requests else "--batch 8"
    command = f"bench-submit sweep {WORKLOAD} --variant tuned {option} --gpus 2 --caps 400,500.5"
    assert format_sweep_command(row, [500.5, 400.0], 3) == f"{command} --repeat 3"
    published = replace(row, provenance=None, count=1, variant=None)
    assert format_sweep_command(published, [400.0]).endswith(f"{WORKLOAD} --batch 8 --caps 400")


def list_open(sweep: dict[str, Any]) -> str:
    return " ".join(question["text"] for question in sweep["open"])


def test_boards_alone_are_named_and_their_best_caps_are_those_of_the_page(
    submissions: Submissions,
) -> None:
    add_runs(submissions)
    (sweep,) = read_sweeps(submissions.root)
    assert (sweep["is_of_nodes"], sweep["reference_cap_w"]) == (False, 700)
    assert [cap["cap_w"] for cap in sweep["caps"]] == list(RATES)
    best = {(b["metric"], b["k"]): b["cap_w"] for b in sweep["best"]}
    assert best["energy", None] == 500 and best["gain minus extra time", None] == 500
    assert sweep["chosen"]["cap_w"] == 500
    by_cap = {cap["cap_w"]: cap for cap in sweep["caps"]}
    assert by_cap[500]["loss_percent"]["mean"] == pytest.approx(10, abs=0.1)
    low, high = by_cap[500]["energy_gain_percent"]["ci95"]
    assert low < by_cap[500]["energy_gain_percent"]["mean"] < high
    text = list_open(sweep)
    assert "No node meter measured whole nodes" in text
    assert "No cap was repeated" in text and "A parabola" not in text, "500 W is near its lowest"
    command = next(q["command"] for q in sweep["open"] if q["text"].startswith("No cap was"))
    assert "--gpus 2 --caps 500,700 --repeat 3" in command


def test_whole_nodes_take_the_place_of_boards_where_meters_measured_them(
    submissions: Submissions,
) -> None:
    add_runs(submissions, metered=True)
    (sweep,) = read_sweeps(submissions.root, "--rack", "10kW")
    assert sweep["is_of_nodes"] and "No node meter" not in list_open(sweep)
    rack = sweep["rack"]
    assert "highest measured mean of the node over 60 s" in rack["planned_by"]
    for cap, planned in zip(sweep["caps"], rack["caps"], strict=True):
        # Two boards near their cap and a host of 450 W, behind a supply of 96 %.
        expected_w = (2 * 0.99 * cap["cap_w"] + 450) / 0.96
        assert planned["node_w"] == pytest.approx(expected_w, rel=0.02)
        nodes = math.floor(10e3 / planned["node_w"])
        assert planned["nodes"] == nodes == plan_rack(10e3, 0, planned["node_w"]).nodes
        assert planned["items_per_s"]["mean"] == pytest.approx(nodes * cap["items_per_s"])
        mean_w = nodes * cap["joules_per_item"] * cap["items_per_s"]
        assert planned["kwh_per_year"] == pytest.approx(mean_w * 8.76)
        assert planned["eur_per_year"] == pytest.approx(mean_w * 8.76 * 0.25)
    rates = {cap["cap_w"]: cap["items_per_s"]["mean"] for cap in rack["caps"]}
    assert rack["best_cap_w"] == max(rates, key=lambda cap_w: rates[cap_w]) == 500
    assert sweep["chosen"]["reason"] == "most throughput of the rack"


def test_boards_of_a_rack_have_an_assumed_rest_beside_them(submissions: Submissions) -> None:
    add_runs(submissions)
    (assumed,) = read_sweeps(submissions.root, "--rack", "10kW")
    (given,) = read_sweeps(submissions.root, "--rack", "10kW", "--beside", "500W")
    for cap, other in zip(assumed["rack"]["caps"], given["rack"]["caps"], strict=True):
        # 25 W for each of two boards.
        assert other["node_w"] == pytest.approx(cap["node_w"] + 450)
        assert other["node_mean_w"] == pytest.approx(cap["node_mean_w"] + 450)
    # Only a given rest enters energy. It lowers every gain.
    gains = [
        {c["cap_w"]: c["energy_gain_percent"]["mean"] for c in sweep["caps"]}
        for sweep in (assumed, given)
    ]
    assert all(gains[1][cap_w] < gains[0][cap_w] for cap_w in (400, 500, 600))


def test_loss_limits_the_cap_and_the_rack(submissions: Submissions) -> None:
    add_runs(submissions, metered=True)
    (sweep,) = read_sweeps(submissions.root, "--loss", "5.5%")
    assert (sweep["allowed"]["cap_w"], sweep["chosen"]["cap_w"]) == (600, 600)
    assert sweep["chosen"]["reason"] == "least energy with at most 5.5 % less throughput"
    (tight,) = read_sweeps(submissions.root, "--loss", "1%")
    assert tight["chosen"]["cap_w"] == 700
    (rack,) = read_sweeps(submissions.root, "--loss", "5.5%", "--rack", "10kW")
    assert rack["rack"]["best_cap_w"] in (600, 700)


def test_rack_by_the_rating_has_as_many_nodes_at_every_cap(submissions: Submissions) -> None:
    add_runs(submissions, rated_w=3000)
    arguments = ("--rack", "10kW", "--redundancy", "10%", "--by", "rated")
    (sweep,) = read_sweeps(submissions.root, *arguments)
    assert [cap["nodes"] for cap in sweep["rack"]["caps"]] == [3] * 4
    assert sweep["rack"]["caps"][0]["margin_percent"] == pytest.approx(10)
    assert sweep["rack"]["best_cap_w"] == 700


def test_rack_by_a_rating_that_no_bundle_states_names_the_key(submissions: Submissions) -> None:
    add_runs(submissions)
    (sweep,) = read_sweeps(submissions.root, "--rack", "10kW", "--by", "rated")
    assert sweep["rack"] is None
    assert "declare rated_w in [node] of system.toml" in sweep["no_rack"]


@pytest.mark.parametrize(
    ("installed", "says", "command"),
    [
        (8, "the runs used 2 of the 8 boards", "--gpus 8 --caps 400,500,600,700"),
        (None, "do not state how many boards the node has", None),
    ],
)
def test_no_rack_is_planned_by_a_part_of_a_node(
    submissions: Submissions, installed: int | None, says: str, command: str | None
) -> None:
    add_runs(submissions, installed=installed)
    (sweep,) = read_sweeps(submissions.root, "--rack", "10kW")
    assert sweep["rack"] is None
    (question,) = [q for q in sweep["open"] if q["text"].startswith("No rack is planned")]
    assert says in question["text"]
    assert question["command"] is None if command is None else command in question["command"]


def test_ties_between_repeated_caps_name_the_runs_that_would_decide(
    submissions: Submissions,
) -> None:
    def repeat(cap_w: int, *rates: float) -> list[EvidenceFrames]:
        return [make_run_at_cap(cap_w, rate) for rate in rates]

    add_sweep(
        submissions, *repeat(500, 0.893, 0.897), *repeat(600, 0.94, 0.96), *repeat(700, 0.99, 1.01)
    )
    (sweep,) = read_sweeps(submissions.root)
    assert {cap["runs"] for cap in sweep["caps"]} == {2}
    assert (sweep["chosen"]["cap_w"], sweep["chosen"]["not_told_apart_w"]) == (500, [600])
    (question,) = [q for q in sweep["open"] if "are not told apart" in q["text"]]
    (needed,) = re.findall(r"About (\d+) runs of each", question["text"])
    assert int(needed) > 2
    assert question["command"].endswith(f"--gpus 2 --caps 500,600 --repeat {needed}")
    assert "No cap was repeated" not in list_open(sweep)


def test_lowest_cap_asks_for_a_lower_one(submissions: Submissions) -> None:
    add_runs(submissions, rates={500: 0.9, 700: 1.0})
    (sweep,) = read_sweeps(submissions.root)
    assert "500\u202fW is the lowest cap of the sweep" in list_open(sweep)


def test_sweep_without_the_default_cap_gives_no_advice(submissions: Submissions) -> None:
    add_runs(submissions, rates={400: 0.7, 500: 0.9})
    (sweep,) = read_sweeps(submissions.root, "--loss", "5%")
    assert (sweep["chosen"], sweep["best"], sweep["allowed"]) == (None, [], None)
    assert list_open(sweep).startswith("Nothing is compared: there is no run at the default cap")


def test_sweeps_on_one_board_and_on_two_are_apart(submissions: Submissions) -> None:
    runs = [make_run_at_cap(cap_w, RATES[cap_w]) for cap_w in (500, 700)]
    more = [on_one(make_run_at_cap(cap_w, RATES[cap_w])) for cap_w in (500, 700)]
    add_sweep(submissions, *runs, *more)
    assert sorted(sweep["accelerators"] for sweep in read_sweeps(submissions.root)) == [1, 2]


# Published sweeps


@pytest.mark.parametrize(
    ("workload", "model", "peak_w"),
    [
        ("resnet50-train", "H100", 300),
        ("resnet50-train", "H200", 400),
        ("vitl16-train", "H200", 400),
        ("sd2-train", "H100", 300),
        ("llama3-8b-serve", "H100", 300),
        ("llama3-8b-serve", "H200", 400),
    ],
)
@pytest.mark.parametrize("beside", [(), ("--beside", "100W")])
def test_peaks_of_mayr_are_advised_for_least_energy(
    workload: str, model: str, peak_w: int, beside: tuple[str, ...]
) -> None:
    sweeps = read_sweeps(PUBLISHED, *beside, workload=workload)
    (sweep,) = [sweep for sweep in sweeps if sweep["model"] == model]
    assert (sweep["provenance"], sweep["accelerators"]) == ("published", 4)
    best = {(b["metric"], b["k"]): b for b in sweep["best"]}
    assert best["energy", None]["cap_w"] == peak_w
    assert best["energy", None]["not_told_apart_w"] is None
    assert "no power and no interval" in list_open(sweep)


def test_caps_of_mayr_that_did_not_hold_are_left_out() -> None:
    (sweep,) = [s for s in read_sweeps(PUBLISHED) if s["model"] == "MI300X"]
    assert [cap["cap_w"] for cap in sweep["caps"]] == [400, 500, 600, 700, 750]
    # The driver of AMD has no nvidia-smi.
    assert not any("nvidia" in command for command in sweep["chosen"]["set_by"].values())


def test_rack_of_mayr_has_nodes_of_four_boards_at_their_cap_and_100_w() -> None:
    arguments = ("--rack", "70kW", "--redundancy", "27%")
    (sweep,) = [s for s in read_sweeps(PUBLISHED, *arguments) if s["model"] == "H100"]
    caps = {cap["cap_w"]: cap for cap in sweep["rack"]["caps"]}
    assert caps[700]["node_w"] == 4 * 700 + 100
    assert caps[700]["nodes"] == math.floor(70e3 * 0.73 / 2900) == 17
    assert caps[300]["nodes"] == 39
    assert caps[300]["items_per_s"]["mean"] == pytest.approx(39 * 4 * 1312.8)
    assert sweep["rack"]["best_cap_w"] == 300


# Output and errors


def test_text_fits_80_columns_and_has_the_setting(submissions: Submissions) -> None:
    add_runs(submissions, metered=True, rated_w=3000)
    result = invoke(submissions.root, "--loss", "5.5%", "--rack", "70kW", "--redundancy", "27%")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 80
    # Rich and click add no blanks at the end.
    assert all(line == line.rstrip() for line in lines)
    text = "\n".join(lines)
    (sweep,) = read_sweeps(
        submissions.root, "--loss", "5.5%", "--rack", "70kW", "--redundancy", "27%"
    )
    chosen = sweep["chosen"]["cap_w"]
    for command in (
        f"sbatch --exclusive --comment=wattmark-cap={chosen} job.sh",
        f"/usr/local/sbin/wattmark-cap {chosen}",
        f"nvidia-smi -pl {chosen}",
        f"dcgmi config --set -P {chosen}",
        f"dcgmi policy --set 0,0 -P {chosen}",
    ):
        assert command in text
        assert command in sweep["chosen"]["set_by"].values()
    assert "A rack of 70.0 kW, 27 % kept free" in text


def test_commands_continue_over_lines_as_a_shell_takes_them(submissions: Submissions) -> None:
    add_runs(submissions)
    lines = invoke(submissions.root).output.splitlines()
    (place,) = [i for i, line in enumerate(lines) if line.startswith("    bench-submit sweep")][:1]
    assert lines[place].endswith(" \\") and lines[place + 1].startswith("        ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--workload", "resnet"), "resnet is no workload; the workloads are burn, llama3-8b"),
        (
            ("--rack", "70"),
            "70: give a power above 0 and below 1 GW with its unit, such",
        ),
        (("--rack", "-1kW"), "give a power above 0 and below 1 GW"),
        (("--rack", "infkW"), "give a power above 0 and below 1 GW"),
        (("--loss", "0"), "0: give a percentage above 0 and below 100"),
        (("--redundancy", "27%"), "--redundancy belongs to a rack: add --rack POWER"),
        (("--price", "-1"), "-1.0 is not in the range x>=0"),
        (("--price", "nan"), "nan: give the price of a kWh"),
        (("--rack", "1e300kW"), "1e300kW: give a power above 0 and below 1 GW"),
    ],
)
def test_a_mistake_names_the_option(arguments: tuple[str, ...], says: str) -> None:
    result = invoke(PUBLISHED, *arguments)
    assert result.exit_code == 2
    # Click frames and wraps its messages.
    assert says in " ".join(result.output.replace("\u2502", " ").split())


def test_a_round_without_a_sweep_says_how_to_make_one(submissions: Submissions) -> None:
    submissions.add()
    result = invoke(submissions.root)
    assert result.exit_code == 1
    assert "no sweep of resnet50-train over power caps; make one with" in result.output


def test_a_round_whose_bundles_fail_the_check_says_how_to_look_at_them(
    submissions: Submissions,
) -> None:
    (submissions.add() / "result.json").write_text("{}")
    result = invoke(submissions.root)
    assert result.exit_code == 1
    assert "among the bundles that pass the check; 1 fail it: bench-check" in result.output
    assert "--local reads your own runs" in result.output
    assert "--local" not in invoke(submissions.root, "--local").output


def test_bundles_that_fail_the_check_are_left_out(submissions: Submissions) -> None:
    add_runs(submissions)
    broken = submissions.add(make_run_at_cap(650, 0.97), "20260101T000000Z-broken")
    (broken / "result.json").write_text("{}")
    result = invoke(submissions.root)
    assert result.exit_code == 1
    assert "20260101T000000Z-broken fails the check and is left out" in result.output
    assert "Set 500" in result.output
    assert "\n  root, by the driver  nvidia-smi -pl 500\n" in result.output


def test_last_node_of_a_rack_that_fits_barely_is_uncertain(submissions: Submissions) -> None:
    add_runs(submissions, metered=True)
    (sweep,) = read_sweeps(submissions.root)
    node_w = read_sweeps(submissions.root, "--rack", "50kW")[0]["rack"]["caps"][1]["node_w"]
    for spare, is_open in ((0.005, True), (0.015, False)):
        # Ten nodes that may draw 0.5 % or 1.5 % more, by a meter of 1 %.
        limit = f"{10 * node_w * (1 + spare):.3f}W"
        (sweep,) = read_sweeps(submissions.root, "--rack", limit)
        assert (sweep["rack"]["best_cap_w"], sweep["rack"]["caps"][1]["nodes"]) == (500, 10)
        assert ("10 nodes fit only while" in list_open(sweep)) is is_open
    (sure,) = read_sweeps(submissions.root, "--rack", f"{10 * node_w * 1.005:.3f}W")
    assert "accuracy of the meter of 1 %. With so much more, 9 fit." in list_open(sure)
