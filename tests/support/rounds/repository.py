"""The repository of a round on a server of git, its pull requests, and stand-ins for GitHub and
GitLab that run the steps of the templates in examples/round/."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TEMPLATES = Path(__file__).parents[3] / "examples" / "round"
WORKFLOWS = TEMPLATES / ".github" / "workflows"
PROGRAMS = Path(sys.executable).parent
INSTALL = "python3 -m pip install --requirement requirements.txt"
"""The only step that is not run, because it needs a package index."""
IDENTITY = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")


@dataclass(frozen=True)
class JobResult:
    """A job that has run: its exit status, what it printed, and its working directory."""

    status: int
    output: str
    directory: Path

    def read(self, name: str) -> str:
        """The text of a file that the job left."""
        return (self.directory / name).read_text()


def run_git(directory: Path, *arguments: str | Path) -> str:
    """Run git in `directory`. Returns what it prints."""
    command = ["git", *IDENTITY, "-C", directory, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass
class RoundRepository:
    """A bare repository with the branch `main`, and clones in `scratch`."""

    bare: Path
    scratch: Path
    clones: int = 0

    @property
    def base(self) -> str:
        """The commit of the base branch."""
        return run_git(self.bare, "rev-parse", "main")

    def clone(self) -> Path:
        """A new clone with the base branch checked out."""
        self.clones += 1
        directory = self.scratch / f"clone{self.clones}"
        run_git(self.scratch, "clone", "--quiet", self.bare, directory)
        return directory

    def push(self, edit: Callable[[Path], object], *references: str, start: str = "main") -> str:
        """Commit what `edit` does to a checkout of `start`, and push it. Returns the commit."""
        directory = self.clone()
        run_git(directory, "checkout", "--quiet", "--detach", start)
        edit(directory)
        run_git(directory, "add", "--all", "--force")
        run_git(directory, "commit", "--quiet", "--allow-empty", "--message", "Change")
        run_git(
            directory, "push", "--quiet", "--force", "origin", *(f"HEAD:{r}" for r in references)
        )
        return run_git(directory, "rev-parse", "HEAD")

    def open_pull_request(self, edit: Callable[[Path], object], start: str = "main") -> str:
        """Push a pull request as both servers hold it. Returns the tip."""
        return self.push(edit, "refs/pull/7/head", "refs/merge-requests/7/head", start=start)

    def run_github_job(self, workflow: str, job: str, head: str = "") -> JobResult:
        """Run the steps of a job, and its later steps too if one fails and they ask for that."""
        steps = yaml.safe_load((WORKFLOWS / workflow).read_text())["jobs"][job]["steps"]
        directory = self.clone()
        values = {
            "github.event.pull_request.base.sha": self.base,
            "github.event.pull_request.head.sha": head,
            "github.event.pull_request.number": "7",
        }
        summary = directory / "step-summary.md"
        status, output = 0, ""
        for step in steps:
            if step.get("uses", "").startswith("actions/checkout@") and "ref" in step["with"]:
                reference = fill_in(step["with"]["ref"], values)
                run_git(directory, "checkout", "--quiet", "--detach", reference)
            is_wanted = status == 0 or "!cancelled()" in step.get("if", "")
            if "run" not in step or step["run"] == INSTALL or not is_wanted:
                continue
            # Values of an event in a script could end a word of it. In `env`, they cannot.
            assert "${{" not in step["run"]
            environment = {k: fill_in(v, values) for k, v in step.get("env", {}).items()}
            environment |= {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
            process = run_script(step["run"], directory, environment, "-e")
            status, output = status or process.returncode, output + process.stdout
        return JobResult(status, output, directory)

    def run_gitlab_job(self, job: str, head: str = "") -> JobResult:
        """Run the scripts of a job. `after_script` is run in any case."""
        description = yaml.safe_load((TEMPLATES / ".gitlab-ci.yml").read_text())[job]
        directory = self.clone()
        environment = {
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_MERGE_REQUEST_IID": "7",
        }
        lines = [*description["before_script"], *description["script"]]
        assert INSTALL in lines
        script = "\n".join(line for line in lines if line != INSTALL)
        process = run_script(script, directory, environment, "-eo", "pipefail")
        after = run_script("\n".join(description.get("after_script", [])), directory, environment)
        return JobResult(process.returncode, process.stdout + after.stdout, directory)


def fill_in(text: str, values: Mapping[str, str]) -> str:
    """Put values in place of `${{ … }}`."""
    return re.sub(r"\$\{\{ (.+?) \}\}", lambda match: values[match[1]], text)


def run_script(
    script: str, directory: Path, environment: Mapping[str, str], *options: str
) -> subprocess.CompletedProcess[str]:
    """Run a script in bash with the programs of this environment."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if name in ("HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME") or name.startswith("PYTHON")
    }
    return subprocess.run(
        ["bash", *options, "-c", script],
        cwd=directory,
        env={**variables, "PATH": f"{PROGRAMS}:{os.defpath}", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def make_round_repository(scratch: Path, submissions: Path) -> RoundRepository:
    """A repository with the files of examples/round/ and a copy of `submissions` in place of
    theirs."""
    bare = scratch / "round.git"
    run_git(scratch, "init", "--quiet", "--bare", "--initial-branch=main", bare)
    repository = RoundRepository(bare, scratch)
    directory = repository.clone()
    own_submissions = shutil.ignore_patterns("submissions")
    shutil.copytree(TEMPLATES, directory, dirs_exist_ok=True, ignore=own_submissions)
    shutil.copytree(submissions, directory / "submissions")
    run_git(directory, "checkout", "--quiet", "-b", "main")
    run_git(directory, "add", "--all")
    run_git(directory, "commit", "--quiet", "--message", "Open the round")
    run_git(directory, "push", "--quiet", "origin", "main")
    return repository


def list_actions(workflow: Mapping[str, Any]) -> list[str]:
    """The actions that a workflow uses."""
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    return [step["uses"] for step in steps if "uses" in step]
