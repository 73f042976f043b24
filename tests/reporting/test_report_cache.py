"""A report takes from the caches of the user what an earlier one kept and drew, and only that."""

import pickle
import shutil
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pytest
from conftest import Submissions, map_in_this_process
from support.report.chart_tables import CHART_TABLES
from support.report.drawing import InThisProcess
from support.rounds.verdict_cache import cache as cache

from checker import engine
from checker.judging import bundle_judge
from checker.judging.kept import pack, unpack_kept
from checker.judging.verdict_cache import VerdictCache, open_cache
from reporting.cache import open_report_cache
from reporting.charts import drawing
from reporting.charts.drawing import Drawing
from reporting.collect import Collected, collect
from rules.studies.results import Setup


class NoProcesses(Executor):
    def submit(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("nothing is to be drawn")


def collect_again(submissions: Submissions) -> Collected:
    return collect([submissions.root], cache=open_cache(pytest.fail, "code"))


def test_a_second_report_reads_no_evidence(
    cache: VerdictCache, submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "map_in_processes", map_in_this_process)
    submissions.add()
    expected = collect([submissions.root])
    assert collect_again(submissions) == expected != Collected((), (), (), (), ())
    with monkeypatch.context() as patch:
        patch.setattr(bundle_judge, "open_view", None)
        assert collect_again(submissions) == expected
        # What is kept names the bundle as the user did.
        patch.chdir(submissions.root.parent)
        failed = collect([Path(submissions.root.name)], cache=open_cache(pytest.fail, "code"))
        assert not failed.rows


@pytest.mark.parametrize("name", ["signatures", "result.json"])
def test_a_changed_or_unsigned_bundle_gives_no_kept_figures(
    cache: VerdictCache, submissions: Submissions, name: str
) -> None:
    bundle = submissions.add()
    assert collect_again(submissions).rows
    if name == "signatures":
        shutil.rmtree(bundle / name)
    else:
        (bundle / name).write_bytes((bundle / name).read_bytes() + b"\n")
    assert not collect_again(submissions).rows


def test_charts_of_unchanged_tables_are_not_drawn_again(
    cache: VerdictCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, directory = open_report_cache()
    assert directory
    table, other = CHART_TABLES[:2]
    first = Drawing(InThisProcess(), directory)
    first.load_scripts()
    first.start([table])
    monkeypatch.setattr(drawing, "_FEW_TABLES", 0)
    second = Drawing(NoProcesses(), directory)
    second.load_scripts()
    second.start([table])
    assert second.wait_for_scripts() == first.wait_for_scripts()
    assert second.wait_for([table]) == first.wait_for([table])
    with pytest.raises(AssertionError):
        second.start([other])
    for entry in directory.iterdir():
        entry.write_bytes(entry.read_bytes()[:-1])
    with pytest.raises(AssertionError):
        second.start([table])
    directory.chmod(0o770)
    assert open_report_cache()[1] is None


def test_only_classes_of_the_project_are_read() -> None:
    setup = Setup("a", "measured", "H200", "eager", "bf16", None)
    assert unpack_kept(pack(setup)) == setup
    assert pack(Submissions) == b""
    for foreign in (print, Submissions):
        with pytest.raises(ValueError, match="is not read"):
            unpack_kept(pickle.dumps(foreign))
    # Not what a module of the project imports, under either name, nor its functions.
    for module, name in (
        ("rules.fingerprints", "np.ndarray"),
        ("rules.fingerprints", "Bundle"),
        ("rules.run_summary", "summarize"),
        ("rules", "VERSION"),
    ):
        text = f"{_unicode(module)}{_unicode(name)}".encode("latin-1")
        with pytest.raises(ValueError, match=f"a {module}.{name} is not read"):
            unpack_kept(b"\x80\x04" + text + b"\x93.")


def _unicode(text: str) -> str:
    """The operation of a pickle that reads a short text."""
    return f"\x8c{chr(len(text))}{text}"
