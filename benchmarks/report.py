"""How long `bench-report` takes with many bundles, how much memory, and how the page does in a
browser.

Makes signed runs like the committed ones (see check_bundles.py), on as many systems as needed, and
runs `bench-report` over them and the published figures in a process of its own, as a user would.
With playwright and a Chromium it also opens the page.

    python benchmarks/report.py --bundles 1000

docs/performance.md has what that gave.
"""

import argparse
import json
import multiprocessing
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from check_bundles import (
    MOST_SHORTER,
    ROOT,
    RUNS_A_SYSTEM,
    allow,
    count_cores,
    get_children_cpu_s,
    make_run,
)

sys.path.insert(0, str(ROOT / "tests"))

from support.committed_runs import find_reference_runs

from rules.protocol import CURRENT

MIN_EPOCH_S = CURRENT.min_epoch_s


def main() -> None:
    """Print seconds, memory, size, first paint, and the times of a sort and of choices."""
    parser = argparse.ArgumentParser(description="How long bench-report takes with many bundles.")
    parser.add_argument("--bundles", type=int, default=1000)
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="keep the bundles and the page there, and use those that are there",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = arguments.keep or Path(scratch)
        if not (place / "submissions").exists():
            fill(place / "submissions", arguments.bundles)
        page = place / "report.html"
        begin, cpu_before = time.perf_counter(), get_children_cpu_s()
        most_kib = run([place / "submissions", ROOT / "submissions" / "published"], page)
        seconds, cpu = time.perf_counter() - begin, get_children_cpu_s() - cpu_before
        print(
            f"{arguments.bundles} bundles on {count_cores()} cores: {seconds:.1f} s, "
            f"{cpu:.1f} s of CPU"
        )
        print(
            f"all processes together at most {most_kib / 2**20:.2f} GiB, page "
            f"{page.stat().st_size / 1e6:.2f} MB"
        )
        browse(page)


def fill(submissions: Path, count: int) -> None:
    """Different, signed runs like the committed ones on GPUs, but for those of servers, some on a
    system, with a keyring."""
    key = submissions.parent / "key"
    submissions.mkdir(parents=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key], check=True)
    allow(submissions, key)
    sources = [run for run in find_reference_runs() if may_be_altered(run)]
    runs = []
    for number in range(count):
        place, of_source = number % len(sources), number // len(sources)
        runs.append((sources[place], number, f"system-{place:02}-{of_source // RUNS_A_SYSTEM:03}"))
    with multiprocessing.Pool() as pool:
        pool.starmap(partial(make_run, submissions, key), sorted(runs), chunksize=8)


def may_be_altered(run: Path) -> bool:
    """Whether a run is no server's, and its epochs stay long enough when batches get shorter."""
    epochs = json.loads((run / "result.json").read_text())["epochs"]
    shortest_s = min(epoch["active_s"] for epoch in epochs)
    return not (run / "requests.csv.gz").exists() and shortest_s * (1 - MOST_SHORTER) > MIN_EPOCH_S


def run(paths: list[Path], page: Path) -> int:
    """Make the page; returns the most memory in KiB that all its processes had at one time, shared
    pages counted for each."""
    code = "from reporting.cli import start; start()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, paths), "-o", str(page)],
        cwd=ROOT,
        start_new_session=True,
    )
    max_kib = 0
    while process.poll() is None:
        listed = subprocess.run(
            ["ps", "-o", "rss=", "-s", str(process.pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        max_kib = max(max_kib, sum(map(int, listed.stdout.split())))
        # More often, `ps` would take several percent of the time that is measured.
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
    if process.returncode:
        raise SystemExit(f"bench-report failed with status {process.returncode}")
    return max_kib


def browse(page: Path) -> None:
    """Print the first paint, the time of a sort of the longest table, and that of choices in the
    control bar, each of five loads."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("no browser figures: they need playwright and chromium")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"], timeout=0
        )
        for _ in range(5):
            tab = browser.new_page()
            tab.goto(page.as_uri(), timeout=0)
            tab.wait_for_function("() => window.wattmark")
            while (
                paint_ms := tab.evaluate(_PAINT)
            ) is None:  # the page's policy forbids playwright's own waiting
                time.sleep(0.05)
            sort_ms, rows = tab.evaluate(_SORT)
            print(f"first paint {paint_ms:.0f} ms; sort of {rows} rows {sort_ms:.0f} ms")
            repaints_ms = tab.evaluate(_REPAINT)
            print(
                f"choice in the control bar to the second frame after it: {min(repaints_ms):.0f} "
                f"to {max(repaints_ms):.0f} ms"
            )
            tab.close()
        browser.close()


_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_SORT = """() => {
  const tables = [...document.querySelectorAll("table[data-table], table[data-compact]")];
  const longest = tables.reduce((a, b) => (b.rows.length > a.rows.length ? b : a));
  for (
    let fold = longest.closest("details"); fold; fold = fold.parentElement.closest("details")
  ) fold.open = true;
  const button = longest.querySelector("thead th button") || longest.querySelector("thead th");
  longest.getBoundingClientRect();
  const begin = performance.now();
  button.click();
  longest.getBoundingClientRect();
  return [performance.now() - begin, longest.rows.length - 1];
}"""

_REPAINT = """async () => {
  const nextFrame = () => new Promise(requestAnimationFrame);
  const fields = document.getElementById("control-bar").elements;
  const repaintsMs = [];
  for (const [name, value] of [
    ["board", "H200"], ["standing", "closed"], ["cap", "700"],
    ["cap", ""], ["standing", ""], ["board", ""],
  ]) {
    await nextFrame();
    const begin = performance.now();
    fields[name].value = value;
    fields[name].dispatchEvent(new Event("input", { bubbles: true }));
    await nextFrame();
    await nextFrame();
    repaintsMs.push(performance.now() - begin);
  }
  return repaintsMs;
}"""


if __name__ == "__main__":
    main()
