"""CodeCarbon: emissions.csv.

Source: https://github.com/mlco2/codecarbon. Energies are in kWh. Rows of one run_id are cumulative,
so that the last one counts. The energy of processors and memory is in most cases a model.
"""

from collections.abc import Iterator

from checker.audit.folder import Folder, Json, require_number, take_number, take_text
from rules.audit.row import Basis, Check, Figure, Row, Scope, Topic

TITLE = "CodeCarbon (emissions.csv)"
_COLUMNS = {"run_id", "duration", "cpu_energy", "gpu_energy", "ram_energy", "energy_consumed"}
_J_PER_KWH = 3.6e6
_PARTS = ("cpu_energy", "gpu_energy", "ram_energy")
_PART_TOLERANCE = 1e-3


def find(folder: Folder) -> Iterator[str]:
    """CSV files with the columns of the program."""
    for name in folder.names:
        if name.endswith(".csv") and _COLUMNS.issubset(folder.read_header(name)):
            yield name


def read(folder: Folder, name: str) -> Iterator[Row]:
    """A row for each run: its last row in the file."""
    last: dict[str, tuple[int, Json]] = {}
    counts: dict[str, int] = {}
    for number, cells in enumerate(folder.read_rows(name), 2):
        run = cells["run_id"] or str(number)
        before = last.get(run)
        counts[run] = counts.get(run, 0) + 1
        duration_s = require_number(cells, "duration", name, f"row {number}")
        if before is None or duration_s >= require_number(before[1], "duration", name):
            last[run] = number, cells
    for run, (number, cells) in last.items():
        yield _read_run(cells, name, f"row {number}", counts[run])


def _read_run(cells: Json, name: str, place: str, rows: int) -> Row:
    duration_s = require_number(cells, "duration", name, place)
    gpu_j = _J_PER_KWH * require_number(cells, "gpu_energy", name, place)
    total_j = _J_PER_KWH * require_number(cells, "energy_consumed", name, place)
    parts_j = [_J_PER_KWH * (take_number(cells, part, name, place) or 0.0) for part in _PARTS]
    boards = take_number(cells, "gpu_count", name, place)
    has_boards = gpu_j > 0
    remarks = [
        f"with processors and memory, by models: {total_j:.8g} J",
        "gpu_power is neither the energy over the duration nor a maximum",
    ]
    if rows > 1:
        remarks.append(f"{rows} rows of the run are cumulative: only the last one counts")
    return Row(
        source="codecarbon",
        place=f"{name} {place}",
        files=(name,),
        workload=take_text(cells, "project_name"),
        board=take_text(cells, "gpu_model").partition(" x ")[2],
        boards=round(boards) if boards else None,
        scope=Scope.BOARDS if has_boards else Scope.MACHINE,
        duration_s=duration_s,
        energy_j=Figure(gpu_j, Basis.STATED, "gpu_energy") if has_boards else None,
        mean_power_w=gpu_j / duration_s if has_boards and duration_s > 0 else None,
        checks=(
            Check(
                Topic.PARTS,
                "energy_consumed",
                "J",
                total_j,
                sum(parts_j),
                "the sum of processors, boards and memory",
                tolerance=_PART_TOLERANCE,
                by_construction=True,
            ),
        ),
        silent=()
        if has_boards or duration_s <= 0
        else (
            f"gpu_energy: 0 J in {duration_s:.6g} s, with a gpu_count of "
            f"{'none' if boards is None else f'{boards:g}'}",
        ),
        missing=("samples", "items", "idle power", "power cap"),
        remarks=tuple(remarks),
    )
