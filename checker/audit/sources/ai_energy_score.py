"""AI Energy Score: the summary of the phases of a task in Wh, and tables of results.

Source: https://github.com/huggingface/AIEnergyScore. The energies come from CodeCarbon. The task
has 1000 prompts by its rules.
"""

from collections.abc import Iterator

from checker.audit.folder import Folder, require_number, take_number, take_text
from rules.audit.row import Basis, Check, Figure, Row, Topic

TITLE = "AI Energy Score (GPU_ENERGY_SUMMARY.json, master_results.csv)"
SUMMARY = "GPU_ENERGY_SUMMARY.json"
_TOTAL_ONLY = "GPU_ENERGY_WH.txt"
_PHASES = ("preprocess_wh", "prefill_wh", "decode_wh")
_COLUMNS = {"model_name", "gpu_energy_wh", "successful_prompts", "total_duration_seconds"}
_J_PER_WH = 3600.0
_ROUNDING_WH = 0.02
"""Phases and total are each rounded to 0.01 Wh."""
_PROMPTS = 1000


def find(folder: Folder) -> Iterator[str]:
    """The summary, and tables with the columns of the program."""
    if folder.has(SUMMARY):
        yield SUMMARY
    elif folder.has(_TOTAL_ONLY):
        yield _TOTAL_ONLY
    for name in folder.names:
        if name.endswith(".csv") and _COLUMNS.issubset(folder.read_header(name)):
            yield name


def read(folder: Folder, name: str) -> Iterator[Row]:
    """The row of the summary, or a row for each result of the table."""
    if name.endswith(".csv"):
        yield from _read_table(folder, name)
        return
    actual = folder.locate(name)
    checks = []
    if name == SUMMARY:
        summary = folder.read_object(name)
        total_wh = require_number(summary, "total", actual)
        phases_wh = [take_number(summary, phase, actual) for phase in _PHASES]
        sum_wh = sum(value for value in phases_wh if value is not None)
        if None not in phases_wh:
            checks.append(
                Check(
                    *(Topic.PARTS, "total", "Wh", total_wh, sum_wh, "the sum of the phases"),
                    tolerance=max(0.01, _ROUNDING_WH / sum_wh) if sum_wh else 0.01,
                    by_construction=True,
                )
            )
    else:
        text = {"total": folder.read_text(name).strip()}
        total_wh = require_number(text, "total", actual)
    energy_j = _J_PER_WH * total_wh
    remarks = ["the energy is that of CodeCarbon"]
    if energy_j > 0:
        remarks.append(f"{energy_j / _PROMPTS:.6g} J per prompt, if all {_PROMPTS} were run")
    yield Row(
        source="ai-energy-score",
        place=actual,
        files=(name, _TOTAL_ONLY),
        energy_j=Figure(energy_j, Basis.STATED, "total in Wh"),
        checks=tuple(checks),
        silent=("total: 0 Wh",) if total_wh == 0 else (),
        missing=("samples", "duration", "prompts", "model", "name of the boards"),
        remarks=tuple(remarks),
    )


def _read_table(folder: Folder, name: str) -> Iterator[Row]:
    actual = folder.locate(name)
    for number, cells in enumerate(folder.read_rows(name), 2):
        place = f"row {number}"
        energy_j = _J_PER_WH * require_number(cells, "gpu_energy_wh", actual, place)
        duration_s = require_number(cells, "total_duration_seconds", actual, place)
        prompts = require_number(cells, "successful_prompts", actual, place)
        failed = take_number(cells, "failed_prompts", actual, place) or 0
        tokens = take_number(cells, "total_tokens", actual, place)
        per_joule = take_number(cells, "tokens_per_joule", actual, place)
        checks = []
        if tokens is not None and per_joule is not None and energy_j > 0:
            checks.append(
                Check(
                    *(Topic.RATE, "tokens_per_joule", "tokens/J", per_joule, tokens / energy_j),
                    "total_tokens / energy",
                    by_construction=True,
                )
            )
        yield Row(
            source="ai-energy-score",
            place=f"{name} {place}",
            files=(name,),
            workload=f"{take_text(cells, 'model_name')} {take_text(cells, 'task')}".strip(),
            unit="prompt",
            duration_s=duration_s,
            energy_j=Figure(energy_j, Basis.STATED, "gpu_energy_wh"),
            items=Figure(prompts, Basis.STATED, "successful_prompts"),
            mean_power_w=energy_j / duration_s if duration_s > 0 else None,
            checks=tuple(checks),
            silent=("gpu_energy_wh: 0 Wh",) if energy_j == 0 else (),
            unfinished=f"{failed:g} prompts failed" if failed else "",
            missing=("samples", "window", "name of the boards"),
            remarks=("tokens_per_joule counts the tokens of prompts if total_tokens does",),
        )
