"""Feeds the checker mutated bundles, directories, signatures, records, keyrings, logs, published
figures, journals of power limits and JSON documents, and asks that it answers each.

    python benchmarks/fuzz.py [--cases 100000] [--from 0]

A case is refused or judged. It fails where the checker raises, reports that it failed itself (a
finding `internal`), takes more than 5 s of CPU time or 1 GiB, opens a file outside the submissions
directory, or has OpenSSH do so. The script prints the longest and the largest case, and ends with 1
if a case failed. Cases come in chunks of 2 000; Hypothesis
seeds each chunk with its number, so a run goes on where another ended (--from) and `--from N
--cases 2000` makes one chunk again. Three of four cases are documents and tables alone, the rest
whole bundles, a tenth of those with everything that trust hangs on. Figures seen are in
docs/mutations.md; tests/end_to_end/test_fuzz.py runs a few hundred.
"""

import argparse
import contextlib
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from fuzz_limits import Peaks, Watch, raise_timeout  # noqa: E402
from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from mutate import mutate_file  # noqa: E402
from mutate_tree import Tree, mutate_tree  # noqa: E402
from support import bundles as good  # noqa: E402

from checker import engine  # noqa: E402
from checker.formats import github, junit, sarif, text  # noqa: E402
from checker.formats import json as json_format  # noqa: E402
from checker.selection import parse_selection, select_findings  # noqa: E402
from checker.trust.acceptance_log import read_log  # noqa: E402
from checker.verdict import INTERNAL, Round  # noqa: E402
from harness.power.caps.journal import (  # noqa: E402
    JOURNAL_FILE,
    BlockedError,
    Journal,
    SavedLimit,
    new_journal,
)
from reporting.paper import Paper  # noqa: E402
from reporting.published_rows import build_published_rows  # noqa: E402
from reporting.results_model import build_submitted_row  # noqa: E402
from reporting.run_record import RunRecord, summarize_bundle  # noqa: E402
from rules.bundle import Bundle  # noqa: E402
from rules.bundle_format import records  # noqa: E402
from rules.bundle_format import write as bundle  # noqa: E402
from rules.bundle_format.csv_table import read_table  # noqa: E402
from rules.bundle_format.documents import read_document  # noqa: E402
from rules.bundle_format.events import read_events  # noqa: E402
from rules.bundle_format.files import Refused, unpack  # noqa: E402
from rules.bundle_format.study_write import write_study  # noqa: E402
from rules.testing import tampering as forge  # noqa: E402
from rules.testing.studies import MODELS, make_study_frames  # noqa: E402
from rules.views import AnyBundle  # noqa: E402

CHUNK = 2000
SHM = Path("/dev/shm")
"""Where there is memory to write to, writing a case costs less there."""
FORMATS = {
    **records.RUN.documents,
    **records.STUDY.documents,
    records.MANIFEST_FILE: records.MANIFEST_FORMAT,
    "review": records.REVIEW_FORMAT,
    "withdrawal": records.WITHDRAWAL_FORMAT,
    "waiver": records.WAIVER_FORMAT,
    "LOG": records.LOG_ENTRY_FORMAT,
}
JOURNAL = json.dumps(
    asdict(new_journal("nvidia", "a-run", (SavedLimit("GPU-a", 700_000, "P0"),)))
).encode()
RENDERERS = (text.render, json_format.render, sarif.render, junit.render, github.render)


# What is mutated


def make_bases(scratch: Path) -> list[Tree]:
    """Small good submissions: a simulated run with review, waiver and LOG, that withdrawn, training
    and serving on two boards, and a study of two models."""
    trees = []
    for withdrawn in (False, True):
        submissions = scratch / f"simulated-{withdrawn}"
        shutil.copytree(ROOT / "tests/checker/golden/1.2.0/submissions", submissions)
        for run in (submissions / "golden/h200").iterdir():
            if not run.name.endswith("-good"):
                shutil.rmtree(run)
        directory = next((submissions / "golden/h200").iterdir())
        shutil.copytree(ROOT / "submissions/published", submissions / "published")
        forge.add_review(directory)
        forge.add_waiver(directory)
        if withdrawn:
            forge.add_withdrawal(directory)
        forge.write_log(directory, {})
        trees.append(submissions)
    good.BATCHES, good.CONCURRENCY, good.REQUESTS = 5, 10, 12
    for name, write in {
        "training": partial(bundle.write, good.make_evidence().evidence()),
        "serving": partial(bundle.write, good.make_serving_evidence().evidence()),
        "study": partial(write_study, make_study_frames(MODELS[:2]).evidence()),
    }.items():
        trees.append(scratch / name)
        write(scratch / name / "example/system" / name)
        (scratch / name / "keyring").mkdir()
        (scratch / name / "keyring/allowed_signers").touch()
    return [
        {str(f.relative_to(t)): f.read_bytes() for f in sorted(t.rglob("*")) if f.is_file()}
        for t in trees
    ]


# What is asked of each case


def keep_run(view: AnyBundle) -> RunRecord | None:
    """What a report keeps of a run; nothing of a study."""
    return summarize_bundle(view) if isinstance(view, Bundle) else None


def judge_round(submissions: Path, trust: bool) -> Round:
    """Judge everything below a directory, and build the rows that a report shows of it."""
    judged = engine.judge_all([submissions], signed=trust, keep=keep_run)
    for verdict in judged.verdicts:
        if verdict.status == "pass" and isinstance(verdict.kept, RunRecord):
            build_submitted_row(verdict.kept, verdict)
        elif verdict.status == "pass" and isinstance(verdict.kept, dict):
            build_published_rows(Paper.from_document(verdict.kept))
    return judged


def judge_tree(
    tree: Tree, trust: bool, scratch: Path, random: Random, watch: Watch, peaks: Peaks
) -> None:
    mutated_tree, alter_disk = mutate_tree(tree, random)
    submissions = scratch / "submissions"
    # `shutil.rmtree` of Python 3.11 recurses, which deep directories do not allow.
    subprocess.run(["rm", "-rf", submissions], check=True)
    for name, content in mutated_tree.items():
        (submissions / name).parent.mkdir(parents=True, exist_ok=True)
        (submissions / name).write_bytes(content)
    alter_disk(submissions)
    with peaks.measure():
        with watch.watch(submissions):
            judged = judge_round(submissions, trust)
        # What is shown must be text, whatever the bundles contain.
        random.choice(RENDERERS)(select_findings(judged, parse_selection())).encode()
    internal = [f.found for v in judged.verdicts for f in v.findings if f.rule == INTERNAL]
    if internal:
        raise AssertionError(internal)


def read_journal(scratch: Path, random: Random, peaks: Peaks) -> None:
    """A journal of power limits, read as the harness reads it."""
    path = scratch / JOURNAL_FILE
    path.write_bytes(mutate_file("caps.json", JOURNAL, random))
    with peaks.measure(), contextlib.suppress(BlockedError):
        Journal.read(path)


def read_single_file(tree: Tree, scratch: Path, random: Random, peaks: Peaks) -> None:
    """One document or table, read as the checker reads it."""
    name = random.choice(sorted(n for n in tree if not n.endswith((".sig", "signers"))))
    raw, file_name = mutate_file(name, tree[name], random), Path(name).name
    kind = records.find_kind([path.rpartition("/")[2] for path in tree])
    if file_name == "LOG":
        (scratch / "LOG").write_bytes(raw)
    with peaks.measure(), contextlib.suppress(Refused):
        if file_name == "LOG":
            read_log(scratch)
        elif file_name in kind.tables:
            read_table(file_name, unpack(file_name, raw, kind), kind)
        elif file_name == records.LOG_FILE:
            unpack(file_name, raw)
        elif file_name == records.EVENTS_FILE:
            read_events(unpack(file_name, raw))
        else:
            form = next(
                (form for start, form in FORMATS.items() if file_name.startswith(start)),
                records.WAIVER_FORMAT,
            )
            read_document(file_name, raw, form)


def run_case(random: Random, trees: list[Tree], scratch: Path, watch: Watch, peaks: Peaks) -> None:
    tree, kind = random.choice(trees), random.random()
    if kind < 0.03:
        read_journal(scratch, random, peaks)
    elif kind < 0.75:
        read_single_file(tree, scratch, random, peaks)
    else:
        trust = tree is trees[0] or tree is trees[1]
        judge_tree(tree, trust and random.random() < 0.2, scratch, random, watch, peaks)


def run_chunk(number: int, cases: int = CHUNK) -> tuple[int, Peaks, list[str]]:
    """Run one chunk; returns how many cases it had, the peaks, and what went wrong, by kind."""
    signal.signal(signal.SIGALRM, raise_timeout)
    warnings.simplefilter("ignore")
    failures: Counter[str] = Counter()
    case_count, peaks = 0, Peaks()
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
            nonlocal case_count
            try:
                run_case(Random(random.getrandbits(64)), trees, Path(place), watch, peaks)
            except Exception as error:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                failures[
                    f"chunk {number}, case {case_count}: {error!r:.600} at "
                    f"{Path(frame.filename).name}:{frame.lineno}"
                ] += 1
            case_count += 1

        run()
        subprocess.run(["rm", "-rf", *Path(place).iterdir()], check=True)
    return case_count, peaks, list(failures)


WATCH = Watch()
# In this process, so that time, memory and opened files can be measured here.
engine.map_in_processes = lambda function, items, on_crash: iter(function(items))


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
    begin_s, case_count, peaks, failures = time.perf_counter(), 0, Peaks(), 0
    run_one_chunk = partial(run_chunk, cases=min(CHUNK, options.cases))
    with ProcessPoolExecutor() as pool:
        for number, (count, chunk_peaks, chunk_failures) in zip(
            numbers, pool.map(run_one_chunk, numbers), strict=True
        ):
            case_count, failures = case_count + count, failures + len(chunk_failures)
            peaks.include(chunk_peaks)
            print(*chunk_failures, sep="\n", end="\n" if chunk_failures else "")
            print(
                f"chunk {number}: {case_count} cases by now, {failures} failed, "
                f"{time.perf_counter() - begin_s:.0f} s; at most {peaks.cpu_s:.1f} s of CPU time "
                f"and {peaks.mib:.0f} MiB for a case",
                flush=True,
            )
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
