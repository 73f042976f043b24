"""Changes the code in small ways, one at a time, and tells which changes no test notices.

    cd benchmarks/code_mutations
    python mutate_code.py record      which test executes which line
    python mutate_code.py run         make changes, run tests, write the table
    python mutate_code.py check       count the judgements of the table

`record` runs the tests once, in a copy of the tree, with tracing. `run` makes changes that a seeded
generator chooses, each in a copy of the tree, and runs the tests that execute the changed line:
those of the module's own test files first, then the fastest. It goes on where an earlier run ended.
A change that no test notices gets the judgement `survives`. Replace it in the table with
`equivalent: REASON` where no test can notice it, or write a test, `record`, and `run --again`.
"""

import argparse
import json
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import time
import venv
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Any

from code_changes import Change, find_changes
from code_mutation_table import COLUMNS, check, key_of, read_rows, write_rows

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent.relative_to(ROOT)
METRICS, TRUST, POWER = "tests/rules/metrics", "tests/checker/trust", "tests/harness/power"
TARGETS = {
    "rules/metrics/run.py": (METRICS, "tests/rules/test_rules.py"),
    "rules/metrics/parts.py": (METRICS,),
    "rules/metrics/energy.py": (METRICS,),
    "rules/metrics/counter.py": (METRICS,),
    "rules/metrics/sweeps/points.py": (METRICS, "tests/harness/sweep"),
    "rules/metrics/sweeps/peaks.py": (METRICS,),
    "rules/metrics/sweeps/scaling.py": (METRICS,),
    "rules/metrics/sweeps/gains.py": (METRICS,),
    "rules/metrics/sweeps/best_settings.py": (METRICS,),
    "rules/metrics/uncertainty/propagation.py": (METRICS,),
    "rules/metrics/uncertainty/repeats.py": (METRICS, "tests/harness/run/test_repeats.py"),
    "rules/metrics/uncertainty/within_run.py": (METRICS,),
    "rules/metrics/comparison.py": (METRICS, "tests/rules/test_head_to_head.py"),
    "checker/engine.py": ("tests/checker",),
    "checker/judging/bundle_judge.py": ("tests/checker",),
    "checker/judging/round_rules.py": ("tests/checker",),
    "checker/trust/authority.py": (TRUST,),
    "checker/trust/manifest.py": (TRUST,),
    "checker/trust/keyring.py": (TRUST,),
    "rules/bundle_format/files.py": ("tests/rules/bundle_format", "tests/checker"),
    "harness/power/caps/limits.py": (POWER,),
    "harness/power/caps/apply.py": (POWER,),
    "harness/power/caps/restore.py": (POWER,),
    "harness/power/caps/watchdog.py": (POWER,),
    "harness/power/caps/journal.py": (POWER,),
    "harness/power/caps/registry.py": (POWER,),
    "harness/power/caps/lock.py": (POWER,),
    "harness/power/caps/host.py": (POWER,),
    "harness/run/board_settings.py": (POWER, "tests/harness/run/test_preflight.py"),
    "harness/power/board_reader.py": (POWER,),
    "harness/power/sampler.py": (POWER,),
    "harness/power/reading_process.py": (POWER,),
    "harness/run/workers/recorder.py": ("tests/harness/run/workers/test_recorder.py",),
    "reporting/sections/compare.py": ("tests/reporting", METRICS),
}
"""The modules that are changed, and their own test files."""
TESTS = "tests/rules", "tests/checker", "tests/harness", "tests/reporting"
SLOW = tuple(
    f"tests/reporting/browser/test_report_browser{part}.py"
    for part in ("", "_charts", "_racks", "_reader")
)
MOST_LETTERS = 160
"""Of the id of a test in the table; some have long parameters."""
LEAST_CHANGES = 16
"""Of each module."""
BUDGETS_S = 30.0, 60.0
"""Seconds of tests that are run first, and where they notice nothing."""
PATIENCE, LEAST_S = 4.0, 30.0
"""A test that takes this many times its usual time, and so many seconds, has noticed the change."""
PRELOADED = (
    "numpy",
    "pandas",
    "pyarrow.csv",
    "pytest",
    "hypothesis",
    "click.testing",
    "rich.console",
)


@dataclass(frozen=True)
class Coverage:
    """Which lines of the changed modules each test executes, and its seconds."""

    seconds: dict[str, float]
    lines: dict[str, dict[str, list[int]]]
    """By test, then by file."""

    @classmethod
    def load(cls, path: Path) -> "Coverage":
        return cls(**json.loads(path.read_text()))

    def choose_tests(self, change: Change, budget_s: float) -> list[str]:
        """The tests for a change, in the order to run them.

        A line that runs on import is recorded for the first test of a process only. For such a
        line, and where no test executes the line, all tests of the module serve.
        """
        lines = range(change.line, change.line + change.code.count("\n") + 1)
        of_file = {test: set(f[change.file]) for test, f in self.lines.items() if change.file in f}
        covering = [test for test, reached in of_file.items() if not reached.isdisjoint(lines)]
        if change.runs_on_import:
            covering = []
        test_files = TARGETS[change.file]
        tests = covering or list(of_file) or [t for t in self.seconds if t.startswith(test_files)]
        tests.sort(key=lambda test: (not test.startswith(test_files), self.seconds[test]))
        chosen, total_s = [], 0.0
        for test in tests:
            total_s += self.seconds[test]
            if total_s <= budget_s or not chosen:
                chosen.append(test)
        return chosen


class Copy:
    """A copy of the tree with an environment of its own, where one change at a time is made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._clock_s = time.time()

    @property
    def python(self) -> Path:
        return self.root / ".venv/bin/python"

    def make(self) -> None:
        """Copy every file that git does not ignore, and make an environment with the packages of
        this interpreter and the copy as wattmark."""
        shutil.rmtree(self.root, ignore_errors=True)
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, names.split("\0")):
            if (ROOT / name).exists():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name, follow_symlinks=False)
        venv.create(self.root / ".venv", symlinks=True, with_pip=False)
        (packages,) = (self.root / ".venv/lib").glob("python*/site-packages")
        paths = [path for path in sys.path if path.endswith("site-packages")]
        lines = [self.root, self.root / FOLDER, *(paths or site.getsitepackages())]
        start = "import line_coverage; line_coverage.start()"
        (packages / "copy.pth").write_text("\n".join([*map(str, lines), start, ""]))

    def write(self, file: str, content: bytes) -> None:
        """Replace a file. Its time is new, so that Python compiles it again."""
        self._clock_s += 2
        (self.root / file).write_bytes(content)
        os.utime(self.root / file, (self._clock_s, self._clock_s))

    @cached_property
    def server(self) -> "subprocess.Popen[str]":
        """A process that has the libraries in memory and forks for each run of tests."""
        command = [self.python, self.root / FOLDER / "mutate_code.py", "serve"]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        # Without bytecode each run of tests would compile every module; without buffers it would
        # not notice a missing flush.
        for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
            environment.pop(name, None)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=self.root, env=environment, **pipes)  # type: ignore[call-overload, no-any-return]

    def run_tests(self, timeouts_s: dict[str, float]) -> str:
        """Run tests, each for at most its time. What notices: a test, `import` or `timeout`; empty
        where all tests pass."""
        assert self.server.stdin and self.server.stdout
        self.server.stdin.write(json.dumps(timeouts_s) + "\n")
        self.server.stdin.flush()
        return str(json.loads(self.server.stdout.readline())["noticed"])

    def try_change(self, change: Change, coverage: Coverage) -> str:
        """Make the change, run its tests and take the change back; what notices it."""
        source = (ROOT / change.file).read_bytes()
        self.write(change.file, change.apply(source))
        try:
            tried: list[str] = []
            for budget_s in BUDGETS_S:
                tests = coverage.choose_tests(change, budget_s)
                if rest := [test for test in tests if test not in tried]:
                    timeouts_s = {t: LEAST_S + PATIENCE * coverage.seconds[t] for t in rest}
                    if noticed := self.run_tests(timeouts_s):
                        return noticed
                tried += rest
            return ""
        finally:
            self.write(change.file, source)


def serve() -> None:
    """Run tests in a fork for each request on standard input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    for module in PRELOADED:
        __import__(module)
    for line in sys.stdin:
        timeouts_s = json.loads(line)
        with tempfile.NamedTemporaryFile("r") as notes:
            child = os.fork()
            if child == 0:
                os.setsid()
                os._exit(_run_pytest(timeouts_s, notes.name))
            noticed = _await(child, LEAST_S + sum(timeouts_s.values()))
            noticed = notes.read() or noticed
        answers.write(json.dumps({"noticed": noticed}) + "\n")
        answers.flush()


def _await(child: int, timeout_s: float) -> str:
    """Wait for a run of tests; `timeout` or `import` where it did not end as a run should."""
    deadline = time.monotonic() + timeout_s
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            if code == -signal.SIGALRM:
                return "timeout"
            return "" if code == 0 else "import" if code in (1, 2, 3, 4) else f"exit {code}"
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.killpg(child, 9)
            os.waitpid(child, 0)
            return "timeout"
        time.sleep(0.05)


def _run_pytest(timeouts_s: dict[str, float], notes: str) -> int:
    import pytest

    order = {test: place for place, test in enumerate(timeouts_s)}

    class Selection:
        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            items[:] = sorted(
                (item for item in items if item.nodeid in order), key=lambda i: order[i.nodeid]
            )

        def pytest_runtest_setup(self, item: pytest.Item) -> None:
            signal.setitimer(signal.ITIMER_REAL, timeouts_s[item.nodeid])  # SIGALRM ends the run

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed and not Path(notes).stat().st_size:
                Path(notes).write_text(report.nodeid)

    files = sorted({test.partition("::")[0] for test in timeouts_s})
    options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
    os.dup2(os.open(os.devnull, os.O_RDWR), 2)
    return int(pytest.main([*options, *files], plugins=[Selection()]))


def record(scratch: Path, processes: int) -> None:
    """Run the tests with tracing, and write what each executes to `coverage.json`."""
    copy, notes = Copy(scratch / "recorded"), scratch / "lines"
    copy.make()
    shutil.rmtree(notes, ignore_errors=True)
    notes.mkdir(parents=True)
    files = [str(copy.root / file) for file in TARGETS]
    environment = {
        **os.environ,
        "LINE_COVERAGE": str(notes),
        "LINE_COVERAGE_FILES": os.pathsep.join(files),
    }
    options = ["-q", "-p", "line_coverage", "-p", "no:cacheprovider", f"-n{processes}"]
    options += ["--dist=loadgroup", *(f"--ignore={test}" for test in SLOW)]
    command = [copy.python, "-m", "pytest", *options, *TESTS]
    subprocess.run(command, cwd=copy.root, env=environment, check=False)
    passed = (line.rstrip("\n").rsplit("\t", 1) for line in (notes / "passed").open())
    seconds = {_without_group(test): float(duration) for test, duration in passed}
    lines: dict[str, dict[str, set[int]]] = {}
    for path in notes.glob("*.lines"):
        for line in path.open():
            test, _, places = line.rstrip("\n").partition("\t")
            of_test = lines.setdefault(_without_group(test), {})
            for place in places.split(","):
                number, _, at = place.partition(":")
                of_test.setdefault(list(TARGETS)[int(number)], set()).add(int(at))
    lines_by_test = {
        t: {f: sorted(of) for f, of in lines[t].items()} for t in lines if t in seconds
    }
    (scratch / "coverage.json").write_text(json.dumps({"seconds": seconds, "lines": lines_by_test}))
    print(
        f"{len(seconds)} tests, {len(lines_by_test)} of which execute a line of "
        f"{len(TARGETS)} modules"
    )


def _without_group(test: str) -> str:
    """The id of a test, to which pytest-xdist appends the name of its group."""
    return re.sub(r"@[a-z-]+$", "", test)


def choose_changes(count: int, seed: int, modules: list[str], done: set[Any]) -> list[Change]:
    """Changes of all modules, in proportion to how many there are, those of the table first."""
    by_file = {file: find_changes(file, (ROOT / file).read_bytes()) for file in modules}
    total = sum(map(len, by_file.values()))
    chosen = []
    for file, changes in by_file.items():
        share = max(LEAST_CHANGES, -(-count * len(changes) // total))
        random = Random(f"{seed} {file}")
        ranked = sorted(changes, key=lambda change: (change.key not in done, random.random()))
        chosen += ranked[: max(share, sum(change.key in done for change in changes))]
    return chosen


def run(arguments: argparse.Namespace) -> None:
    """Try changes until `--changes` are in the table."""
    coverage = Coverage.load(arguments.scratch / "coverage.json")
    rows = {key_of(row): row for row in read_rows()}
    if arguments.again:
        rows = {key: row for key, row in rows.items() if row["judgement"] != "survives"}
        tried = {key_of(row) for row in read_rows()}
    else:
        tried = set(rows)
    changes = choose_changes(arguments.changes, arguments.seed, arguments.module, tried)
    current = {change.key: change for change in changes}
    rows = {k: row for k, row in rows.items() if k in current or k[0] not in arguments.module}
    for key, row in rows.items():
        if key in current:
            row["line"] = str(current[key].line)
    left = [change for change in changes if change.key not in rows]
    Random(arguments.seed).shuffle(left)  # so that what is done after half the time is a sample too
    copies: SimpleQueue[Copy] = SimpleQueue()
    for number in range(arguments.processes):
        copy = Copy(arguments.scratch / f"copy-{number}")
        copy.make()
        copies.put(copy)

    def attempt(change: Change) -> tuple[Change, str, float]:
        copy, began_s = copies.get(), time.monotonic()
        try:
            return change, copy.try_change(change, coverage), time.monotonic() - began_s
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(arguments.processes) as pool:
        attempts = [pool.submit(attempt, change) for change in left]
        for number, done in enumerate(as_completed(attempts), 1):
            change, noticed, took_s = done.result()
            result = "killed" if noticed else "survived"
            judgement = f"killed by {noticed[:MOST_LETTERS]}" if noticed else "survives"
            cells = (change.file, change.line, change.function, change.code, change.changed_to,
                    change.number, result, judgement)  # fmt: skip
            rows[change.key] = dict(zip(COLUMNS, map(str, cells), strict=True))
            write_rows(list(rows.values()))
            where = f"{change.file}:{change.line}"
            print(f"{number}/{len(left)} {took_s:.0f} s {where} {result} {noticed}", flush=True)
    while not copies.empty():
        copies.get().server.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=["record", "run", "check", "serve"])
    parser.add_argument("--changes", type=int, default=460)
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--module", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="try again what survives")
    default = Path(tempfile.gettempdir()) / "wattmark-code-mutations"
    parser.add_argument("--scratch", type=Path, default=default, help="for copies of the tree")
    arguments = parser.parse_args()
    arguments.scratch.mkdir(exist_ok=True)
    if arguments.action == "serve":
        serve()
    elif arguments.action == "record":
        record(arguments.scratch, arguments.processes)
    elif arguments.action == "run":
        run(arguments)
    return check() if arguments.action in ("run", "check") else 0


if __name__ == "__main__":
    sys.exit(main())
