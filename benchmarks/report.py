"""How long `bench-report` takes with many bundles, how much memory, and how the page does in a browser.

Makes signed copies of the reference bundles, on as many systems as needed, and runs `bench-report` over them and over the
published figures in a process of its own, as a user would. With playwright and a Chromium it also opens the page.

    python benchmarks/report.py --copies 1000

docs/performance.md has what that gave.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from check_bundles import PRINCIPAL, ROOT, cpu_s

from harness import bundle
from harness.sign import sign

REPEATS = 5
"""Copies of each reference bundle on one system; the next ones are on another."""


def main() -> None:
    """Print seconds, memory, size, first paint and the time of a sort."""
    parser = argparse.ArgumentParser(description="How long bench-report takes with many bundles.")
    parser.add_argument("--copies", type=int, default=1000)
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the bundles and the page there, and use those that are there"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = arguments.keep or Path(scratch)
        if not (place / "submissions").exists():
            fill(place / "submissions", arguments.copies)
        page = place / "report.html"
        begin, cpu_before = time.perf_counter(), cpu_s()
        most_kib = run([place / "submissions", ROOT / "submissions" / "published"], page)
        seconds, cpu = time.perf_counter() - begin, cpu_s() - cpu_before
        print(f"{arguments.copies} bundles on {os.cpu_count()} cores: {seconds:.1f} s, {cpu:.1f} s of CPU")
        print(f"all processes together at most {most_kib / 2**20:.2f} GiB, page {page.stat().st_size / 1e6:.2f} MB")
        browse(page)


def fill(submissions: Path, copies: int) -> None:
    """Signed copies of the reference bundles, `REPEATS` of each on a system, with a keyring."""
    key = submissions.parent / "key"
    submissions.mkdir(parents=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key], check=True)
    (submissions / "keyring").mkdir()
    (submissions / "keyring" / "allowed_signers").write_text(f"{PRINCIPAL} {key.with_suffix('.pub').read_text()}")
    originals = sorted(manifest.parent for manifest in ROOT.glob("submissions/reference/*/*/MANIFEST.json"))
    for number in range(copies):
        original, system = originals[number % len(originals)], number // len(originals) // REPEATS
        run_id = f"{original.name}-{number:04}"
        directory = submissions / "example" / f"system{system}" / run_id
        shutil.copytree(original, directory, ignore=shutil.ignore_patterns("signatures"))
        for name, changed in (("result.json", {"run_id": run_id}), ("system.json", {"name": f"system {system}"})):
            content = json.loads((directory / name).read_text())
            (directory / name).write_text(json.dumps({**content, **changed}))
        bundle.seal(directory)
        sign(directory, key, PRINCIPAL)


def run(paths: list[Path], page: Path) -> int:
    """Make the page; returns the most memory in KiB that all its processes had at one time, shared pages counted for each."""
    code = "from reporting.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, paths), "-o", str(page)], cwd=ROOT, start_new_session=True)
    most = 0
    while process.poll() is None:
        listed = subprocess.run(["ps", "-o", "rss=", "-s", str(process.pid)], capture_output=True, text=True, check=False)
        most = max(most, sum(map(int, listed.stdout.split())))
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"bench-report failed with status {process.returncode}")
    return most


def browse(page: Path) -> None:
    """Print the first paint and the time of a sort of the longest table, each of five loads."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("no browser figures: they need playwright and chromium")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(5):
            tab = browser.new_page()
            tab.goto(page.as_uri())
            while (paint_ms := tab.evaluate(_PAINT)) is None:  # the page's policy forbids playwright's own waiting
                time.sleep(0.05)
            sort_ms, rows = tab.evaluate(_SORT)
            print(f"first paint {paint_ms:.0f} ms; sort of {rows} rows {sort_ms:.0f} ms")
            tab.close()
        browser.close()


_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_SORT = """() => {
  const tables = [...document.querySelectorAll("table[data-table]")];
  const longest = tables.reduce((a, b) => (b.rows.length > a.rows.length ? b : a));
  for (let fold = longest.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  const button = longest.querySelector("thead th button") || longest.querySelector("thead th");
  longest.getBoundingClientRect();
  const begin = performance.now();
  button.click();
  longest.getBoundingClientRect();
  return [performance.now() - begin, longest.rows.length - 1];
}"""


if __name__ == "__main__":
    main()
