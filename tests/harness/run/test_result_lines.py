"""What the terminal says of the figures of a finished run."""

import io
from collections import Counter
from pathlib import Path

import pytest
from conftest import copy_evidence
from rich.console import Console
from support.bundles import write_bundle

from checker.engine import judge
from harness.run.command import conclude_run
from harness.run.plan import SIMULATED_WORK
from harness.run.result_lines import describe_results, summarize_results
from rules.finding import Severity, format_count
from rules.metrics.figures_json import figures_from_json
from rules.metrics.uncertainty.within_run import describe_epochs


def test_terminal_names_intervals_within_the_run_drift_and_what_they_leave_out() -> None:
    result = copy_evidence().result
    (line,) = [line for line in describe_results(result) if line.startswith("within this run")]
    within_run = describe_epochs(figures_from_json(result))
    rate = within_run.headline.items_per_s
    assert f"throughput \u00b1 {100 * rate.half_width / rate.mean:.2g} %" in line
    assert f"drift {within_run.items_per_s.drift}; energy per item \u00b1 " in line
    assert line.endswith(
        "One run on 2 boards does not show how far other runs or boards are from it"
    )


def test_terminal_states_the_sensor_term_beside_the_energy_per_item() -> None:
    result = copy_evidence().result
    headline = figures_from_json(result).headline
    assert headline.energy_j_counter is not None and headline.joules_per_item is not None
    result["headline"]["energy_j_trapezoid"]["mean"] = 1.0123 * headline.energy_j_counter.mean
    (line,) = [line for line in describe_results(result) if line.startswith("within this run")]
    assert " %, sensor term 1.2 %, drift " in line.partition("energy per item")[2]
    result["headline"]["energy_j_counter"] = None
    (line,) = [line for line in describe_results(result) if line.startswith("within this run")]
    assert "sensor term" not in line


def test_terminal_shows_of_simulated_boards_what_their_model_says() -> None:
    result = copy_evidence().result
    headline, *rest = list(describe_results(result))
    assert ", MFU " in headline
    result["sampling"]["meter"] = "simulated:h200"
    # The code of a reference implementation, which a CPU runs beside simulated boards.
    (line,) = describe_results(result)
    assert line.endswith(", computed by the CPU; the power is that of simulated boards")
    result["implementation"]["name"] = SIMULATED_WORK
    assert list(describe_results(result)) == [headline.partition(", MFU ")[0], *rest]


def test_run_ends_in_throughput_with_its_interval_and_energy_with_power_and_cap() -> None:
    result = copy_evidence().result
    headline = figures_from_json(result).headline
    throughput, energy = summarize_results(result)
    rate = describe_epochs(figures_from_json(result)).headline.items_per_s
    assert throughput == (
        f"throughput: {rate.mean:.6g} images/s "
        f"({headline.items_per_s_per_accelerator.mean:.6g} per accelerator) "
        f"\u00b1 {100 * rate.half_width / rate.mean:.2g} % within this run (95 %)"
    )
    joules, items = headline.joules_per_item, headline.items_per_joule
    assert joules is not None and items is not None
    assert energy == (
        f"energy: {joules.mean:.4g} J/image, {items.mean:.4g} images/J, mean power "
        f"{headline.mean_power_w_per_accelerator.mean:.1f} W per accelerator at a cap of "
        f"{result['power']['cap_w']:g} W"
    )
    result["power"]["cap_w"] = None
    assert list(summarize_results(result))[1].endswith(" W per accelerator without a cap")


def test_run_of_a_cpu_beside_simulated_boards_ends_without_energy() -> None:
    result = copy_evidence().result
    result["sampling"]["meter"] = "simulated:h200"
    throughput, energy = summarize_results(result)
    assert throughput.endswith(", computed by the CPU")
    assert energy == "energy: none, because the power is that of simulated boards"


def test_server_ends_with_its_median_latency() -> None:
    result = copy_evidence(serving=True).result
    serving = figures_from_json(result).serving
    assert serving is not None
    throughput, _ = summarize_results(result)
    assert throughput.endswith(f", median latency {serving.latency_s.p50:.4g} s")


@pytest.mark.parametrize("is_verbose", [False, True])
def test_run_ends_in_three_lines_and_shows_details_if_asked(
    tmp_path: Path, is_verbose: bool
) -> None:
    """Warnings stay, notes are counted."""
    evidence = copy_evidence()
    evidence.environment |= {"container": None, "git": {"commit": "1" * 40, "dirty": True}}
    bundle = tmp_path / "run"
    write_bundle(evidence, bundle)
    output = io.StringIO()
    outcome = conclude_run(bundle, Console(file=output, width=80), is_verbose)
    lines = output.getvalue().splitlines()
    details = list(describe_results(evidence.result))
    assert lines[: len(details)] == details if is_verbose else not set(lines) & set(details)
    assert lines[-3:-1] == list(summarize_results(evidence.result))
    found = Counter(f.severity for f in judge(bundle, signed=False).findings)
    assert outcome.passes and found[Severity.WARNING] and found[Severity.NOTE]
    shown = Counter(line.partition(" ")[0] for line in lines)
    assert shown["warning"] == found[Severity.WARNING]
    assert shown["note"] == (found[Severity.NOTE] if is_verbose else 0)
    assert lines[-1].startswith(
        f"pre-check: no errors, {format_count(found['warning'], 'warning')}"
    )
    assert lines[-1].endswith(
        f"; next: bench-submit sign {bundle} --key KEY --principal CENTER@DOMAIN"
    )
    assert is_verbose != (" (bench-check --local shows " in lines[-1])
