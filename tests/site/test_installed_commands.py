"""Every command of the installed wheel works outside a clone, and the source distribution passes
its own tests. The wheel is built and installed with the commands of docs/install.md. Those of
docs/first-hour/administrator.md, docs/monitoring.md and docs/dataset.md install it or its extras
too."""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import make_key
from support.console.blocks import DOCS, list_blocks_of
from support.installed_packages import OFFLINE, link_packages

ROOT = Path(__file__).parents[2]
LOG = ROOT / "tests" / "harness" / "power_logs" / "data" / "ptd_8xb200.txt.gz"
SMOKE = ("--smoke", "--simulate", "h200", "--epoch-seconds", "0.1")
OUT = ("--out", "submissions/alpha/h200")
ALPHA, BETA = "alpha@example.org", "beta@example.com"
BY_ALPHA = ("--key", "alpha", "--principal", ALPHA)
BY_BETA = ("--key", "beta", "--principal", BETA)
NAMESPACES = ("submission", "review", "withdrawal", "waiver")
BUILD, INSTALL, LITGPT_BLOCK = (b.text for b in list_blocks_of(__file__, DOCS / "install.md"))
LITGPT = ROOT / ".venvs" / "litgpt"
REAL_RUNS = (
    "reference/h200/20261121T173410Z-resnet50-train-tuned-x1-700W-85582f",
    "reproduction/h200/20261122T181946Z-resnet50-train-tuned-x1-700W-c06f82",
)
"""A run and its reproduction."""
FAST_TESTS = (
    "tests/checker/test_completion.py",
    "tests/checker/test_golden.py",
    "tests/checker/test_published.py",
    "tests/end_to_end/test_bundle_fields.py",
    "tests/end_to_end/test_containers.py",
    "tests/end_to_end/test_docs.py",
    "tests/harness/test_site_defaults.py",
    "tests/reporting/test_shipped_figures.py",
    "tests/rules/test_boards.py",
    "tests/rules/test_workloads.py",
)
"""Tests that read files of all parts of the source distribution, in 10 s."""

pytestmark = pytest.mark.xdist_group("distributions")  # one worker, so one build


@dataclass(frozen=True)
class User:
    """Somebody who has installed the wheel, in a directory outside the clone."""

    programs: Path
    directory: Path

    def run(self, *command: str | Path, status: Sequence[int] = (0,)) -> str:
        """Run a command and return its output. Fails for another exit status, and if the output
        names the clone."""
        program, *arguments = command
        process = subprocess.run(
            [self.programs / program, *arguments],
            cwd=self.directory,
            env=make_environment({}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert process.returncode in status, process.stdout
        assert "Traceback" not in process.stdout
        assert f"{ROOT}/" not in process.stdout.replace(str(LOG), "")
        return process.stdout

    def find_bundle(self, name: str) -> Path:
        """The only bundle of center alpha whose name contains this."""
        (bundle,) = self.directory.glob(f"submissions/alpha/h200/*{name}*/")
        return bundle


@dataclass(frozen=True)
class Home:
    """The home directory of somebody who installs wattmark as pages show it."""

    path: Path

    @property
    def work(self) -> Path:
        """Where the commands of the pages are executed."""
        return self.path / "work"

    @property
    def wheel(self) -> Path:
        (wheel,) = (self.work / "dist").glob("*.whl")
        return wheel

    def execute(self, script: str, packages: Path, changes: Mapping[str, str] = OFFLINE) -> str:
        """Execute commands of a page with these packages as installed ones. Returns the output.
        Fails if a command fails."""
        programs = (self.path / "wattmark" / "bin", Path(sys.executable).parent)
        variables = {
            "HOME": str(self.path),
            "PATH": ":".join((*map(str, programs), os.environ["PATH"])),
            "PYTHONPATH": str(packages),
        }
        process = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=self.work,
            env=make_environment({**variables, **changes}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stdout
        assert "does not provide the extra" not in process.stdout
        return process.stdout


def make_environment(changes: Mapping[str, str]) -> dict[str, str]:
    """The variables of the tests without those that lead to this tree."""
    hidden = {"PYTHONPATH", "VIRTUAL_ENV"}
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**variables, **changes}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages that the tests have."""
    return link_packages(tmp_path_factory.mktemp("packages") / "site-packages")


@pytest.fixture(scope="module")
def home(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home directory with the source distribution and the wheel that was built from it."""
    home = Home(tmp_path_factory.mktemp("home"))
    home.work.mkdir()
    assert BUILD.count("-m build ") == 1
    script = BUILD.replace("-m build ", f"-m build --outdir {home.work}/dist {ROOT} ")
    # The package that builds the wheel comes from the index.
    home.execute(script, packages, {})
    return home


@pytest.fixture(scope="module")
def unpacked(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the source distribution."""
    (archive,) = (home.work / "dist").glob("*.tar.gz")
    directory = tmp_path_factory.mktemp("sdist")
    with tarfile.open(archive) as files:
        files.extractall(directory, filter="data")
    (root,) = directory.iterdir()
    return root


@pytest.fixture(scope="module")
def user(home: Home, packages: Path) -> User:
    """Somebody with the wheel and a signed control run on a simulated board. The packages that the
    wheel needs, with torch and Altair, are those of the tests."""
    home.execute(INSTALL, packages)
    environment = home.path / "wattmark"
    (folder,) = (environment / "lib").glob("python*/site-packages")
    (folder / "dependencies.pth").write_text(str(packages))
    user = User(environment / "bin", home.work)
    keyring = user.directory / "submissions" / "keyring"
    keyring.mkdir(parents=True)
    namespaces = ",".join(f"{name}@wattmark" for name in NAMESPACES)
    for principal in (ALPHA, BETA):
        key = make_key(user.directory / principal.partition("@")[0])
        with (keyring / "allowed_signers").open("a") as signers:
            public = key.with_suffix(".pub").read_text()
            signers.write(f'{principal} namespaces="{namespaces}" {public}')
    user.run("bench-submit", "run", "burn", "--variant", "bf16", *SMOKE, *OUT)
    user.run("bench-submit", "sign", user.find_bundle("700W"), *BY_ALPHA)
    return user


def test_modules_are_those_of_the_wheel(user: User) -> None:
    for module in ("harness", "reference", "rules", "checker", "reporting"):
        file = user.run("python", "-c", f"import {module}; print({module}.__file__)").strip()
        assert Path(file).is_relative_to(user.programs.parent)


def test_administrator_installs_the_wheel_for_all_users(home: Home, packages: Path) -> None:
    (block,) = list_blocks_of(__file__, DOCS / "first-hour" / "administrator.md")
    shutil.copy(home.wheel, home.work)
    prefix = home.path / "opt" / "wattmark"
    home.execute(block.text.replace("/opt/wattmark", str(prefix)), packages)
    assert (prefix / "bin" / "bench-submit").exists()


@pytest.mark.parametrize("page", ["monitoring.md", "dataset.md"])
def test_extra_is_added_to_an_installed_wheel(
    user: User, home: Home, packages: Path, page: str
) -> None:
    (block,) = list_blocks_of(__file__, DOCS / page)
    output = home.execute(block.text, packages)
    assert "wattmark is already installed with the same version" in output


def test_litgpt_is_installed_into_its_own_environment(home: Home, tmp_path: Path) -> None:
    if not LITGPT.exists():
        pytest.skip("the packages of LitGPT are missing: make .venvs/litgpt/ready installs them")
    shutil.copy(ROOT / "submissions/reference/system.toml", home.work)
    # "from a wheel, write its path in place of the dot"
    script = LITGPT_BLOCK.replace("'.[", f"'{home.wheel}[")
    options = "--smoke --simulate h200 --dry-run"
    output = home.execute(
        f"{script.rstrip()} {options}", link_packages(tmp_path / "packages", str(LITGPT))
    )
    assert "stack: torch, litgpt installed" in output


@pytest.mark.parametrize(
    ("command", "status", "text"),
    [
        ("bench-submit doctor", (0, 1), "installed, no checkout"),
        ("bench-submit workloads", (0,), "resnet50-train"),
        ("bench-submit restore", (0,), "nothing to restore"),
        ("bench-submit completion zsh", (0,), "#compdef bench-report"),
        (f"bench-submit power-log {LOG} --time-zone UTC", (0,), " W"),
        ("bench-submit sweep resnet50-train --smoke --simulate h200 --slurm", (0,), "#SBATCH"),
        (
            "bench-submit study image-inference --smoke --simulate h200 --models curated --dry-run",
            (0,),
            "resnet50",
        ),
        ("bench-submit burn --smoke --simulate h200 --dry-run", (0,), "stack"),
        ("bench-check explain M108", (0,), "Commit the changes, and run again"),
        ("bench-check rules", (0,), "M108"),
        ("bench-check submissions/", (0,), "1 judged: 1 pass"),
        ("bench-check submissions/ --format sarif", (0,), '"version": "2.1.0"'),
        ("bench-check verify submissions/", (0,), "1 good, 0 bad"),
    ],
)
def test_command_works_outside_a_clone(
    user: User, command: str, status: Sequence[int], text: str
) -> None:
    assert text in user.run(*command.split(), status=status)


def test_log_of_another_time_is_refused_outside_a_clone(user: User) -> None:
    bundle = user.find_bundle("700W")
    meter = user.directory / "meter.toml"
    meter.write_text('[[meter]]\nid = "wt"\n')
    attach = ("attach-power", bundle, LOG, "--meter-file", meter)
    assert "Error: " in user.run("bench-submit", *attach, status=(1, 2))


def test_round_is_reviewed_accepted_and_reported_outside_a_clone(user: User) -> None:
    bundle = user.find_bundle("700W")
    user.run("bench-submit", "sweep", "burn", "--variant", "bf16", "--caps", "400", *SMOKE, *OUT)
    swept = user.find_bundle("400W")
    user.run("bench-submit", "sign", swept, *BY_ALPHA)
    user.run("bench-submit", "reproduce", bundle, "--out", "submissions/beta/h200")
    (reproduction,) = user.directory.glob("submissions/beta/h200/*/")
    user.run("bench-submit", "sign", reproduction, *BY_BETA)
    assert "reviewed (accept)" in user.run(
        "bench-check", "review", bundle, "--verdict", "accept", *BY_BETA
    )
    waive = ("waive", "M113", "submissions/alpha", *BY_BETA, "--reason", "a test")
    assert "waived: " in user.run("bench-check", *waive)
    despite = [word for path in (swept, reproduction) for word in ("--despite", path, "a test")]
    assert "3 written to the LOG" in user.run("bench-check", "accept", "submissions", *despite)
    assert "3 lines, head " in user.run("bench-check", "log", "head", "submissions")
    report = (
        *("submissions", "--published", "--out", "page.html", "--tables", "tables"),
        *("--parquet", "data"),
    )
    output = user.run("bench-report", *report)
    assert "3 passed, 0 failed, 0 withdrawn, 95 published figures" in output
    withdraw = ("withdraw", swept, *BY_ALPHA)
    assert "withdrawn: " in user.run("bench-check", *withdraw, "--reason", "a test")
    assert "withdrawn" in user.run("bench-check", "submissions/")


def test_two_runs_are_compared_outside_a_clone(user: User) -> None:
    bundles = [ROOT / "submissions" / path for path in REAL_RUNS]
    copies = [shutil.copytree(path, user.directory / path.name) for path in bundles]
    output = user.run("bench-report", "compare", "--local", *copies)
    assert "resnet50-train" in output and "images/s" in output


def test_source_distribution_holds_the_files_of_git(unpacked: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone, so the files of git are not known")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = {name for name in names.split("\0") if (ROOT / name).is_file()}
    paths = [path for path in unpacked.rglob("*") if path.is_file()]
    files = {path.relative_to(unpacked).as_posix() for path in paths}
    assert files - {"PKG-INFO"} == tracked


@pytest.mark.parametrize(
    "arguments",
    [("--collect-only", "tests"), FAST_TESTS],
    ids=["all tests are collected", "fast tests pass"],
)
def test_source_distribution_passes_its_tests(unpacked: Path, arguments: Sequence[str]) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=unpacked,
        # Before the editable installation of the clone.
        env=make_environment({"PYTHONPATH": str(unpacked)}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr
    summary = process.stdout.splitlines()[-1]
    assert " error" not in summary and (" passed" in summary or " collected" in summary)
