"""What the terminal says of the figures of a finished run."""

from conftest import copy_evidence

from harness.run.plan import SIMULATED_WORK
from harness.run.progress import describe_results
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
