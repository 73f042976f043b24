"""hpc-ai-perf-bench, the code of Mayr et al.: one row of a CSV file per run.

Source: https://github.com/RRZE-HPC/hpc-ai-perf-bench. The power is the mean over all samples, with
the first epoch, per board. The rate is the mean over the epochs without the first.
"""

from collections.abc import Iterator

from checker.audit.folder import Folder, require_number, take_number, take_text
from rules.audit.row import Basis, Check, Figure, Row, Topic
from rules.workloads import workloads

TITLE = "hpc-ai-perf-bench (*_benchmark_async.csv)"
_COLUMNS = {"gpu_name", "num_gpus", "avg_train_sps", "avg_gpu_power_watts"}
_WORKLOADS = {"resnet": "resnet50-train", "vit": "vitl16-train", "ldm": "sd2-latents-train"}
_USUAL_PX = {"resnet": 224.0, "vit": 224.0, "ldm": 512.0}


def find(folder: Folder) -> Iterator[str]:
    """CSV files with the columns of the program."""
    for name in folder.names:
        if name.endswith(".csv") and _COLUMNS.issubset(folder.read_header(name)):
            yield name


def read(folder: Folder, name: str) -> Iterator[Row]:
    """A row for each run in the file."""
    kind = name.partition("_")[0]
    for number, cells in enumerate(folder.read_rows(name), 2):
        place = f"row {number}"
        boards = round(require_number(cells, "num_gpus", name, place))
        board_w = require_number(cells, "avg_gpu_power_watts", name, place)
        rate = take_number(cells, "avg_train_sps", name, place)
        cap_w = take_number(cells, "power_limit_watts", name, place)
        most = take_number(cells, "max_train_sps", name, place)
        least = take_number(cells, "min_train_sps", name, place)
        img_px = take_number(cells, "img_size", name, place)
        flops = None
        if kind in _WORKLOADS and img_px == _USUAL_PX[kind]:
            flops = workloads()[_WORKLOADS[kind]].full.flops_per_item
        checks = []
        if rate is not None and most is not None and least is not None:
            within = min(max(rate, least), most)
            how = "the least and the highest epoch"
            checks.append(
                Check(Topic.RATE, "rate", "items/s", rate, within, how, by_construction=True)
            )
        yield Row(
            source="hpc-ai-perf-bench",
            place=f"{name} {place}",
            files=(name,),
            workload=f"{kind} batch {take_text(cells, 'batch_size')}",
            board=take_text(cells, "gpu_name"),
            boards=boards,
            mean_power_w=board_w * boards,
            items_per_s=rate,
            joules_per_item=Figure(
                board_w * boards / rate, Basis.DERIVED, "power per board x boards / rate"
            )
            if rate
            else None,
            cap_w=cap_w,
            max_board_w=take_number(cells, "hw_max_power_watts", name, place),
            flops_per_item=flops,
            checks=tuple(checks),
            silent=(f"{place}: avg_gpu_power_watts is 0",) if board_w == 0 else (),
            missing=("samples", "window", "number of items", "energy"),
            remarks=(
                "power is the mean over all epochs of a reading that averages over 1 s; the rate "
                "leaves the first epoch out",
                "the energy per item holds if the rate is that of all boards, which the file does "
                "not say",
                "a failed reading counts as 0 W in the mean",
            ),
        )
