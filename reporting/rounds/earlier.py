"""Read the earlier round that a report is compared with: a directory, or a revision of the git
repository that holds the present one."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from checker.find import find_places, resolve
from reporting.collect import Collected, collect

_OTHER_CHOICE = "or name a directory with the earlier round"
_HOOK_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
"""Git sets these for a hook. They would replace the repository that holds the paths."""


class EarlierRoundError(Exception):
    """The earlier round cannot be read. The message names it and says what to do."""


@dataclass(frozen=True)
class EarlierRound:
    """The earlier round, judged by the rule book of today with its own keyring, LOG and waivers."""

    name: str
    """The directory or revision as the user gave it."""
    collected: Collected
    commit: str | None = None
    """The commit of a revision; None for a directory."""
    date: str | None = None
    """The day of that commit, as YYYY-MM-DD."""

    @property
    def label(self) -> str:
        """The revision, or the last part of the directory: a page is published, and a path shows
        how its builder's machine is set up."""
        return self.name if self.commit else resolve(Path(self.name)).name or self.name


def collect_earlier(
    name: str, paths: Sequence[Path], keyring: Path | None = None, local: bool = False
) -> EarlierRound:
    """Collect the round in the directory `name`, or what `paths` held at the revision `name`.

    Raises EarlierRoundError if there is no such round, and what `collect` raises.
    """
    directory = Path(name)
    if directory.is_dir():
        _require_results([directory], name)
        return EarlierRound(name, collect([directory], keyring, local))
    if directory.exists():
        raise EarlierRoundError(f"{name}: this is a file; name a directory or a revision of git")
    repository = _find_repository(paths[0])
    commit = _find_commit(repository, name)
    date = _run_git(repository, "show", "-s", "--format=%cs", commit)
    # Everything is read within this block: the rows keep no raw tables.
    with TemporaryDirectory(prefix="wattmark-") as scratch:
        tree = _check_out(repository, commit, Path(scratch))
        relative_paths = [_find_relative(path, repository) for path in paths]
        roots = [root for path in relative_paths if (root := tree / path).exists()]
        _require_results(roots, f"{name}, below {' '.join(map(str, paths))}")
        return EarlierRound(name, collect(roots, keyring, local), commit, date)


def _require_results(roots: Sequence[Path], place: str) -> None:
    if not any(places.bundles for places in map(find_places, roots)):
        raise EarlierRoundError(f"{place}: the earlier round has no bundle there; name another one")


def _find_repository(path: Path) -> Path:
    """The working tree that holds `path`."""
    directory = path if path.is_dir() else path.parent
    try:
        return resolve(Path(_run_git(directory, "rev-parse", "--show-toplevel")))
    except FileNotFoundError:
        raise EarlierRoundError(
            f"git is not installed, so no revision can be read; install it, {_OTHER_CHOICE}"
        ) from None
    except subprocess.CalledProcessError as error:
        raise EarlierRoundError(
            f"{path}: git finds no repository that holds this path ({_get_last_line(error)}); name "
            "a path in a clone, " + _OTHER_CHOICE
        ) from None


def _find_commit(repository: Path, name: str) -> str:
    options = ("--verify", "--quiet", "--end-of-options")
    try:
        return _run_git(repository, "rev-parse", *options, f"{name}^{{commit}}")
    except subprocess.CalledProcessError:
        raise EarlierRoundError(
            f"{name}: neither a directory nor a revision of the repository {repository}; "
            f"`git fetch --tags` gets the tags of others, {_OTHER_CHOICE}"
        ) from None


def _check_out(repository: Path, commit: str, scratch: Path) -> Path:
    """Write the files of a commit below `scratch`; return their directory. The repository and its
    index stay as they are."""
    tree = scratch / "tree"
    tree.mkdir()
    variables = {"GIT_INDEX_FILE": str(scratch / "index"), "GIT_WORK_TREE": str(tree)}
    # A submitter can write .gitattributes, which alter bytes, and which `git archive` obeys too.
    forget_attributes = "rm --cached --force --quiet --ignore-unmatch :(glob)**/.gitattributes"
    write_files = "-c core.autocrlf=false -c core.attributesFile=/dev/null checkout-index --all"
    try:
        for command in (f"read-tree {commit}", forget_attributes, write_files):
            _run_git(repository, *command.split(), variables=variables)
    except subprocess.CalledProcessError as error:
        raise EarlierRoundError(
            f"{commit}: git cannot write the files of this commit: {_get_last_line(error)}"
        ) from None
    return tree


def _find_relative(path: Path, repository: Path) -> Path:
    try:
        return resolve(path).relative_to(repository)
    except ValueError:
        raise EarlierRoundError(
            f"{path}: this is outside of the repository {repository}, whose revision is asked for; "
            f"leave it out, {_OTHER_CHOICE}"
        ) from None


def _run_git(directory: Path, *words: str, variables: dict[str, str] | None = None) -> str:
    """The output of a git command. Raises CalledProcessError and FileNotFoundError."""
    environment = {key: os.environ[key] for key in os.environ if key not in _HOOK_VARIABLES}
    finished = subprocess.run(
        ["git", "-C", str(directory), *words],
        capture_output=True,
        text=True,
        check=True,
        env={**environment, "LC_ALL": "C", **(variables or {})},
    )
    return finished.stdout.strip()


def _get_last_line(error: subprocess.CalledProcessError) -> str:
    lines = str(error.stderr).strip().splitlines()
    return lines[-1] if lines else f"exit code {error.returncode}"
