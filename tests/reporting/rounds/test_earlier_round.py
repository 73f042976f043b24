"""An earlier round is read from a directory or from a revision of git, and nothing of it stays
behind."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.committed_runs import SUBMISSIONS

from reporting.cli import main
from reporting.rounds.changes import CHANGES
from reporting.rounds.command import compare as compare_command
from reporting.rounds.compare import compare_rounds
from reporting.rounds.earlier import EarlierRoundError, collect_earlier
from reporting.sections.repeats import measure_spread

RUNS = sorted(SUBMISSIONS.glob("reference/h200/*-resnet50-train-tuned-x1-*"))
VISION_RUN = next(SUBMISSIONS.glob("reference/h200/*-vitl16-train-baseline-*"))


def run_git(directory: Path, *words: str) -> str:
    identity = ("-c", "user.name=chair", "-c", "user.email=chair@round.example")
    command = ["git", *identity, "-C", str(directory), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def add_run(repository: Path, run: Path) -> None:
    shutil.copytree(run, repository / "submissions" / run.relative_to(SUBMISSIONS))


def commit(repository: Path, tag: str) -> None:
    run_git(repository, "add", "--all")
    run_git(repository, "commit", "--quiet", "--message", tag)
    run_git(repository, "tag", tag)


@pytest.fixture(scope="module", autouse=True)
def plain_git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run git without the settings of the user and without those of a hook that runs the tests: its
    GIT_DIR would make these tests commit to the repository of the user."""
    if shutil.which("git") is None:
        pytest.skip("needs git: .ci/run installs it")
    with pytest.MonkeyPatch.context() as environment:
        for name in os.environ:
            if name.startswith("GIT_"):
                environment.delenv(name)
        environment.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        environment.setenv("GIT_CONFIG_NOSYSTEM", "1")
        # The temporary directory may lie in a repository.
        environment.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path_factory.getbasetemp().resolve()))
        yield


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of a repository with committed runs: `round-1` has one setting with one run and a
    setting that later goes, `round-2` has a second run of the first setting."""
    directory = tmp_path_factory.mktemp("git")
    origin = directory / "origin"
    shutil.copytree(SUBMISSIONS / "keyring", origin / "submissions" / "keyring")
    run_git(directory, "init", "--quiet", str(origin))
    commit(origin, "empty")
    add_run(origin, RUNS[0])
    add_run(origin, VISION_RUN)
    # A submitter could write this file to hide a result of the earlier round: `git archive` leaves
    # the directory out, and a checkout alters bytes, so that bundles fail.
    attributes = origin / "submissions/reference/.gitattributes"
    attributes.write_text("h200 export-ignore\n*.json text eol=crlf\n")
    commit(origin, "round-1")
    attributes.unlink()
    add_run(origin, RUNS[1])
    shutil.rmtree(origin / "submissions" / VISION_RUN.relative_to(SUBMISSIONS))
    commit(origin, "round-2")
    run_git(directory, "clone", "--quiet", str(origin), "clone")
    return directory / "clone"


def test_committed_runs_are_compared_with_a_tag(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    index = (clone / ".git/index").read_bytes()
    round_1 = collect_earlier("round-1", [clone / "submissions"])
    round_2 = collect_earlier("round-2", [clone / "submissions"])
    assert not list(scratch.iterdir())
    assert (clone / ".git/index").read_bytes() == index
    assert not run_git(clone, "status", "--porcelain")
    assert round_1.commit == run_git(clone, "rev-parse", "round-1").strip()
    assert round_1.date == run_git(clone, "show", "-s", "--format=%cs", "round-1").strip()
    spread = measure_spread(round_2.collected.rows)
    changes = compare_rounds(round_1.collected, round_2.collected, "round-1", spread)
    assert [(setting.change, setting.row.workload) for setting in changes.settings] == [
        ("gone", "vitl16-train"),
        ("not told apart", "resnet50-train"),
    ]
    setting = changes.settings[1]
    assert setting.earlier is not None and setting.later is not None
    assert (setting.earlier.runs, setting.later.runs) == (1, 2)
    reverse = compare_rounds(round_2.collected, round_1.collected, "round-2", spread)
    assert [setting.change for setting in reverse.settings] == ["new", "not told apart"]
    same = compare_rounds(round_2.collected, round_2.collected, "round-2", spread)
    assert same.count() == {"unchanged": 1} and "unchanged" in CHANGES


def invoke(clone: Path, since: str, *paths: Path) -> Result:
    paths = paths or (clone / "submissions",)
    out = clone.parent / "report.html"
    return CliRunner().invoke(main, [*map(str, paths), "--since", since, "-o", str(out)])


@pytest.mark.parametrize(
    ("since", "message"),
    [
        ("round-9", "round-9: neither a directory nor a revision of the repository"),
        ("--output=x", "--output=x: neither a directory nor a revision"),
        ("HEAD:submissions", "HEAD:submissions: neither a directory nor a revision"),
        ("empty", "empty, below {clone}/submissions: the earlier round has no bundle there"),
        ("{clone}/.git/index", "{clone}/.git/index: this is a file; name a directory"),
        ("{clone}/submissions/keyring", "{clone}/submissions/keyring: the earlier round has no"),
    ],
)
def test_name_of_no_round_is_an_error(clone: Path, since: str, message: str) -> None:
    result = invoke(clone, since.format(clone=clone))
    assert result.exit_code == 1
    assert f"Error: {message.format(clone=clone)}" in result.output
    assert not (clone.parent / "report.html").exists()


def test_comparison_with_an_unknown_revision_is_an_error(clone: Path) -> None:
    result = CliRunner().invoke(compare_command, ["round-9", str(clone / "submissions")])
    assert result.exit_code == 1
    assert result.output.startswith("Error: round-9: neither a directory nor a revision of the ")


def test_repository_of_a_git_hook_is_not_read(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = clone / "submissions" / RUNS[0].relative_to(SUBMISSIONS)
    hook = {"GIT_DIR": clone.parent / "origin/.git", "GIT_WORK_TREE": tmp_path}
    for name, path in {**hook, "GIT_INDEX_FILE": tmp_path / "index"}.items():
        monkeypatch.setenv(name, str(path))
    assert len(collect_earlier("round-1", [run]).collected.rows) == 1
    assert not list(tmp_path.iterdir())


def test_path_outside_of_the_repository_is_an_error(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    with pytest.raises(EarlierRoundError, match="git finds no repository that holds this path"):
        collect_earlier("round-1", [tmp_path])
    with pytest.raises(EarlierRoundError, match="this is outside of the repository"):
        collect_earlier("round-1", [clone, tmp_path])


def test_missing_git_is_an_error(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EarlierRoundError, match="git is not installed"):
        collect_earlier("round-1", [clone])


def test_path_that_the_earlier_round_lacks_is_new(clone: Path) -> None:
    runs = [clone / "submissions" / run.relative_to(SUBMISSIONS) for run in RUNS[:2]]
    assert len(collect_earlier("round-1", runs).collected.rows) == 1
