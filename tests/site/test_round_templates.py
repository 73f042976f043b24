"""The templates of examples/round/: their steps run on pull requests in a bare repository. One
center is honest, the other one cheats."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from conftest import Submissions, copy_evidence, make_key
from support.bundles import make_other_run, rederive
from support.rounds.cheats import NEW, PATH_CHEATS, REVIEWER, ROUND, Edit, change_text
from support.rounds.repository import (
    INSTALL,
    TEMPLATES,
    WORKFLOWS,
    RoundRepository,
    list_actions,
    make_round_repository,
    run_git,
)
from support.rounds.trust import run_command

from harness import __version__
from rules.testing.frames import EvidenceFrames

ALL_TEMPLATES = [*sorted(WORKFLOWS.iterdir()), TEMPLATES / ".gitlab-ci.yml"]
HONEST, CHEAT = "honest@wattmark", "cheat@wattmark"


def make_evidence(number: int) -> EvidenceFrames:
    """The evidence of a run that differs from those of other numbers. M108 warns of it."""
    evidence = make_other_run(copy_evidence(), number)
    evidence.result["run_id"] = f"run-000{number}"
    evidence.environment["git"]["dirty"] = True
    rederive(evidence)
    return evidence


@dataclass(frozen=True)
class TwoCenters:
    """A round in which each of two centers has an accepted bundle, and each has one to submit."""

    repository: RoundRepository
    keys: dict[str, Path]
    to_submit: Path
    """submissions/ with the bundles that are not in the round yet."""

    def submit(self, directory: Path, principal: str) -> Path:
        """Copy the bundle that a center has to submit. Returns its directory."""
        center = principal.split("@")[0]
        (source,) = (self.to_submit / center / "h200").iterdir()
        target = directory / "submissions" / center / "h200" / source.name
        shutil.copytree(source, target)
        return target


@pytest.fixture(scope="module")
def two_centers(tmp_path_factory: pytest.TempPathFactory) -> TwoCenters:
    scratch = tmp_path_factory.mktemp("round")
    keys = {who: make_key(scratch / who.split("@")[0]) for who in (HONEST, CHEAT, REVIEWER)}
    submissions = scratch / "submissions"
    options = {REVIEWER: 'namespaces="review@wattmark"'}
    default = 'namespaces="submission@wattmark,withdrawal@wattmark"'
    for who, key in keys.items():
        Submissions(submissions, key).allow(key, who, options.get(who, default))
    to_submit = scratch / "to-submit"
    shutil.copytree(submissions / "keyring", to_submit / "keyring")
    for number, who in enumerate((HONEST, CHEAT), 1):
        Submissions(submissions, keys[who]).add(make_evidence(number), None, "h200", who)
        Submissions(to_submit, keys[who]).add(make_evidence(number + 2), None, "h200", who)
    (bundle,) = (submissions / "cheat" / "h200").iterdir()
    review = ("--key", keys[REVIEWER], "--principal", REVIEWER)
    run_command("review", bundle, *review, "--verdict", "accept", "--comment", "Fits the board.")
    (honest,) = (submissions / "honest" / "h200").iterdir()
    despite = ("--despite", honest, "It is the only one.")
    assert run_command("accept", submissions, *despite).exit_code == 0
    repository = make_round_repository(scratch, submissions)
    return TwoCenters(repository, keys, to_submit)


def run_all_jobs(two_centers: TwoCenters, edit: Edit, start: str = "main") -> dict[str, object]:
    """The result of each job on a pull request."""
    repository = two_centers.repository
    head = repository.open_pull_request(edit, start)
    return {
        "paths": repository.run_github_job("pull-request-paths.yml", "paths", head),
        "github": repository.run_github_job("pull-request.yml", "check", head),
        "gitlab": repository.run_gitlab_job("check", head),
    }


def test_an_honest_pull_request_passes_and_its_page_is_built(two_centers):
    jobs = run_all_jobs(two_centers, lambda clone: two_centers.submit(clone, HONEST))
    assert {name: job.status for name, job in jobs.items()} == dict.fromkeys(jobs, 0), jobs
    for name in ("github", "gitlab"):
        summary = jobs[name].read("out/summary.md")
        assert "### The pull request passes" in summary
        assert (
            "pass submissions/honest/h200/run-0003: signed by honest@wattmark; 0 errors, 1 warning"
            in summary
        )
        assert "\n  warning M108 environment.json /git/dirty: found true" in summary
        # The setting is in the round already: the new run is compared with the earlier ones.
        assert "A  ../base\nB  submissions\n" in summary and "images/s per accelerator" in summary
        assert "submissions/LOG: 2 lines, head " in summary
        page = jobs[name].read("out/page/report.html")
        assert "run-0003" in page and "Changes since base" in page
        sarif = json.loads(jobs[name].read("out/check.sarif"))
        places = [result["locations"][0] for result in sarif["runs"][0]["results"]]
        uris = {place["physicalLocation"]["artifactLocation"]["uri"] for place in places}
        # Annotations need paths of the repository.
        assert "submissions/honest/h200/run-0003/environment.json" in uris
        assert '<testsuite name="submissions/honest/h200/run-0003"' in jobs[name].read(
            "out/check.xml"
        )
    assert jobs["github"].read("step-summary.md") == jobs["github"].read("out/summary.md")
    assert "::warning file=submissions/honest/h200/run-0003/" in jobs["github"].output
    assert "### The pull request passes" in jobs["gitlab"].output


def test_a_merge_publishes_the_page_and_the_head_of_the_log(two_centers):
    repository = two_centers.repository
    published = {
        "site": repository.run_github_job("publish.yml", "build"),
        "public": repository.run_gitlab_job("pages"),
    }
    for directory, job in published.items():
        assert job.status == 0, job.output
        assert "run-0001" in job.read(f"{directory}/index.html")
        assert job.read(f"{directory}/log-head.txt").startswith("submissions/LOG: 2 lines, head ")


@pytest.mark.parametrize("name", PATH_CHEATS)
def test_a_pull_request_that_changes_more_than_its_bundle_is_refused(two_centers, name):
    change, message = PATH_CHEATS[name]

    def edit(clone: Path) -> None:
        two_centers.submit(clone, CHEAT)
        change(clone)

    for job in run_all_jobs(two_centers, edit).values():
        assert job.status == 1 and message in job.output, job.output
        assert "Traceback" not in job.output
        if (job.directory / "out").exists():
            assert [path.name for path in (job.directory / "out").iterdir()] == ["summary.md"]
            assert message.removeprefix("refused ") in job.read("out/summary.md")


def remove_signature(bundle: Path) -> None:
    shutil.rmtree(bundle / "signatures")


def replace_samples(bundle: Path) -> None:
    """Put the samples of another run in place of those of the bundle."""
    shutil.copyfile(bundle.parent / "run-0002" / "samples.csv.gz", bundle / "samples.csv.gz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (remove_signature, "I105 signatures: found no signature of the submitter"),
        (replace_samples, "I101 samples.csv.gz: found "),
    ],
)
def test_a_bundle_that_fails_the_check_is_refused(two_centers, change, message):
    jobs = run_all_jobs(two_centers, lambda clone: change(two_centers.submit(clone, CHEAT)))
    assert jobs["paths"].status == 0
    for name in ("github", "gitlab"):
        assert jobs[name].status == 1
        summary = jobs[name].read("out/summary.md")
        assert "### The pull request fails" in summary
        assert f"fail {NEW}: signed by " in summary and f"  error {message}" in summary, summary
        assert not (jobs[name].directory / "out/page").exists()
    file = message.split()[1].rstrip(":")
    assert f"::error file={NEW}/{file}" in jobs["github"].output


def copy_review(clone: Path, target: str = ROUND) -> None:
    """Put the review of another bundle beside `target`."""
    for name in (f"review.{REVIEWER}.json", f"review.{REVIEWER}.sig"):
        source = clone / "submissions/cheat/h200/run-0002/signatures" / name
        shutil.copyfile(source, clone / target / "signatures" / name)


def test_a_review_of_another_bundle_is_refused(two_centers):
    jobs = run_all_jobs(two_centers, copy_review)
    assert [job.status for job in jobs.values()] == [0, 1, 1]
    summary = jobs["gitlab"].read("out/summary.md")
    assert f"fail {ROUND}: " in summary
    assert f"  error I111 signatures/review.{REVIEWER}.json " in summary, summary


def test_reviews_and_withdrawals_are_files_that_a_pull_request_may_add(two_centers):
    repository = two_centers.repository

    def sign(command: str, principal: str, bundle: str, *options: str) -> Edit:
        key = two_centers.keys[principal]
        arguments = ("--key", key, "--principal", principal, *options)
        return lambda clone: run_command(command, clone / bundle, *arguments)

    review = sign("review", REVIEWER, ROUND, "--verdict", "accept", "--comment", "Fits the board.")
    withdraw = sign("withdraw", HONEST, ROUND, "--reason", "Another job ran on the node.")

    head = repository.open_pull_request(review)
    assert repository.run_github_job("pull-request-paths.yml", "paths", head).status == 0

    def review_withdraw_and_replace(clone: Path) -> None:
        review(clone)
        withdraw(clone)
        two_centers.submit(clone, HONEST)

    job = repository.run_gitlab_job(
        "check", repository.open_pull_request(review_withdraw_and_replace)
    )
    assert job.status == 0, job.output
    assert f"withdrawn {ROUND}: signed by honest@wattmark" in job.output
    assert "pass submissions/honest/h200/run-0003: " in job.output


def test_a_commitment_is_a_pull_request_of_its_own(two_centers):
    def commit(clone: Path) -> None:
        bundle = two_centers.submit(clone, HONEST)
        signed = ("--key", two_centers.keys[HONEST], "--principal", HONEST)
        assert run_command("commit", bundle, *signed).exit_code == 0
        shutil.rmtree(bundle)

    def commit_unsigned(clone: Path) -> None:
        commit(clone)
        (signature,) = (clone / "submissions/commitments").glob("*.sig")
        signature.unlink()

    jobs = run_all_jobs(two_centers, commit)
    assert {name: job.status for name, job in jobs.items()} == dict.fromkeys(jobs, 0), jobs
    jobs = run_all_jobs(two_centers, commit_unsigned)
    assert (jobs["github"].status, jobs["gitlab"].status) == (1, 1)
    assert "I133" in jobs["gitlab"].output


def test_a_pull_request_has_bundles_of_one_center(two_centers):
    def submit_both(clone: Path) -> None:
        two_centers.submit(clone, HONEST)
        two_centers.submit(clone, CHEAT)

    def submit_and_review(clone: Path) -> None:
        two_centers.submit(clone, CHEAT)
        copy_review(clone)

    messages = {
        submit_both: "run-0003/result.json: is of one of 2 centers (cheat, honest)",
        submit_and_review: f"{ROUND}/signatures/review.{REVIEWER}.json: concerns a bundle of ",
    }
    for edit, message in messages.items():
        head = two_centers.repository.open_pull_request(edit)
        job = two_centers.repository.run_github_job("pull-request-paths.yml", "paths", head)
        assert job.status == 1 and message in job.output, job.output


def test_a_pull_request_is_compared_with_the_tip_of_the_base_branch(two_centers):
    """What was merged since the pull request began is not a change of it. A file that was added
    in both places is a conflict."""
    repository, start = two_centers.repository, two_centers.repository.base

    def submit_other(clone: Path) -> None:
        bundle = two_centers.submit(clone, HONEST)
        change_text(bundle / "result.json")

    honest = repository.open_pull_request(lambda clone: two_centers.submit(clone, HONEST), start)
    repository.push(lambda clone: two_centers.submit(clone, CHEAT), "refs/heads/main")
    try:
        paths = repository.run_github_job("pull-request-paths.yml", "paths", honest)
        assert paths.status == 0, paths.output
        repository.push(lambda clone: two_centers.submit(clone, HONEST), "refs/heads/main")
        nothing = repository.run_github_job("pull-request-paths.yml", "paths", honest)
        assert (nothing.status, nothing.output) == (
            1,
            "refused the pull request changes no file\n",
        )
        head = repository.open_pull_request(submit_other, start)
        job = repository.run_github_job("pull-request.yml", "check", head)
        assert job.status == 2
        assert "conflicts with the base branch; rebase it" in job.output
        assert "submissions/honest/h200/run-0003/result.json" in job.read("step-summary.md")
    finally:
        run_git(repository.bare, "update-ref", "refs/heads/main", start)


def test_pull_requests_that_pass_one_by_one_are_checked_again_after_a_merge(two_centers, tmp_path):
    """The docs therefore ask for branches that are up to date."""
    repository, start = two_centers.repository, two_centers.repository.base
    shutil.copytree(two_centers.to_submit / "keyring", tmp_path / "keyring")
    copy = Submissions(tmp_path, two_centers.keys[CHEAT])
    bundle = copy.add(make_evidence(4), "run-copied", "h200", CHEAT)

    def submit_copy(clone: Path) -> None:
        shutil.copytree(bundle, clone / "submissions/cheat/h200/run-copied")

    first, copied = (
        repository.open_pull_request(edit, start)
        for edit in (lambda clone: two_centers.submit(clone, CHEAT), submit_copy)
    )
    alone = [repository.run_gitlab_job("check", head) for head in (first, copied)]
    assert [job.status for job in alone] == [0, 0], alone
    repository.push(lambda clone: two_centers.submit(clone, CHEAT), "refs/heads/main")
    try:
        again = repository.run_gitlab_job("check", copied)
        assert again.status == 1 and "X102" in again.output, again.output
    finally:
        run_git(repository.bare, "update-ref", "refs/heads/main", start)


@pytest.mark.parametrize("path", sorted(WORKFLOWS.iterdir()), ids=lambda path: path.name)
def test_a_workflow_has_no_secrets_and_the_rights_that_it_needs(path):
    workflow = yaml.safe_load(path.read_text())
    # YAML reads `on` as a truth value.
    (event,) = workflow[True]
    assert "secrets." not in path.read_text()
    assert workflow["permissions"] == {"contents": "read"}
    rights = {name: job.get("permissions") for name, job in workflow["jobs"].items()}
    assert {name: value for name, value in rights.items() if value} == {
        "pull-request-paths.yml": {},
        "pull-request.yml": {"annotate": {"security-events": "write"}},
        "publish.yml": {"publish": {"pages": "write", "id-token": "write"}},
    }[path.name]
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
                # Never the head: not even data of it is in the working tree.
                base = "${{ github.event.pull_request.base.sha }}"
                assert step["with"].get("ref") == (None if event == "push" else base)
    if event == "pull_request_target":
        assert path.name == "pull-request-paths.yml"
        assert INSTALL not in path.read_text() and "bench-" not in path.read_text()
    # Another publisher than GitHub would need a pin by the hash of a commit.
    assert {name.split("/")[0] for name in list_actions(workflow)} <= {"actions", "github"}


def validate(path: Path) -> str:
    """What the schema of GitHub or GitLab, which check-jsonschema ships, refuses in a template."""
    schema = ["vendor.github-workflows"]
    if path.name.startswith(".gitlab"):
        # GitLab has a YAML tag of its own, `!reference`.
        schema = ["vendor.gitlab-ci", "--data-transform=gitlab-ci"]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", *schema, path]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    # Where the program fails, it ends with 1 too, but prints no result.
    expected = "validation done" if process.returncode == 0 else "Schema validation errors"
    assert expected in process.stdout, process.stderr
    return "" if process.returncode == 0 else process.stdout


@pytest.mark.parametrize("path", ALL_TEMPLATES, ids=lambda path: path.name)
def test_schema_of_the_server_accepts_a_template(path):
    assert validate(path) == ""


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (WORKFLOWS / "pull-request.yml", "runs-on:", "run-on:"),
        (WORKFLOWS / "publish.yml", "permissions:", "permission:"),
        (TEMPLATES / ".gitlab-ci.yml", "artifacts:", "artifact:"),
        (TEMPLATES / ".gitlab-ci.yml", "    when: always", "    when: sometimes"),
    ],
)
def test_schema_of_the_server_refuses_a_misspelt_key(tmp_path, path, old, new):
    text = path.read_text()
    assert old in text
    changed = tmp_path / path.name
    changed.write_text(text.replace(old, new, 1))
    assert "Schema validation errors" in validate(changed)


def test_the_templates_install_this_version():
    wheel = f"https://round.example/wattmark-{__version__}-py3-none-any.whl"
    last = (TEMPLATES / "requirements.txt").read_text().splitlines()[-1]
    assert last == f"wattmark[report] @ {wheel}"


def test_git_ignores_what_no_bundle_is(tmp_path):
    # A pull request with the plan of a sweep is refused, and the plan has paths of its machine.
    shutil.copytree(TEMPLATES, tmp_path, dirs_exist_ok=True)
    run_git(tmp_path, "init", "--quiet")
    system = tmp_path / "submissions" / "honest" / "h200"
    leftovers = (
        system / "SWEEP.sweep.json",
        system / ".SWEEP.sweep.json.writing",
        system / ".RUN.running" / "log.txt",
        system / ".RUN.writing" / "log.txt",
        tmp_path / "out" / "summary.md",
    )
    for path in (*leftovers, system / "RUN" / "result.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    listing = run_git(tmp_path, "ls-files", "--others", "--exclude-standard").splitlines()
    assert set(listing) == {
        "submissions/honest/h200/RUN/result.json",
        *(str(p.relative_to(TEMPLATES)) for p in TEMPLATES.rglob("*") if p.is_file()),
    }


def test_the_first_pull_request_of_a_round_passes_without_a_log(two_centers, tmp_path):
    keyring = tmp_path / "submissions" / "keyring"
    shutil.copytree(two_centers.to_submit / "keyring", keyring)
    repository = make_round_repository(tmp_path, keyring.parent)
    head = repository.open_pull_request(lambda clone: two_centers.submit(clone, HONEST))
    job = repository.run_github_job("pull-request.yml", "check", head)
    assert job.status == 0, job.output
    summary = job.read("out/summary.md")
    assert "The base branch has no results." in summary
    assert "\nsubmissions: there is no LOG yet" in summary


def test_a_commit_that_is_not_there_is_named(two_centers):
    two_centers.repository.open_pull_request(lambda clone: None)
    job = two_centers.repository.run_github_job("pull-request-paths.yml", "paths", "0" * 40)
    assert job.status == 2 and f"{'0' * 40}^{{commit}}: fatal: " in job.output, job.output


def test_shellcheck_finds_nothing_in_the_steps():
    if shutil.which("shellcheck") is None:
        pytest.skip("no shellcheck on the path")
    workflows = [yaml.safe_load(path.read_text()) for path in WORKFLOWS.iterdir()]
    jobs = [job for workflow in workflows for job in workflow["jobs"].values()]
    scripts = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    template = yaml.safe_load((TEMPLATES / ".gitlab-ci.yml").read_text())
    for name in ("check", "pages"):
        scripts.append("\n".join([*template[name]["before_script"], *template[name]["script"]]))
    text = "set -e\n" + "\n".join(scripts)
    process = subprocess.run(
        ["shellcheck", "--shell=bash", "-"], input=text, capture_output=True, text=True, check=False
    )
    assert process.stdout == ""
