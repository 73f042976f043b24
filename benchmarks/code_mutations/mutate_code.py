"""Changes the code in small ways, one at a time, and tells which changes no test notices.

    cd benchmarks/code_mutations
    python mutate_code.py record      which test executes which line; needs coverage.py
    python mutate_code.py run         make changes, run tests, write the tables
    python mutate_code.py check       count the judgements by package

`record` runs the tests of `make test` and those with torch once, in a copy of the tree. `run` makes
changes that a seeded generator chooses from every module that is shipped, each in a copy of the
tree, and runs the tests that execute the changed line: first those that lie where the module's own
tests do, then the fastest. It goes on where an earlier run ended. A change that no test notices
counts as surviving. Give it the judgement `equivalent: REASON` in the table where no test can
notice it, or write a test and `run --again`.
"""

import argparse
import json
import os
import re
import shutil
import site
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from change_sampling import choose_changes
from code_changes import Change
from code_mutation_table import (
    COLUMNS,
    PACKAGES,
    read_rows,
    summarize,
    write_rows,
)

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent.relative_to(ROOT)
MOST_LETTERS = 160
"""Of the id of a test in the table; some have long parameters."""
BUDGETS_S = 4.0, 20.0
"""Seconds of tests that are run first, and where they notice nothing."""
SECONDS_OF_NEW_TEST = 0.5
"""Assumed of a test that is not recorded."""
PATIENCE, LEAST_S = 4.0, 30.0
"""A test that takes this many times its usual time, and so many seconds, has noticed the change."""
SETTINGS = """[run]
source = {source}
data_file = {notes}/coverage
parallel = true
context = ${{PYTEST_CURRENT_TEST-}}
sigterm = true
patch = _exit
disable_warnings = no-data-collected, module-not-imported, already-imported, module-not-measured
"""
"""Of coverage.py. A process that a test starts notes this test as its context."""
START = "import record_contexts; record_contexts.start()"
"""What each Python of a copy executes first."""


@dataclass
class Coverage:
    """Which lines each test executes, and its seconds."""

    notes: Path
    seconds: dict[str, float]
    unreliable: set[str]
    """Tests that fail without any change."""

    @classmethod
    def load(cls, scratch: Path) -> "Coverage":
        passed = (line.rstrip("\n").rsplit("\t", 1) for line in (scratch / "seconds").open())
        return cls(scratch, {_clean(test): float(duration) for test, duration in passed}, set())

    @cached_property
    def _data(self) -> Any:
        from coverage import CoverageData

        data = CoverageData(str(self.notes / "lines/.coverage"))
        data.read()
        return data

    def _find_tests(self, change: Change) -> set[str]:
        """The tests that execute the change. A line that runs on import is noted for the first test
        of a process only: for it all tests of the module serve."""
        path = str(self.notes / "recorded" / change.file)
        by_line = self._data.contexts_by_lineno(path)
        lines = range(change.line, change.line + change.code.count("\n") + 1)
        contexts = {c for line in lines for c in by_line.get(line, ()) if c}
        if change.runs_on_import or not contexts:
            contexts = {c for of_line in by_line.values() for c in of_line if c}
        return {_clean(context) for context in contexts} & self.seconds.keys()

    def choose_tests(self, change: Change, collected: list[str], budget_s: float) -> list[str]:
        """The tests for a change, in the order to run them.

        Beside those that execute it, these are the tests of the module's own test files, as what
        a function remembers is executed for one test only, and the new tests of its folder, which
        are not recorded.
        """
        own = _Closeness(change.file)
        tests = self._find_tests(change) | {
            test
            for test in collected
            if own.is_in_folder(test) and (test not in self.seconds or not own.measure(test)[1])
        }
        tests = tests or {test for test in collected if own.is_in_folder(test)}
        seconds = {t: self.seconds.get(t, SECONDS_OF_NEW_TEST) for t in tests - self.unreliable}
        # Of each test function one case first: its other cases rarely notice more.
        cases: Counter[str] = Counter()
        order = []
        for test in sorted(seconds, key=lambda t: (seconds[t], t)):
            function = test.partition("[")[0]
            order.append((own.measure(test), cases[function], seconds[test], test))
            cases[function] += 1
        chosen, total_s = [], 0.0
        for *_, test in sorted(order):
            if total_s + seconds[test] <= budget_s or not chosen:
                chosen.append(test)
                total_s += seconds[test]
        return chosen

    def limit_s(self, test: str) -> float:
        return LEAST_S + PATIENCE * self.seconds.get(test, SECONDS_OF_NEW_TEST)


class _Closeness:
    """How close a test is to a module by its path: tests/ mirrors the packages."""

    def __init__(self, file: str) -> None:
        self._folders, self._stem = Path(file).parts[:-1], Path(file).stem

    def measure(self, test: str) -> tuple[int, bool]:
        """How many folders they share, negative, and whether the names differ."""
        parts = Path(test.partition("::")[0]).parts[1:]
        pairs = zip(parts[:-1], self._folders, strict=False)
        shared = list(takewhile(lambda pair: pair[0] == pair[1], pairs))
        return -len(shared), self._stem not in parts[-1]

    def is_in_folder(self, test: str) -> bool:
        return -self.measure(test)[0] >= min(2, len(self._folders))


def _clean(test: str) -> str:
    """The id of a test, without the name of its group, which pytest-xdist appends, and without the
    phase, which pytest appends for the processes that it starts."""
    return re.sub(r"(@[a-z-]+)?( \((setup|call|teardown)\))?$", "", test)


class Copy:
    """A copy of the tree with an environment of its own, where one change at a time is made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._clock_s = time.time()
        self._server: Server | None = None

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
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name, follow_symlinks=False)
        venv.create(self.root / ".venv", symlinks=True, with_pip=False)
        (packages,) = (self.root / ".venv/lib").glob("python*/site-packages")
        paths = [path for path in sys.path if path.endswith("site-packages")]
        lines = [self.root, self.root / FOLDER, *(paths or site.getsitepackages())]
        (packages / "copy.pth").write_text("\n".join([*map(str, lines), START, ""]))

    def write(self, file: str, content: bytes) -> None:
        """Replace a file. Its time is new, so that Python compiles it again."""
        self._clock_s += 2
        (self.root / file).write_bytes(content)
        os.utime(self.root / file, (self._clock_s, self._clock_s))

    def serve(self, *test_files: str) -> "Server":
        return Server(self, test_files)

    @property
    def server(self) -> "Server":
        """A server that has collected all tests. A `cached_property` would hold a lock that the
        servers of all copies wait for."""
        self._server = self._server or self.serve()
        return self._server


class Server:
    """A process of changed_functions.py, and the tests that it has collected."""

    def __init__(self, copy: Copy, test_files: tuple[str, ...]) -> None:
        # Without bytecode each run of tests would compile every module; without buffers it would
        # not notice a missing flush.
        kept = os.environ.keys() - {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPATH"}
        self.process = subprocess.Popen(
            [copy.python, copy.root / FOLDER / "changed_functions.py", *test_files],
            cwd=copy.root,
            env={**{name: os.environ[name] for name in kept}, "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        answer = self._read()
        self.tests: list[str] = answer.get("tests", [])
        self.failed: str = answer.get("noticed", "")

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout
        return dict(json.loads(self.process.stdout.readline()))

    def run_tests(self, file: str, before: bytes, after: bytes, limits_s: dict[str, float]) -> str:
        """What notices the change: a test or an import; empty where all tests pass."""
        if self.failed:
            return self.failed
        assert self.process.stdin
        change = {"file": file, "before": before.decode(), "after": after.decode()}
        self.process.stdin.write(json.dumps({"change": change, "limits_s": limits_s}) + "\n")
        self.process.stdin.flush()
        return str(self._read()["noticed"])

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class Attempt:
    """One change in a copy."""

    def __init__(self, copy: Copy, change: Change, coverage: Coverage) -> None:
        self._copy, self._change, self._coverage = copy, change, coverage
        self._before = (ROOT / change.file).read_bytes()
        self._after = change.apply(self._before)

    def run(self, budgets_s: tuple[float, ...]) -> str:
        """Make the change, run its tests and take the change back; what notices it."""
        tried: set[str] = set()
        for budget_s in budgets_s:
            chosen = self._coverage.choose_tests(self._change, self._copy.server.tests, budget_s)
            while rest := [test for test in chosen if test not in tried]:
                noticed = self._run_tests(rest, self._after)
                if noticed in rest and self._run_tests([noticed], self._before):
                    self._coverage.unreliable.add(noticed)  # it fails without the change too
                    tried.add(noticed)
                    continue
                if noticed:
                    return noticed
                tried |= set(rest)
        return ""

    def _run_tests(self, tests: list[str], source: bytes) -> str:
        limits_s = {test: self._coverage.limit_s(test) for test in tests}
        self._copy.write(self._change.file, source)
        try:
            if not self._change.runs_on_import:
                return self._copy.server.run_tests(
                    self._change.file, self._before, source, limits_s
                )
            files = dict.fromkeys(test.partition("::")[0] for test in tests)
            server = self._copy.serve(*files)
            try:
                return server.run_tests(self._change.file, source, source, limits_s)
            finally:
                server.stop()
        finally:
            self._copy.write(self._change.file, self._before)


def record(scratch: Path, processes: int) -> None:
    """Run the tests once, and note which lines each executes and how long it takes."""
    copy, notes = Copy(scratch / "recorded"), scratch / "lines"
    copy.make()
    shutil.rmtree(notes, ignore_errors=True)
    notes.mkdir(parents=True)
    (scratch / "seconds").write_text("")
    source = "\n    ".join(str(copy.root / package) for package in PACKAGES)
    (notes / "settings").write_text(SETTINGS.format(source=source, notes=notes))
    names = {"COVERAGE_PROCESS_START": notes / "settings", "TEST_SECONDS": scratch / "seconds"}
    environment = {**os.environ, **{name: str(path) for name, path in names.items()}}
    environment.pop("PYTHONPATH", None)
    options = ["-q", "-p", "record_contexts", "-p", "no:cacheprovider", f"-n{processes}"]
    options += ["--dist=loadgroup"]
    command = [copy.python, "-m", "pytest", *options]
    subprocess.run(command, cwd=copy.root, env=environment, check=False)
    combine = [sys.executable, "-m", "coverage", "combine", "-q", "--data-file=.coverage"]
    subprocess.run([*combine, *map(str, notes.glob("coverage.*"))], cwd=notes, check=True)


def run(arguments: argparse.Namespace) -> None:
    """Try changes until `--changes` are in the table."""
    coverage = Coverage.load(arguments.scratch)
    changes = choose_changes(arguments.changes, arguments.seed)
    known = read_rows()
    rows = {change.key: known[change.key] for change in changes if change.key in known}
    for change in changes:
        if change.key in rows:
            rows[change.key]["line"] = str(change.line)
    left = [
        change
        for change in changes
        if change.key not in rows or (arguments.again and _survives(rows[change.key]))
    ]
    left.sort(key=lambda change: change.runs_on_import)  # these take longest
    copies: SimpleQueue[Copy] = SimpleQueue()
    for number in range(arguments.processes):
        copy = Copy(arguments.scratch / f"copy-{number}")
        copy.make()
        copies.put(copy)

    def attempt(change: Change) -> tuple[Change, str, float]:
        copy, began_s = copies.get(), time.monotonic()
        try:
            noticed = Attempt(copy, change, coverage).run(tuple(arguments.budgets))
            return change, noticed, time.monotonic() - began_s
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(arguments.processes) as pool:
        attempts = [pool.submit(attempt, change) for change in left]
        for number, done in enumerate(as_completed(attempts), 1):
            change, noticed, took_s = done.result()
            result = "caught" if noticed else "survived"
            row = {name: str(vars(change)[name]) for name in COLUMNS if name in vars(change)}
            results = {"result": result, "noticed_by": noticed[:MOST_LETTERS], "judgement": ""}
            rows[change.key] = row | results
            write_rows(rows)
            where = f"{change.file}:{change.line}"
            print(f"{number}/{len(left)} {took_s:.0f} s {where} {result} {noticed}", flush=True)
    while not copies.empty():
        copies.get().server.stop()


def _survives(row: dict[str, str]) -> bool:
    return row["result"] == "survived" and not row["judgement"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=["record", "run", "check"])
    parser.add_argument("--changes", type=int, default=700)
    parser.add_argument("--seed", type=int, default=45)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--budgets", type=float, nargs="+", default=BUDGETS_S, metavar="SECONDS")
    parser.add_argument("--again", action="store_true", help="try again what survives")
    default = Path(tempfile.gettempdir()) / "wattmark-code-mutations"
    parser.add_argument("--scratch", type=Path, default=default, help="for copies of the tree")
    arguments = parser.parse_args()
    arguments.scratch.mkdir(exist_ok=True)
    if arguments.action == "record":
        record(arguments.scratch, arguments.processes)
    elif arguments.action == "run":
        run(arguments)
    return summarize()


if __name__ == "__main__":
    sys.exit(main())
