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
from mutate import file_mutated  # noqa: E402
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


def bases(scratch: Path) -> list[Tree]:
    """Small good submissions: a simulated run with review, waiver and LOG, that withdrawn, training
    and serving on two boards."""
    trees = []
    for withdrawn in (False, True):
        submissions = scratch / f"simulated-{withdrawn}"
        shutil.copytree(ROOT / "tests/checker/golden/1.2.0/submissions", submissions)
        for other in (submissions / "golden/h200").iterdir():
            if not other.name.endswith("-good"):
                shutil.rmtree(other)
        directory = next((submissions / "golden/h200").iterdir())
        forge.add_review(directory)
        forge.add_waiver(directory)
        if withdrawn:
            forge.add_withdrawal(directory)
        forge.write_log(directory, {})
        trees.append(submissions)
    good.BATCHES, good.CONCURRENCY, good.REQUESTS = 5, 10, 12
    for name, make in (("training", good.good_evidence), ("serving", good.good_serving_evidence)):
        trees.append(scratch / name)
        bundle.write(make().evidence(), scratch / name / "example/system" / name)
        (scratch / name / "keyring").mkdir()
        (scratch / name / "keyring/allowed_signers").touch()
    return [
        {str(f.relative_to(t)): f.read_bytes() for f in sorted(t.rglob("*")) if f.is_file()}
        for t in trees
    ]


# How it is mutated


def tree_mutated(tree: Tree, random: Random) -> tuple[Tree, Callable[[Path], None]]:
    """The tree with a file or two mutated, and what else is to be done once it lies on the disk."""
    made = dict(tree)
    for _ in range(random.choice((1, 1, 2, 3))):
        name = random.choice(sorted(made))
        action = random.randrange(20)
        if action == 0:
            del made[name]
        elif action == 1:
            made[name] = made[random.choice(sorted(made))]
        elif action == 2:
            made[
                str(
                    Path(name).with_name(
                        random.choice(
                            ("x", "a.json", "review.a@b.json", "submission..sig", "\x1b[2J")
                        )
                    )
                )
            ] = made[name]
        elif action == 3:
            return made, partial(replaced_by_odd, name, random.randrange(6))
        else:
            made[name] = file_mutated(name, made[name], random)
    return made, lambda _: None


def replaced_by_odd(name: str, kind: int, submissions: Path) -> None:
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
        named = arguments[1][1:] if event == "subprocess.Popen" else arguments[:1]
        self.opened += [os.fspath(path) for path in named if isinstance(path, (str, Path))]

    def outside(self) -> list[str]:
        """What was opened that lies neither below the directory watched nor among the checker's own
        files."""
        allowed = tuple(
            os.path.realpath(p)
            for p in (self.inside, sys.prefix, sys.base_prefix, ROOT / "rules", ROOT / "checker")
        )
        paths = [path for path in self.opened if path.startswith("/") and path != os.devnull]
        return [path for path in paths if not os.path.realpath(path).startswith(allowed)]


def judged_whole(tree: Tree, trust: bool, scratch: Path, random: Random, watch: Watch) -> None:
    made, then = tree_mutated(tree, random)
    submissions = scratch / "submissions"
    shutil.rmtree(submissions, ignore_errors=True)
    for name, content in made.items():
        (submissions / name).parent.mkdir(parents=True, exist_ok=True)
        (submissions / name).write_bytes(content)
    then(submissions)
    directory = submissions / next(
        name for name in tree if name.endswith("/result.json")
    ).removesuffix("/result.json")
    watch.opened, watch.inside = [], str(submissions)
    try:
        with in_time():
            (judged,) = judge_bundles({directory: submissions}, JudgeOptions(signed=trust))
            verdicts = list(add_round_findings([judged]))
            problems = check_round_files([judged.trust], None, [submissions]) if trust else ()
            verdicts += engine.judge_round_problems(problems, [submissions])
        if outside := watch.outside():
            raise Outside(outside)
    finally:
        watch.inside = ""
    internal = [f.found for v in verdicts for f in v.findings if f.rule == INTERNAL]
    if internal:
        raise AssertionError(internal)


def judged_alone(tree: Tree, scratch: Path, random: Random) -> None:
    """One document or table, read as the checker reads it."""
    name = random.choice(sorted(n for n in tree if not n.endswith((".sig", "signers"))))
    raw, short = file_mutated(name, tree[name], random), Path(name).name
    if short == "LOG":
        (scratch / "LOG").write_bytes(raw)
    with in_time(), contextlib.suppress(Refused):
        if short == "LOG":
            read_log(scratch)
        elif short in COLUMNS:
            read_table(short, unpack(short, raw))
        elif short == records.LOG_FILE:
            unpack(short, raw)
        else:
            of = next(
                (form for start, form in FORMATS.items() if short.startswith(start)),
                records.WAIVER_FORMAT,
            )
            read_document(short, raw, of)


def one_case(random: Random, trees: list[Tree], scratch: Path, watch: Watch) -> None:
    tree, alone = random.choice(trees), random.random() < 0.75
    if alone:
        judged_alone(tree, scratch, random)
    else:
        trust = tree is trees[0] or tree is trees[1]
        judged_whole(tree, trust and random.random() < 0.2, scratch, random, watch)
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert mib < MOST_MIB, f"{mib:.0f} MiB"


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    """Breaks off what hangs. Raises AssertionError for what took too much CPU time: others may have
    the cores meanwhile."""
    begin = cpu_s()
    signal.alarm(HANG_S)
    try:
        yield
    finally:
        signal.alarm(0)
    assert cpu_s() - begin < MOST_CPU_S, f"{cpu_s() - begin:.1f} s of CPU time"


def cpu_s() -> float:
    return sum(
        sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def broken_off(*_: object) -> None:
    raise TimeoutError(f"broken off after {HANG_S} s")


def chunk(number: int, cases: int = CHUNK) -> tuple[int, float, list[str]]:
    """Run one chunk; returns how many cases it had, the longest of them in s, and what went wrong,
    by kind."""
    signal.signal(signal.SIGALRM, broken_off)
    warnings.simplefilter("ignore")
    wrong: Counter[str] = Counter()
    ran, longest_s = 0, 0.0
    with tempfile.TemporaryDirectory(dir=SHM if SHM.is_dir() else None) as place:
        trees, watch = bases(Path(place)), WATCH
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
            nonlocal ran, longest_s
            begin = time.perf_counter()
            try:
                one_case(Random(random.getrandbits(64)), trees, Path(place), watch)
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                wrong[
                    f"chunk {number}, case {ran}: {error!r:.600} at "
                    f"{Path(last.filename).name}:{last.lineno}"
                ] += 1
            ran, longest_s = ran + 1, max(longest_s, time.perf_counter() - begin)

        run()
    return ran, longest_s, list(wrong)


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
    asked = parser.parse_args()
    numbers = range(asked.first // CHUNK, -(-(asked.first + asked.cases) // CHUNK))
    begin, ran, longest_s, failures = time.perf_counter(), 0, 0.0, 0
    of_each = partial(chunk, cases=min(CHUNK, asked.cases))
    with ProcessPoolExecutor() as pool:
        for number, (count, seconds, wrong) in zip(
            numbers, pool.map(of_each, numbers), strict=True
        ):
            ran, longest_s, failures = ran + count, max(longest_s, seconds), failures + len(wrong)
            print(*wrong, sep="\n", end="\n" if wrong else "")
            took_s = time.perf_counter() - begin
            print(
                f"chunk {number}: {ran} cases by now, {failures} failed, {took_s:.0f} s, "
                f"longest {longest_s:.1f} s",
                flush=True,
            )
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
