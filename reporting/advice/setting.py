"""How a cap is set: lines for a job, a prolog and the tools of the vendor."""

from dataclasses import dataclass

from reporting.results_model import ResultRow
from rules.boards import find_board


@dataclass(frozen=True)
class SettingLine:
    """A command, and who runs it."""

    where: str
    command: str


def list_setting_lines(row: ResultRow, cap_w: float) -> list[SettingLine]:
    """The commands that set a cap on every board of a node, by docs/caps.md. Power limits are whole
    watts there.

    `dcgmi config` sets the limit and enforces it again. `dcgmi policy` only notifies of excess.
    Source: command line reference of DCGM, dcgmi config and dcgmi policy.
    """
    watts = round(cap_w)
    lines = [
        SettingLine("job, by Slurm", f"sbatch --exclusive --comment=wattmark-cap={watts} job.sh"),
        SettingLine("prolog of Slurm", f"/usr/local/sbin/wattmark-cap {watts}"),
    ]
    board = find_board(row.accelerator)
    # AMD SMI spells the option in another way in each version; wattmark-cap writes sysfs.
    if board is not None and board.vendor == "NVIDIA":
        lines += [
            SettingLine("root, by the driver", f"nvidia-smi -pl {watts}"),
            SettingLine("root, by DCGM", f"dcgmi config --set -P {watts}"),
            SettingLine("notice of excess", f"dcgmi policy --set 0,0 -P {watts}"),
        ]
    return lines


def format_sweep_command(row: ResultRow, caps_w: list[float], repeat: int | None = None) -> str:
    """The sweep that measures these caps with the settings of a run."""
    words = ["bench-submit sweep", row.workload]
    if row.variant:
        words.append(f"--variant {row.variant}")
    if row.batch_size:
        is_served = row.provenance is not None and row.provenance.run.requests is not None
        words.append(f"{'--concurrency' if is_served else '--batch'} {row.batch_size}")
    if row.count and row.count > 1:
        words.append(f"--gpus {row.count}")
    words.append("--caps " + ",".join(f"{cap_w:g}" for cap_w in sorted(caps_w)))
    if repeat:
        words.append(f"--repeat {repeat}")
    return " ".join(words)
