"""Write what the pages show of the committed round: tables, and the outputs of commands.

    python scripts/round_pages.py            writes all, in one to two minutes
    python scripts/round_pages.py --check    fails if a page is not current

A table stands between the lines `<!-- begin NAME -->` and `<!-- end NAME -->`; `TABLES` has what
fills it. The output of a block `console` with the line `<!-- written by scripts/round_pages.py -->`
above it is that of its commands, and so is the block `text` after a block `python` of the pages
`PAGES_WITH_CODE`. A line `…` of a page stands for lines that it leaves out. Then each shown line is
renewed by the line of the output that equals it up to numbers. The whole tables, with a row for
each run, are the files `CSV_FILES`. A test requires that the committed pages and files are current,
numbers included.
"""

import contextlib
import csv
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("", "benchmarks", "benchmarks/node_power", "tests")]

import agreement  # noqa: E402
import batch_lengths  # noqa: E402
import dataset_columns  # noqa: E402
import node_clocks  # noqa: E402
import round_runs  # noqa: E402
from round_runs import CommittedRun  # noqa: E402
from support.console.blocks import GAP, PAGES, match_lines  # noqa: E402

from rules.testing.frames import EvidenceFrames  # noqa: E402

MARK = "<!-- written by scripts/round_pages.py -->"
PAGES_WITH_CODE = ("docs/dataset.md", "docs/look-at-your-own-run.md")
_CONSOLE = re.compile(rf"(?<=^{re.escape(MARK)}\n)```console\n(.*?)^```$", re.M | re.S)
_CODE = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.M | re.S)


def frames_of(run: CommittedRun) -> EvidenceFrames:
    assert run.bundle.evidence is not None
    return EvidenceFrames.of(run.bundle.evidence)


def render_agreement(runs: Sequence[CommittedRun]) -> str:
    return agreement.render_table(map(frames_of, runs))


def render_batch_lengths(runs: Sequence[CommittedRun]) -> str:
    """Every length of a batch of the round."""
    evidences = ((run.bundle.path, frames_of(run)) for run in runs)
    return "\n".join(
        [batch_lengths.HEAD, *(row for _, row in batch_lengths.render_rows(evidences))]
    )


RESULTS = "benchmarks/results"
Render = Callable[[Sequence[CommittedRun]], str]
TABLES: dict[str, dict[str, Render]] = {
    "docs/dataset.md": {"columns": lambda _: dataset_columns.render_columns()},
    "docs/performance.md": {"best results": round_runs.render_best_results},
    "docs/measurement.md": {
        "agreement": lambda _: agreement.summarise(read_csv("agreement")),
        "node clocks": lambda _: node_clocks.summarise(read_csv("node-clocks")),
    },
}
"""The generated tables of each page by name. Summaries come from the files with all rows."""

CSV_FILES: dict[str, Render] = {
    f"{RESULTS}/single-results.csv": round_runs.render_single_results,
    f"{RESULTS}/board-ratios.csv": round_runs.render_board_ratios,
    f"{RESULTS}/serving.csv": round_runs.render_serving,
    f"{RESULTS}/scaling.csv": round_runs.render_scaling,
    f"{RESULTS}/control-runs.csv": round_runs.render_control_runs,
    f"{RESULTS}/agreement.csv": render_agreement,
    f"{RESULTS}/batch-lengths.csv": render_batch_lengths,
    f"{RESULTS}/node-clocks.csv": lambda _: node_clocks.render_table(),
}
"""What fills each file with a row for each run, a table in Markdown."""


def read_csv(name: str) -> list[list[str]]:
    """The rows of a file of `CSV_FILES`, without its head."""
    with (ROOT / RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def write_csv(table: str) -> str:
    """A table in Markdown as CSV."""
    head, _, *rows = table.splitlines()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([cell.strip() for cell in line.split("|")[1:-1]] for line in (head, *rows))
    return text.getvalue()


def fill_tables(text: str, page: str, runs: Sequence[CommittedRun]) -> str:
    """A page with its tables. Raises ValueError where a mark is missing."""
    for name, render in TABLES.get(page, {}).items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        head, rest = text.split(begin)
        _, tail = rest.split(end)
        text = f"{head}{begin}\n{render(runs)}\n\n{end}{tail}"
    return text


@contextlib.contextmanager
def open_round() -> Iterator[Path]:
    """A directory with the files of the project, in which commands may write."""
    with tempfile.TemporaryDirectory() as scratch:
        for path in ROOT.iterdir():
            if path.name != "build" and not path.name.startswith("."):
                (Path(scratch) / path.name).symlink_to(path)
        with contextlib.chdir(scratch):
            yield Path(scratch)


class OutputChangedError(Exception):
    """An output has lines that a page with gaps does not show alike."""


def execute(command: str) -> list[str]:
    """The lines that a command prints."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "200",
    }
    process = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise OutputChangedError(f"{command}: {process.stderr or process.stdout}")
    return [line.rstrip() for line in process.stdout.splitlines()]


def renew_lines(shown: Sequence[str], printed: Sequence[str]) -> list[str]:
    """The lines of a page as the output has them now. A line with a gap in it stays."""
    if not any(GAP in line for line in shown):
        return list(printed)
    numbers = match_lines(list(shown), list(printed))
    if numbers is None:
        raise OutputChangedError("\n".join(["edit the page; the output is now:", *printed]))
    positions = iter(numbers)
    renewed = []
    for line in shown:
        number = None if line.strip() == GAP else next(positions)
        renewed.append(line if number is None or GAP in line else printed[number])
    return renewed


def renew_console(block: re.Match[str]) -> str:
    """A block `console` with the outputs of its commands."""
    parts = re.split(r"^(?=\$ )", block[1], flags=re.MULTILINE)
    renewed = [parts[0]]
    for part in parts[1:]:
        command = re.match(r"\$ (?:.*\\\n)*.*\n", part)
        assert command
        shown = part[command.end() :].splitlines()
        printed = execute(command[0][2:])
        lines = renew_lines(shown, printed) if shown else []
        renewed.append(command[0] + "".join(f"{line}\n" for line in lines))
    return f"```console\n{''.join(renewed)}```"


def renew_code(names: dict[str, Any], block: re.Match[str]) -> str:
    """A block `python` and the block `text` of what it prints. Names last for a page."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(block[1], names)
    printed = "".join(f"{line.rstrip()}\n" for line in output.getvalue().splitlines())
    return f"```python\n{block[1]}```\n\n```text\n{printed}```"


def renew_outputs(text: str, page: str) -> str:
    """A page with its outputs. Commands come first: code reads what they write."""
    if MARK in text or page in PAGES_WITH_CODE:
        with open_round():
            text = _CONSOLE.sub(renew_console, text)
            if page in PAGES_WITH_CODE:
                text = _CODE.sub(partial(renew_code, {}), text)
    return text


def list_pages() -> list[str]:
    """The pages and files that show something of the round."""
    names = [path.relative_to(ROOT).as_posix() for path in PAGES]
    pages = [
        name
        for name in names
        if name in TABLES or name in PAGES_WITH_CODE or MARK in (ROOT / name).read_text("utf-8")
    ]
    return [*CSV_FILES, *pages]


def render_page(page: str, runs: Sequence[CommittedRun]) -> str:
    """The text that a page should have. Raises OutputChangedError where a person has to edit it."""
    if page in CSV_FILES:
        return write_csv(CSV_FILES[page](runs))
    text = (ROOT / page).read_text("utf-8")
    return renew_outputs(fill_tables(text, page, runs), page)


def main(arguments: Sequence[str]) -> None:
    runs = round_runs.read_runs(ROOT / "submissions")
    outdated = []
    for page in list_pages():
        try:
            text = render_page(page, runs)
        except OutputChangedError as error:
            sys.exit(f"{page}: {error}")
        if not (ROOT / page).exists() or text != (ROOT / page).read_text("utf-8"):
            outdated.append(page)
            if "--check" not in arguments:
                (ROOT / page).write_text(text, "utf-8")
    if outdated and "--check" in arguments:
        sys.exit(f"{', '.join(outdated)}: run python scripts/round_pages.py")


if __name__ == "__main__":
    main(sys.argv[1:])
