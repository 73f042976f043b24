"""Adding a power log to a bundle: what the bundle then holds, and where its clock is placed."""

import copy
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import copy_evidence
from support.bundles import rederive, write_bundle
from support.harness.attached_logs import (
    AHEAD_S,
    METER,
    attach,
    format_log,
    hash_files,
    make_bundle,
    read_measured,
)
from support.harness.attached_logs import log_text as log_text
from support.harness.attached_logs import metered as metered

from checker.engine import judge
from harness.cli import main
from harness.power_logs.attaching.replace import replace_directory
from rules.bundle_format.files import read_files
from rules.bundle_format.load import read_evidence
from rules.testing.mutations import add_twin
from rules.testing.node_power import FEEDS, SHARES, add_node_power


def test_log_with_a_wrong_clock_is_placed_and_gives_the_figures_of_the_meter(
    tmp_path, metered, log_text
):
    bundle = make_bundle(tmp_path)
    before = hash_files(bundle)
    result = attach(bundle, log_text)
    assert result.exit_code == 0, result.output
    assert "(correlation)" in result.output
    evidence, problems = read_evidence(read_files(bundle))
    assert evidence is not None and not problems
    truth, figures = metered.result["node"], evidence.result["node"]
    for name in ("joules_per_item", "mean_power_w", "over_accelerators"):
        assert figures[name]["mean"] == pytest.approx(truth[name]["mean"], rel=2e-3)
    (clock,) = evidence.result["node_clocks"]
    true_ns = metered.result["node_clocks"][0]["offset_ns"] - round(AHEAD_S * 1e9)
    assert abs(clock["offset_ns"] - true_ns) <= clock["bound_ns"] <= 1e9
    assert clock["source"] == "correlation"
    (meter,) = evidence.system["meters"]
    assert (meter["kind"], meter["clock"]) == ("ptd", "import")
    assert (meter["interval_ms"], meter["averaging_ms"]) == (1000, 1000)
    assert [feed["feed"] for feed in meter["feeds"]] == ["Ch1", "Ch2"]
    assert evidence.node_log == log_text
    after = hash_files(bundle)
    for name in ("samples.csv.gz", "batches.csv.gz", "log.txt.gz", "environment.json"):
        assert after[name] == before[name]


def test_bundle_with_an_attached_log_passes_the_check(tmp_path, log_text):
    bundle = make_bundle(tmp_path)
    assert attach(bundle, log_text).exit_code == 0
    before = judge_without_signature(make_bundle(tmp_path / "without"))
    assert judge_without_signature(bundle) == before


def judge_without_signature(bundle: Path) -> list[str]:
    return [str(finding.rule) for finding in judge(bundle).findings]


def test_readings_in_the_bundle_are_those_of_the_log(tmp_path, metered, log_text):
    bundle = make_bundle(tmp_path)
    assert attach(bundle, log_text).exit_code == 0
    evidence, _ = read_evidence(read_files(bundle))
    table, truth = evidence.node_samples, metered.node_samples
    for feed, channel in zip(FEEDS, ("Ch1", "Ch2"), strict=True):
        rows = table.at(table.text("feed").equals(channel))
        expected = truth[truth["feed"] == feed]
        assert np.array_equal(rows.floats("power_mw"), expected["power_mw"])
        assert np.array_equal(rows.floats("voltage_mv"), expected["voltage_mv"])
        assert np.array_equal(rows.floats("current_ma"), expected["current_ma"])
    assert evidence.result["node_sampling"][0]["missed"] == 0


def test_readings_that_were_left_out_are_stated_and_judged(tmp_path, log_text):
    """A tenth of the readings of both feeds are marks of a meter out of range."""
    lines = log_text.splitlines()
    for i in range(5, len(lines), 12):
        lines[i] = re.sub(r"(Watts),[-0-9.E]+", r"\1,9.9E37", lines[i])
    bundle = make_bundle(tmp_path)
    assert attach(bundle, "\n".join(lines) + "\n").exit_code == 0
    evidence, _ = read_evidence(read_files(bundle))
    (entry,) = evidence.result["node_sampling"]
    assert 0.07 < entry["missing_share"] < 0.1
    assert entry["energy_bound_j"] > 1000
    assert "N120" in judge_without_signature(bundle)


def test_a_log_without_gaps_lacks_nothing(tmp_path, log_text):
    bundle = make_bundle(tmp_path)
    assert attach(bundle, log_text).exit_code == 0
    evidence, _ = read_evidence(read_files(bundle))
    (entry,) = evidence.result["node_sampling"]
    assert (entry["missing_share"], entry["energy_bound_j"]) == (0, 0)


CSV_MAP = """
interval = "mean-before"
feed = "inlet"
[time]
column = "t"
format = "unix"
unit = "ms"
[power]
column = "p"
unit = "kW"
[energy]
column = "e"
unit = "J"
"""


def test_csv_log_with_a_counter_is_attached_with_the_energy_of_the_counter(tmp_path, metered):
    bundle = make_bundle(tmp_path)
    (tmp_path / "map.toml").write_text(CSV_MAP)
    lines = ["t,p,e"]
    for stamp_ns, rows in metered.node_samples.groupby("meter_ns", sort=True):
        time_ms = stamp_ns // 10**6 - 1500
        lines.append(
            f"{time_ms},{rows['power_mw'].sum() / 1e6:.6f},{rows['energy_mj'].sum() / 1e3}"
        )
    result = attach(bundle, "\n".join(lines) + "\n", "--map", str(tmp_path / "map.toml"))
    assert result.exit_code == 0, result.output
    evidence, _ = read_evidence(read_files(bundle))
    assert evidence.system["meters"][0]["feeds"] == [{"feed": "inlet", "node": "node0"}]
    energy_mj = evidence.node_samples.floats("energy_mj")
    assert energy_mj[-1] - energy_mj[0] == pytest.approx(
        metered.node_samples["energy_mj"].iloc[-2:].sum()
        - metered.node_samples["energy_mj"].iloc[:2].sum()
    )
    figures, truth = evidence.result["node"], metered.result["node"]
    assert figures["mean_power_w"]["mean"] == pytest.approx(truth["mean_power_w"]["mean"], rel=2e-3)
    assert figures["level"] == 3


def test_training_log_in_direct_current_brings_its_conversion_loss(tmp_path, metered):
    bundle = make_bundle(tmp_path)
    start = '{"key": "conversion_eff", "value": 0.95, "metadata": {"measurement_type": "DC"}}'
    lines = [f":::MLLOG {start}"]
    for stamp_ns, rows in metered.node_samples.groupby("meter_ns", sort=True):
        event = {"key": "power_reading", "value": rows["power_mw"].sum() / 1e3 * 0.95}
        event |= {"time_ms": stamp_ns // 10**6 // 1000 * 1000, "metadata": {"host": "node_0"}}
        lines.append(f":::MLLOG {json.dumps(event)}")
    wrong = attach(bundle, "\n".join(lines) + "\n")
    assert "meter.current: found 'ac', but the log states 'dc'" in wrong.output
    meter = METER.replace('current = "ac"', "").replace("psu-input", "psu-output")
    result = attach(bundle, "\n".join(lines) + "\n", meter=meter)
    assert result.exit_code == 0, result.output
    evidence, _ = read_evidence(read_files(bundle))
    (entry,) = evidence.system["meters"]
    assert (entry["current"], entry["conversion_loss"]) == ("dc", 0.05)
    assert entry["stamp_resolution_ms"] == 1000
    assert evidence.result["node_clocks"][0]["bound_ns"] >= 500_000_000
    figures, truth = evidence.result["node"], metered.result["node"]
    assert figures["mean_power_w"]["mean"] == pytest.approx(truth["mean_power_w"]["mean"], rel=5e-3)


def write_outlets(metered, gap_s: float = 0.005) -> list[str]:
    """The readings of two outlets as rows of one table, one right after the other."""
    lines = ["t,outlet,p"]
    for stamp_ns, rows in metered.node_samples.groupby("meter_ns", sort=True):
        for number, row in enumerate(rows.sort_values("feed").itertuples()):
            time_s = stamp_ns / 1e9 + number * gap_s
            lines.append(f"{time_s:.3f},{'AB'[number]},{row.power_mw / 1e3:.3f}")
    return lines


OUTLETS_MAP = """
interval = "mean-before"
[time]
column = "t"
format = "unix"
unit = "s"
[power]
column = "p"
unit = "W"
"""


def test_outlets_in_one_table_are_feeds_or_are_refused(tmp_path, metered):
    """Two outlets read as one would give the node half of its power."""
    bundle, lines = make_bundle(tmp_path), write_outlets(metered)
    (tmp_path / "map.toml").write_text(OUTLETS_MAP)
    refused = attach(bundle, "\n".join(lines), "--map", str(tmp_path / "map.toml"))
    assert refused.exit_code == 1 and '[key] column = "outlet"' in refused.output
    (tmp_path / "map.toml").write_text(OUTLETS_MAP + '[key]\ncolumn = "outlet"\n')
    result = attach(bundle, "\n".join(lines), "--map", str(tmp_path / "map.toml"))
    assert result.exit_code == 0, result.output
    evidence, _ = read_evidence(read_files(bundle))
    assert [feed["feed"] for feed in evidence.system["meters"][0]["feeds"]] == ["A", "B"]
    assert evidence.result["node_sampling"][0]["missed"] == 0
    figures, truth = evidence.result["node"], metered.result["node"]
    assert figures["mean_power_w"]["mean"] == pytest.approx(truth["mean_power_w"]["mean"], rel=2e-3)
    assert judge_without_signature(bundle) == judge_without_signature(
        make_bundle(tmp_path / "without")
    )


def write_outlet_logs(tmp_path: Path, metered) -> list[Path]:
    lines = write_outlets(metered, gap_s=0.0)
    (tmp_path / "map.toml").write_text(OUTLETS_MAP)
    paths = []
    for outlet in "AB":
        paths.append(tmp_path / f"{outlet}.csv")
        rows = [line for line in lines if f",{outlet}," in line]
        paths[-1].write_text("\n".join(["t,outlet,p", *rows]) + "\n")
    return paths


@pytest.mark.parametrize("several", [False, True], ids=["one-meter", "a-meter-each"])
def test_log_of_each_supply_adds_to_the_node(tmp_path, metered, several):
    bundle, paths = make_bundle(tmp_path), write_outlet_logs(tmp_path, metered)
    meter = METER + METER.replace("wt1800", "wt1801") if several else METER
    (tmp_path / "meter.toml").write_text(meter)
    arguments = [*map(str, (bundle, *paths)), "--meter-file", str(tmp_path / "meter.toml")]
    result = CliRunner().invoke(
        main, ["attach-power", *arguments, "--map", str(tmp_path / "map.toml")]
    )
    assert result.exit_code == 0, result.output
    evidence, problems = read_evidence(read_files(bundle))
    assert evidence is not None and not problems
    assert len(evidence.system["meters"]) == 1 + several
    assert len(evidence.result["node_clocks"]) == 1 + several
    figures, truth = evidence.result["node"], metered.result["node"]
    assert figures["mean_power_w"]["mean"] == pytest.approx(truth["mean_power_w"]["mean"], rel=2e-3)
    assert evidence.node_log.startswith("==> A.csv <==\n") and "==> B.csv <==" in evidence.node_log
    assert judge_without_signature(bundle) == judge_without_signature(
        make_bundle(tmp_path / "without")
    )


def test_log_with_elapsed_times_needs_its_start(tmp_path, metered):
    bundle = make_bundle(tmp_path)
    (tmp_path / "map.toml").write_text(OUTLETS_MAP)
    start_s = int(metered.node_samples["meter_ns"].min() // 10**9)
    lines = ["t,p"]
    for stamp_ns, rows in metered.node_samples.groupby("meter_ns", sort=True):
        lines.append(f"{stamp_ns / 1e9 - start_s:.3f},{rows['power_mw'].sum() / 1e3}")
    text, options = "\n".join(lines), ("--map", str(tmp_path / "map.toml"))
    refused = attach(bundle, text, *options)
    assert refused.exit_code == 1 and "state the time 0 of the log with --start" in refused.output
    start = datetime.fromtimestamp(start_s, UTC).isoformat()
    result = attach(bundle, text, *options, "--start", start)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("step_w", [1, 20], ids=["short", "with-long-stretches"])
def test_log_of_changes_gives_the_energy_of_held_powers(tmp_path, metered, step_w):
    """Each power stands at the beginning of its interval, and not at the end. A power that lasts
    long is no gap."""
    bundle = make_bundle(tmp_path)
    (tmp_path / "map.toml").write_text(OUTLETS_MAP.replace("mean-before", "until-next"))
    lines, last_w = ["t,p"], None
    for stamp_ns, rows in metered.node_samples.groupby("meter_ns", sort=True):
        power_w = step_w * round(rows["power_mw"].sum() / 1e3 / step_w)
        if power_w != last_w:
            lines.append(f"{stamp_ns / 1e9 - 1:.3f},{power_w}")
        last_w = power_w
    result = attach(bundle, "\n".join(lines), "--map", str(tmp_path / "map.toml"))
    assert result.exit_code == 0, result.output
    evidence, _ = read_evidence(read_files(bundle))
    figures, truth = evidence.result["node"], metered.result["node"]
    accuracy = 2e-3 if step_w == 1 else 2e-2
    mean_power_w = truth["mean_power_w"]["mean"]
    assert figures["mean_power_w"]["mean"] == pytest.approx(mean_power_w, rel=accuracy)
    assert evidence.result["node_sampling"][0]["missing_share"] == 0
    assert "N120" not in judge_without_signature(bundle)


TWO_NODES = 'feeds = [{feed = "Ch1", node = "node0"}, {feed = "Ch2", node = "node7"}]'


def test_channels_of_one_log_are_placed_on_the_clock_of_the_node_that_each_feeds(tmp_path, metered):
    evidence = copy.deepcopy(read_measured())
    add_twin(evidence, "node7")
    rederive(evidence)
    bundle = tmp_path / "run"
    write_bundle(evidence, bundle)
    # The nodes do the same work, so each feed of one, scaled to the whole, is the meter of a node.
    source = copy.deepcopy(metered)
    shares = source.node_samples["feed"].map(dict(zip(FEEDS, SHARES, strict=True)))
    for column in ("power_mw", "current_ma"):
        source.node_samples[column] /= shares
    log = format_log(source)
    missing = attach(bundle, log)
    assert missing.exit_code == 1 and "meter: found" in missing.output
    result = attach(bundle, log, meter=METER + TWO_NODES)
    assert result.exit_code == 0, result.output
    attached, problems = read_evidence(read_files(bundle))
    assert attached is not None and not problems
    clocks = {clock["node"]: clock for clock in attached.result["node_clocks"]}
    for pair in evidence.result["clocks"]:
        true_ns = pair["monotonic_ns"] - pair["wall_ns"] - round(AHEAD_S * 1e9)
        clock = clocks[pair["node"]]
        assert abs(clock["offset_ns"] - true_ns) <= clock["bound_ns"]
    nodes = attached.node_samples.text("node")
    assert nodes.distinct() == ["node0", "node7"]


def test_stated_offset_places_a_log_and_its_bound_is_kept(tmp_path, metered, log_text):
    bundle = make_bundle(tmp_path)
    result = attach(bundle, log_text, "--clock-offset", "7.2", "--clock-bound", "0.1")
    assert result.exit_code == 0, result.output
    (clock,) = json.loads((bundle / "result.json").read_text())["node_clocks"]
    true_ns = metered.result["node_clocks"][0]["offset_ns"] - 7_200_000_000
    assert abs(clock["offset_ns"] - true_ns) < 1e6
    assert (clock["bound_ns"], clock["source"]) == (100_000_000, "stated")


def test_log_that_is_hours_off_is_placed_by_a_stated_offset(tmp_path, metered):
    bundle, log = make_bundle(tmp_path), format_log(metered, 10_800.0)
    refused = attach(bundle, log)
    assert refused.exit_code == 1 and "the log has readings from" in refused.output
    result = attach(bundle, log, "--clock-offset", "10800", "--clock-bound", "0.1")
    assert result.exit_code == 0, result.output


def test_stated_offset_that_the_changes_of_power_contradict_is_refused(tmp_path, log_text):
    bundle = make_bundle(tmp_path)
    before = hash_files(bundle)
    result = attach(bundle, log_text, "--clock-offset", "0", "--clock-bound", "0.1")
    assert result.exit_code == 1
    assert "place the clock of the log 7.3" in result.output
    assert hash_files(bundle) == before


def make_constant(log: str) -> str:
    lines = []
    for line in log.splitlines():
        time = ",".join(line.split(",")[:2])
        lines.append(f"{time},Watts,1900.5,Mark,run")
    return "\n".join(lines) + "\n"


def test_log_whose_changes_decide_nothing_needs_a_stated_offset(tmp_path, log_text):
    bundle = make_bundle(tmp_path)
    result = attach(bundle, make_constant(log_text))
    assert result.exit_code == 1
    assert "the changes of power do not place the clock of the log" in result.output
    assert "--clock-offset and --clock-bound" in result.output
    stated = ("--clock-offset", "7.25", "--clock-bound", "0.5")
    assert attach(bundle, make_constant(log_text), *stated).exit_code == 0


def test_clock_that_several_offsets_fit_is_not_guessed(tmp_path):
    evidence = copy_evidence()
    bundle = tmp_path / "run"
    write_bundle(evidence, bundle)
    add_node_power(evidence)
    # All epochs of this bundle are alike, so an offset by one epoch fits about as well.
    result = attach(bundle, format_log(evidence))
    assert result.exit_code == 1
    assert "the changes of power do not place the clock of the log" in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--time-zone", "UTC"), "give the log of this run, and check --time-zone"),
        (("--clock-offset", "3"), "belong together; give both"),
        (("--format", "mlperf-training"), "an MLPerf log without power_reading lines"),
    ],
)
def test_wrong_options_are_refused(tmp_path, log_text, options, message):
    result = attach(make_bundle(tmp_path), log_text, *options)
    assert result.exit_code in (1, 2) and message in result.output


def test_log_without_time_zone_is_refused(tmp_path, log_text):
    bundle = make_bundle(tmp_path)
    attach(bundle, log_text)
    bundle = make_bundle(tmp_path / "again")
    (bundle.parent / "spl.txt").write_text(log_text)
    (bundle.parent / "meter.toml").write_text(METER)
    arguments = [str(bundle.parent / "spl.txt"), "--meter-file", str(bundle.parent / "meter.toml")]
    result = CliRunner().invoke(main, ["attach-power", str(bundle), *arguments])
    assert result.exit_code == 1 and "no time zone, so it cannot be placed" in result.output


def test_directories_named_from_here_are_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("new", "old"):
        Path(name).mkdir()
        Path(name, name).touch()
    replace_directory(Path("new"), Path("old"))
    assert [path.as_posix() for path in Path().rglob("*")] == ["old", "old/new"]
