"""Runs against other runs on the same board: the last columns of the batch sizes of ResNet-50 on
H200 in docs/performance.md.

    python benchmarks/board_ratios.py submissions/reference/h200/*resnet50-train*/

Boards differ by some percent, and runs on one board by a few tenths. A ratio of two runs on one
board has no difference between boards in it. The reference on each board is the mean of its runs in
the setting that most boards have. Boards without such a run, studies, and runs on several
accelerators are left out.
"""

import sys
from collections import defaultdict
from statistics import fmean

from measured_runs import read_runs

from rules.bundle_format.records import Json

FIGURES = ("items_per_s", "joules_per_item")


def get_setting(result: Json) -> tuple[str, str, int]:
    return result["workload"], result["implementation"]["variant"], result["settings"]["batch_size"]


def get_board(result: Json) -> str:
    return str(result["observed"][0]["accelerator"])


def main() -> None:
    results = [
        evidence.result
        for _, evidence in read_runs(sys.argv[1:])
        if evidence.result["settings"]["accelerators"] == 1
    ]
    boards_by_setting: dict[tuple[str, str, int], set[str]] = defaultdict(set)
    for result in results:
        boards_by_setting[get_setting(result)].add(get_board(result))
    reference = max(boards_by_setting, key=lambda setting: len(boards_by_setting[setting]))
    print(f"reference: {' '.join(map(str, reference))}\n")
    print("| run | board | began | items/s | J/item | items/s against | J/item against |")
    print("|---|---|---|---|---|---|---|")
    for board in sorted(boards_by_setting[reference]):
        on_board = [result for result in results if get_board(result) == board]
        if len(on_board) < 2:
            continue
        reference_means = {
            figure: fmean(
                result["headline"][figure]["mean"]
                for result in on_board
                if get_setting(result) == reference
            )
            for figure in FIGURES
        }
        for result in sorted(on_board, key=lambda result: str(result["started_at"])):
            values = {figure: result["headline"][figure]["mean"] for figure in FIGURES}
            ratios = [100 * (values[figure] / reference_means[figure] - 1) for figure in FIGURES]
            print(
                f"| {' '.join(map(str, get_setting(result)))} | {board[4:8]} "
                f"| {result['started_at'][11:16]} | {values['items_per_s']:.1f} "
                f"| {values['joules_per_item']:.5f} | {ratios[0]:+.1f} % | {ratios[1]:+.1f} % |"
            )


if __name__ == "__main__":
    main()
