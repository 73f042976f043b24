"""Feeds the checker mutated bundles, signatures, records, keyrings, logs and JSON documents, and
asks that it answers each.

    python benchmarks/fuzz.py [--cases 100000] [--from 0]

A case is refused or judged. It fails where the checker raises, reports that it failed itself (a
finding `internal`), takes more than 2 s of CPU time, leaves its process above 1 GiB, opens a file
outside the submissions directory, or has OpenSSH do so. Cases come in chunks of 2 000; Hypothesis
seeds each chunk with its number, so a run goes on where another ended (--from) and `--from N
--cases 2000` makes one chunk again. Three of four cases are documents and tables alone, the rest
whole bundles, a tenth of those with everything that trust hangs on. Figures seen are in
docs/mutations.md; tests/end_to_end/test_fuzz.py runs a few hundred.
"""

import argparse
import contextlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from mutate import mutate_file  # noqa: E402
from support import bundles as good  # noqa: E402

from checker import engine  # noqa: E402
from checker.judging.bundle_judge import JudgeOptions, judge_bundles  # noqa: E402
from checker.judging.round_rules import add_round_findings  # noqa: E402
from checker.trust.acceptance_log import read_log  # noqa: E402
from checker.trust.bundle_trust import check_round_files  # noqa: E402
from checker.verdict import INTERNAL  # noqa: E402
from rules.bundle_format import records  # noqa: E402
from rules.bundle_format import write as bundle  # noqa: E402
from rules.bundle_format.csv_table import COLUMNS, read_table  # noqa: E402
from rules.bundle_format.documents import read_document  # noqa: E402
from rules.bundle_format.files import Refused, unpack  # noqa: E402
from rules.testing import tampering as forge  # noqa: E402

CHUNK = 2000
SHM = Path("/dev/shm")
"""Where there is memory to write to, writing a case costs less there."""
MOST_CPU_S = 2.0
MOST_MIB = 1024
HANG_S = 120
"""After so long a case is broken off, on however busy a machine."""
FORMATS = {
    **records.JSON_FILES,
    records.MANIFEST_FILE: records.MANIFEST_FORMAT,
    "review": records.REVIEW_FORMAT,
    "withdrawal": records.WITHDRAWAL_FORMAT,
    "waiver": records.WAIVER_FORMAT,
    "LOG": records.LOG_ENTRY_FORMAT,
}
Tree = dict[str, bytes]
"""Files by path below the submissions directory."""


# What is mutated


def make_bases(scratch: Path) -> list[Tree]:
    """Small good submissions: a simulated run with review, waiver and LOG, that withdrawn, training
    and serving on two boards."""
    trees = []
    for withdrawn in (False, True):
        submissions = scratch / f"simulated-{withdrawn}"
        shutil.copytree(ROOT / "tests/checker/golden/1.2.0/submissions", submissions)
        for run in (submissions / "golden/h200").iterdir():
            if not run.name.endswith("-good"):
                shutil.rmtree(run)
        directory = next((submissions / "golden/h200").iterdir())
        forge.add_review(directory)
        forge.add_waiver(directory)
        if withdrawn:
            forge.add_withdrawal(directory)
        forge.write_log(directory, {})
        trees.append(submissions)
    good.BATCHES, good.CONCURRENCY, good.REQUESTS = 5, 10, 12
    for name, make in (("training", good.make_evidence), ("serving", good.make_serving_evidence)):
        trees.append(scratch / name)
        bundle.write(make().evidence(), scratch / name / "example/system" / name)
        (scratch / name / "keyring").mkdir()
        (scratch / name / "keyring/allowed_signers").touch()
    return [
        {str(f.relative_to(t)): f.read_bytes() for f in sorted(t.rglob("*")) if f.is_file()}
        for t in trees
    ]


# How it is mutated


def mutate_tree(tree: Tree, random: Random) -> tuple[Tree, Callable[[Path], None]]:
    """The tree with a file or two mutated, and what else is to be done once it lies on the disk."""
    mutated_tree = dict(tree)
    for _ in range(random.choice((1, 1, 2, 3))):
        name = random.choice(sorted(mutated_tree))
        action = random.randrange(20)
        if action == 0:
            del mutated_tree[name]
        elif action == 1:
            mutated_tree[name] = mutated_tree[random.choice(sorted(mutated_tree))]
        elif action == 2:
            mutated_tree[
                str(
                    Path(name).with_name(
                        random.choice(
                            ("x", "a.json", "review.a@b.json", "submission..sig", "\x1b[2J")
                        )
                    )
                )
            ] = mutated_tree[name]
        elif action == 3:
            return mutated_tree, partial(replace_with_special_file, name, random.randrange(6))
        else:
            mutated_tree[name] = mutate_file(name, mutated_tree[name], random)
    return mutated_tree, lambda _: None


def replace_with_special_file(name: str, kind: int, submissions: Path) -> None:
    path = submissions / name
    path.unlink()
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    else:
        path.symlink_to(
            ("/etc/passwd", "/dev/zero", "../" * 12 + "etc/hostname", path.name)[kind - 2]
        )


# What is asked of each case


class Outside(Exception):
    """A file outside the submissions directory was opened."""


class Watch:
    """Notes, from inside the interpreter, what is opened and started while it watches a
    directory."""

    def __init__(self) -> None:
        self.inside = ""
        self.opened: list[str] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.inside or event not in ("open", "os.listdir", "os.scandir", "subprocess.Popen"):
            return
        paths = arguments[1][1:] if event == "subprocess.Popen" else arguments[:1]
        self.opened += [os.fspath(path) for path in paths if isinstance(path, (str, Path))]

    def outside(self) -> list[str]:
        """What was opened that lies neither below the directory watched nor among the checker's own
        files."""
        # ssh-keygen reads a signature from a temporary file.
        temporary = tempfile.gettempdir()
        signature = Path(temporary, "wattmark-")
        own = (sys.prefix, sys.base_prefix, ROOT / "rules", ROOT / "checker", signature)
        allowed = tuple(os.path.realpath(p) for p in (self.inside, *own))
        harmless = (os.devnull, temporary)
        paths = [path for path in self.opened if path.startswith("/") and path not in harmless]
        return [path for path in paths if not os.path.realpath(path).startswith(allowed)]


def judge_tree(tree: Tree, trust: bool, scratch: Path, random: Random, watch: Watch) -> None:
    mutated_tree, alter_disk = mutate_tree(tree, random)
    submissions = scratch / "submissions"
    shutil.rmtree(submissions, ignore_errors=True)
    for name, content in mutated_tree.items():
        (submissions / name).parent.mkdir(parents=True, exist_ok=True)
        (submissions / name).write_bytes(content)
    alter_disk(submissions)
    directory = submissions / next(
        name for name in tree if name.endswith("/result.json")
    ).removesuffix("/result.json")
    watch.opened, watch.inside = [], str(submissions)
    try:
        with limit_time():
            (judged,) = judge_bundles({directory: submissions}, JudgeOptions(signed=trust))
            verdicts = list(add_round_findings([judged]))
            problems = check_round_files([judged.trust], [submissions], "") if trust else ()
            verdicts += engine.judge_round_problems(problems, [submissions])
        if outside := watch.outside():
            raise Outside(outside)
    finally:
        watch.inside = ""
    internal = [f.found for v in verdicts for f in v.findings if f.rule == INTERNAL]
    if internal:
        raise AssertionError(internal)


def read_single_file(tree: Tree, scratch: Path, random: Random) -> None:
    """One document or table, read as the checker reads it."""
    name = random.choice(sorted(n for n in tree if not n.endswith((".sig", "signers"))))
    raw, file_name = mutate_file(name, tree[name], random), Path(name).name
    if file_name == "LOG":
        (scratch / "LOG").write_bytes(raw)
    with limit_time(), contextlib.suppress(Refused):
        if file_name == "LOG":
            read_log(scratch)
        elif file_name in COLUMNS:
            read_table(file_name, unpack(file_name, raw))
        elif file_name == records.LOG_FILE:
            unpack(file_name, raw)
        else:
            form = next(
                (form for start, form in FORMATS.items() if file_name.startswith(start)),
                records.WAIVER_FORMAT,
            )
            read_document(file_name, raw, form)


def run_case(random: Random, trees: list[Tree], scratch: Path, watch: Watch) -> None:
    tree, single_file = random.choice(trees), random.random() < 0.75
    if single_file:
        read_single_file(tree, scratch, random)
    else:
        trust = tree is trees[0] or tree is trees[1]
        judge_tree(tree, trust and random.random() < 0.2, scratch, random, watch)
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert mib < MOST_MIB, f"{mib:.0f} MiB"


@contextlib.contextmanager
def limit_time() -> Iterator[None]:
    """Breaks off what hangs. Raises AssertionError for what took too much CPU time: others may have
    the cores meanwhile."""
    begin = get_cpu_s()
    signal.alarm(HANG_S)
    try:
        yield
    finally:
        signal.alarm(0)
    assert get_cpu_s() - begin < MOST_CPU_S, f"{get_cpu_s() - begin:.1f} s of CPU time"


def get_cpu_s() -> float:
    return sum(
        sum(resource.getrusage(scope)[:2])
        for scope in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def raise_timeout(*_: object) -> None:
    raise TimeoutError(f"broken off after {HANG_S} s")


def run_chunk(number: int, cases: int = CHUNK) -> tuple[int, float, list[str]]:
    """Run one chunk; returns how many cases it had, the longest of them in s, and what went wrong,
    by kind."""
    signal.signal(signal.SIGALRM, raise_timeout)
    warnings.simplefilter("ignore")
    failures: Counter[str] = Counter()
    case_count, longest_s = 0, 0.0
    with tempfile.TemporaryDirectory(dir=SHM if SHM.is_dir() else None) as place:
        trees, watch = make_bases(Path(place)), WATCH
        for path in Path(place).glob("*/*/*/*"):  # what is loaded at the first use is loaded now
            engine.judge(path)

        @seed(number)
        @settings(
            max_examples=cases,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.randoms(use_true_random=True))
        def run(random: Random) -> None:
            nonlocal case_count, longest_s
            begin = time.perf_counter()
            try:
                run_case(Random(random.getrandbits(64)), trees, Path(place), watch)
            except Exception as error:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                failures[
                    f"chunk {number}, case {case_count}: {error!r:.600} at "
                    f"{Path(frame.filename).name}:{frame.lineno}"
                ] += 1
            case_count, longest_s = case_count + 1, max(longest_s, time.perf_counter() - begin)

        run()
    return case_count, longest_s, list(failures)


WATCH = Watch()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument(
        "--from",
        dest="first",
        type=int,
        default=0,
        help="the case to begin with, a multiple of 2 000",
    )
    options = parser.parse_args()
    numbers = range(options.first // CHUNK, -(-(options.first + options.cases) // CHUNK))
    begin, case_count, longest_s, failures = time.perf_counter(), 0, 0.0, 0
    run_one_chunk = partial(run_chunk, cases=min(CHUNK, options.cases))
    with ProcessPoolExecutor() as pool:
        for number, (count, seconds, chunk_failures) in zip(
            numbers, pool.map(run_one_chunk, numbers), strict=True
        ):
            case_count, longest_s, failures = (
                case_count + count,
                max(longest_s, seconds),
                failures + len(chunk_failures),
            )
            print(*chunk_failures, sep="\n", end="\n" if chunk_failures else "")
            took_s = time.perf_counter() - begin
            print(
                f"chunk {number}: {case_count} cases by now, {failures} failed, {took_s:.0f} s, "
                f"longest {longest_s:.1f} s",
                flush=True,
            )
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
