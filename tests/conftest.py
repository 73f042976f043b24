"""What several test files share: a signing key, sealed bundles in a submissions tree, a browser."""

import copy
import hashlib
import os
import pickle
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

# Before NumPy and torch read it. The tests run in several processes on few cores: threads of one
# process wait for each other there, and burn several times the processor time of one thread.
os.environ["OMP_NUM_THREADS"] = "1"

import pytest
from click.testing import CliRunner
from support.bundles import make_evidence, make_serving_evidence, write_bundle, write_study_bundle
from support.extended import mark_extended
from support.report.browser import TIMEOUT_MS, open_address
from support.report.drawing import open_drawing_here
from support.report.html import Element, Report, Tree

from checker import engine, terminal
from checker.command_line.config import CONFIG_FILE, SITE_VARIABLE
from checker.judging import workers
from harness.sign import sign
from reporting.charts import drawing
from reporting.charts.chart import DrawnChart
from reporting.cli import main
from reporting.report_table import ReportTable
from reporting.sentences.charts import ChartText
from rules.bundle_format.observation_files import write_observation
from rules.bundle_format.records import SUBMISSION_NAMESPACE
from rules.bundle_format.seal import seal
from rules.testing.frames import EvidenceFrames, ObservationFrames, StudyFrames
from rules.testing.observations import make_observation_frames
from rules.testing.studies import make_study_frames

PRINCIPAL = "example@wattmark"
"""Who signs the bundles of the tests; they lie in the directory of the center `example`."""

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""Options under which Chromium runs in a container and opens no connection of its own."""

CHROMIUM = "chromium", "chromium-browser", "google-chrome"
"""The names of a full Chromium."""


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_extended(items)


@cache
def _make_good_evidence(serving: bool) -> EvidenceFrames:
    return make_serving_evidence() if serving else make_evidence()


def copy_evidence(serving: bool = False) -> EvidenceFrames:
    """The good evidence of tests/support/bundles.py, of training or of serving, made once and
    copied, so that a test may alter it."""
    return copy.deepcopy(_make_good_evidence(serving))


@cache
def _make_good_study(sessions: int) -> StudyFrames:
    return make_study_frames(sessions=sessions)


def copy_study(sessions: int = 1) -> StudyFrames:
    """The good study of rules/testing/studies.py, made once and copied, so that a test may alter
    it."""
    return copy.deepcopy(_make_good_study(sessions))


def make_key(path: Path) -> Path:
    """A new ed25519 key at `path` without a passphrase; the public part lies beside it with the
    suffix `.pub`."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True
    )
    return path


@dataclass(frozen=True)
class Submissions:
    """A submissions directory with a keyring, and the key whose public part is in it."""

    root: Path
    key: Path

    @property
    def keyring(self) -> Path:
        return self.root / "keyring"

    def allow(
        self,
        key: Path,
        principal: str = PRINCIPAL,
        options: str = f'namespaces="{SUBMISSION_NAMESPACE}"',
    ) -> None:
        """Add `key` to the keyring as `principal` with the given options of an allowed_signers
        line."""
        self.keyring.mkdir(parents=True, exist_ok=True)
        with (self.keyring / "allowed_signers").open("a") as signers:
            signers.write(f"{principal} {options} {key.with_suffix('.pub').read_text()}")

    def add(
        self,
        evidence: EvidenceFrames | None = None,
        run_id: str | None = None,
        system: str = "h200x2",
        principal: str = PRINCIPAL,
    ) -> Path:
        """Write, seal and sign a bundle (the good one by default) and return its directory."""
        evidence = evidence or copy_evidence()
        evidence.result["run_id"] = run_id or evidence.result["run_id"]
        directory = self.root / principal.split("@")[0] / system / evidence.result["run_id"]
        write_bundle(evidence, directory)
        sign(directory, self.key, principal)
        return directory

    def add_study(
        self,
        study: StudyFrames | None = None,
        study_id: str | None = None,
        principal: str = PRINCIPAL,
    ) -> Path:
        """Write, seal and sign the bundle of a study (the good one by default) and return its
        directory."""
        study = study or copy_study()
        study.study["study_id"] = study_id or study.study["study_id"]
        directory = self.root / principal.split("@")[0] / "h200" / study.study["study_id"]
        write_study_bundle(study, directory)
        sign(directory, self.key, principal)
        return directory

    def add_observation(self, frames: ObservationFrames | None = None) -> Path:
        """Write, seal and sign the bundle of an observed job (the good one by default) and return
        its directory."""
        frames = frames or make_observation_frames()
        name = frames.observation["observation_id"]
        directory = self.root / PRINCIPAL.split("@")[0] / "h200" / name
        write_observation(frames.evidence(), directory)
        sign(directory, self.key, PRINCIPAL)
        return directory

    def reseal(self, directory: Path) -> None:
        """Make manifest and signature of a bundle anew, as its submitter could after altering
        files."""
        seal(directory)
        sign(directory, self.key, PRINCIPAL)


@pytest.fixture(scope="session")
def signing_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The private key of `example@wattmark`."""
    return make_key(tmp_path_factory.mktemp("key") / "example")


@pytest.fixture
def submissions(tmp_path: Path, signing_key: Path) -> Submissions:
    """An empty submissions directory, one per test, whose keyring knows the signing key."""
    empty_round = Submissions(tmp_path / "submissions", signing_key)
    empty_round.allow(signing_key)
    return empty_round


@pytest.fixture
def sealed_bundle(submissions: Submissions) -> Callable[..., Path]:
    """Makes sealed bundles in the `submissions` fixture: `sealed_bundle(evidence=None, run_id=None,
    system=...)`."""
    return submissions.add


def find_chromium(*names: str) -> str:
    """Path of the first of these programs that is installed."""
    paths = filter(None, map(shutil.which, names))
    return next(paths, "") or pytest.skip(f"no {names[0]} on the path (.ci/run installs it)")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium, for the tests that render the report: of chromium-headless-shell where it
    is installed, which opens a page in less than half of the processor time."""
    return find_chromium("chromium-headless-shell", *CHROMIUM)


NO_LINES = copy.copy(terminal._LINES)


@pytest.fixture(autouse=True)
def no_step_begun() -> None:
    """Forget the steps of an earlier test of this process. Half a minute later, the next step would
    be printed as a line."""
    terminal._LINES = copy.copy(NO_LINES)


@pytest.fixture(scope="session", autouse=True)
def no_site_defaults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the files of defaults that the machine and its user have."""
    directory = tmp_path_factory.mktemp("config")
    (directory / CONFIG_FILE).touch()
    variables = {"XDG_CONFIG_HOME": str(directory), SITE_VARIABLE: str(directory / CONFIG_FILE)}
    with mock.patch.dict(os.environ, variables):
        yield


@pytest.fixture(scope="session", autouse=True)
def no_verdict_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let no test read or write verdicts of the user: a file is in the place of the directory."""
    directory = tmp_path_factory.mktemp("cache")
    (directory / "wattmark").touch()
    with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(directory)}):
        yield


def map_in_this_process(
    function: Callable[[Sequence[Any]], Sequence[Any]], items: Sequence[Any], _: object
) -> Iterator[Any]:
    """What `checker.judging.workers.map_in_processes` gives, without its processes."""
    for chunk in workers._split(items):
        # As between processes, nothing is shared and everything can be pickled.
        yield from pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps(chunk)))))


@pytest.fixture(scope="session", autouse=True)
def bundles_judged_in_this_process() -> Iterator[None]:
    """Judge bundles in the process of a test, which keeps the schemas that it has compiled."""
    with mock.patch.object(engine, "map_in_processes", map_in_this_process):
        yield


@pytest.fixture
def judged_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge bundles in processes, as the programs do."""
    monkeypatch.setattr(engine, "map_in_processes", workers.map_in_processes)


@pytest.fixture(scope="session", autouse=True)
def charts_drawn_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Draw each chart once, in the process of a test, and keep it for all test processes.

    Most pages of the tests show the same published figures. A report draws in processes of its own,
    each of which imports the renderer anew; a test in test_report_charts.py compares what they
    draw.
    """
    temporary = tmp_path_factory.getbasetemp()
    pictures = (temporary.parent if "PYTEST_XDIST_WORKER" in os.environ else temporary) / "pictures"
    pictures.mkdir(exist_ok=True)
    draw_table = drawing._draw_table

    def draw_once(table: ReportTable, texts: Mapping[str, ChartText] | None) -> list[DrawnChart]:
        picture = pictures / hashlib.sha256(pickle.dumps((table, texts))).hexdigest()
        if not picture.exists():
            complete_file = picture.with_suffix(f".{os.getpid()}")
            complete_file.write_bytes(pickle.dumps(draw_table(table, texts)))
            complete_file.rename(picture)
        charts: list[DrawnChart] = pickle.loads(picture.read_bytes())
        return charts

    with (
        mock.patch.object(drawing, "_draw_table", draw_once),
        mock.patch.object(drawing, "open_drawing", open_drawing_here),
        mock.patch.object(drawing, "start_server", lambda: None),
    ):
        yield


@pytest.fixture(scope="session")
def whole_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a report on everything in submissions/: report.html, tables/, figures/ and
    data/."""
    directory = tmp_path_factory.mktemp("report")
    submissions = Path(__file__).parents[1] / "submissions"
    options = [
        "-o",
        str(directory / "report.html"),
        "--tables",
        str(directory / "tables"),
        "--figures",
        str(directory / "figures"),
        "--parquet",
        str(directory / "data"),
    ]
    result = CliRunner().invoke(main, [str(submissions), *options])
    assert result.exit_code == 0, result.output
    return directory


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")
    sync_api.expect.set_options(timeout=TIMEOUT_MS)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET, timeout=300_000)
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Any, path: Path) -> Iterator[Any]:
    """Open a page. Fails if it says anything on the console or asks for anything."""
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.set_default_timeout(TIMEOUT_MS)
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on(
        "request",
        lambda request: (
            messages.append(request.url) if not request.url.startswith(("file:", "blob:")) else None
        ),
    )
    open_address(page, path.as_uri())
    yield page
    assert messages == []
    page.close()


@pytest.fixture
def page(browser: Any, whole_report: Path) -> Iterator[Any]:
    """The main page, open."""
    with open_page(browser, whole_report / "report.html") as page:
        yield page


@pytest.fixture(scope="module")
def shared_page(browser: Any, whole_report: Path) -> Iterator[Any]:
    """The main page, open for tests that only read, or that undo what they choose."""
    with open_page(browser, whole_report / "report.html") as page:
        yield page


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """Runs bench-report and returns the parsed page and its text."""

    def run(*paths: Path) -> tuple[Element, str]:
        out = tmp_path / "report.html"
        result = CliRunner().invoke(main, [*map(str, paths), "-o", str(out)])
        assert result.exit_code == (", 0 failed," not in result.output), result.output
        html = out.read_text(encoding="utf-8")
        return Tree(html).open[0], html

    return run
