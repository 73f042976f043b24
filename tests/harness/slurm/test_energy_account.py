"""The energy accounting of Slurm, as its commands print it."""

import os
from pathlib import Path

import pytest

from harness.slurm.energy import open_account, parse_count_j, parse_plugin
from harness.slurm.job import JobEnergy, SlurmJob

CONFIGURATION = """\
Configuration data as of 2026-11-23T10:55:59
AcctGatherEnergyType    = {plugin}
AcctGatherProfileType   = acct_gather_profile/none
"""
JOB = SlurmJob("12", "0", 0, None, None)


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        ("acct_gather_energy/ipmi", "acct_gather_energy/ipmi"),
        ("acct_gather_energy/gpu,acct_gather_energy/rapl",) * 2,
        ("acct_gather_energy/none", None),
        ("(null)", None),
        ("", None),
    ],
)
def test_plugin_is_that_of_the_configuration(plugin: str, expected: str | None) -> None:
    assert parse_plugin(CONFIGURATION.format(plugin=plugin)) == expected
    assert parse_plugin("") is None


@pytest.mark.parametrize(
    ("output", "count_j"),
    [
        ("12.0|2100\n", 2100),
        ("12.batch|0\n", 0),
        ("12.0|\n", None),
        ("12.0|18446744073709551614\n", None),
        # Slurm 22.05.8, after a counter that it could not read.
        ("12.0|18446744073704536064\n", None),
        ("12.0|2.10K\n", None),
        ("12.0|1\n12.1|2\n", None),
        ("", None),
    ],
)
def test_count_is_the_value_of_the_step(output: str, count_j: int | None) -> None:
    assert parse_count_j(output) == count_j


def write_commands(folder: Path, plugin: str) -> dict[str, str]:
    """scontrol, and an sstat that prints 1000 J at its first call and 300 J more at each other."""
    programs = {
        "scontrol": f"cat <<'END'\n{CONFIGURATION.format(plugin=plugin)}END",
        "sstat": f'echo >>{folder}/calls\necho "$*" >{folder}/last\n'
        f'echo "12.0|$((700 + 300 * $(wc -l <{folder}/calls)))"',
    }
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_energy_of_a_run_is_what_its_step_consumed_meanwhile(tmp_path: Path) -> None:
    environment = write_commands(tmp_path, "acct_gather_energy/ipmi")
    account = open_account(JOB, environment)
    assert account is not None and account.start_j == 1000
    assert account.read(environment) == JobEnergy(300, "acct_gather_energy/ipmi")
    assert "--jobs=12.0" in (tmp_path / "last").read_text()


def test_slurm_that_counts_no_energy_is_not_asked_for_it(tmp_path: Path) -> None:
    environment = write_commands(tmp_path, "acct_gather_energy/none")
    assert open_account(JOB, environment) is None and not (tmp_path / "calls").exists()
    assert open_account(None, environment) is None
    assert open_account(JOB, {"PATH": str(tmp_path / "nowhere")}) is None


def test_count_that_does_not_rise_states_no_energy(tmp_path: Path) -> None:
    environment = write_commands(tmp_path, "acct_gather_energy/ipmi")
    account = open_account(JOB, environment)
    (tmp_path / "calls").unlink()
    assert account is not None and account.read(environment) is None
