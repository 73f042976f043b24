"""What wattmark does to a node is what docs/first-hour/administrator.md says: the files that it
writes, the network, and the processes that it leaves. What a killed job leaves is in
tests/end_to_end/kills."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.kills import find_processes, wait_for

from checker.command_line.config import (
    CONFIG_FILE,
    DEFAULT_OUT,
    SITE_FILE,
    find_cache_directory,
    find_user_directory,
)
from harness.power.caps.journal import state_directory
from harness.power.meter_access import METERS_FILE
from harness.power.sources import source_class
from harness.run.plan import SWEEP_SUFFIX

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/first-hour/administrator.md"
AUDIT = """
import os, sys

LOG = os.open(os.environ["FOOTPRINT"], os.O_WRONLY | os.O_APPEND)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)) and arguments[2] & WRITING:
        os.write(LOG, b"write " + os.path.abspath(os.fsencode(arguments[0])) + b"\\n")
    elif event in ("socket.connect", "socket.bind") and isinstance(arguments[1], tuple):
        os.write(LOG, f"network {event} {arguments[1]}\\n".encode())


sys.addaudithook(note)
"""
"""Of each Python process: the files that it opens to write, and the addresses of its sockets that
are no paths."""


def read_rows() -> dict[str, str]:
    """The cells of the two tables of the page, by the first cell of their row."""
    rows = re.findall(r"^\| (\S.*?) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    return dict(rows)


def list_places(row: str) -> list[str]:
    """The paths that a row names."""
    return [span for span in re.findall("`([^`]+)`", read_rows()[row]) if span[0] in "/~"]


def test_page_names_the_directories_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "WATTMARK_STATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/anna")

    def shorten(path: Path | None) -> str:
        return str(path).replace("/home/anna", "~")

    written = list_places("files written")
    assert written[0] == shorten(find_cache_directory())
    assert f"`{DEFAULT_OUT}`" in read_rows()["files written"]
    assert f"SWEEP{SWEEP_SUFFIX}" in read_rows()["files written"]
    for meter in ("nvidia", "amd"):
        directories = state_directory(meter), source_class(meter).board_directory()
        assert list_places("written while a cap or a lock is set") == [*map(shorten, directories)]
    assert list_places("files read, if they exist") == [
        shorten(SITE_FILE),
        shorten(find_user_directory()),
    ]
    for name in (CONFIG_FILE, METERS_FILE):
        assert f"`{name}`" in read_rows()["files read, if they exist"]


def test_kernels_of_the_stacks_are_where_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    directories = pytest.importorskip("torch._inductor.runtime.cache_dir_utils")
    monkeypatch.setenv("TMPDIR", "/tmp")
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("getpass.getuser", lambda: "USER")
    assert directories.default_cache_dir() in list_places("files written")


def make_environment(tmp_path: Path) -> dict[str, str]:
    """Variables of processes that are watched, at a home and a place for temporary files of their
    own."""
    for name in ("home", "temporary", "watch"):
        (tmp_path / name).mkdir()
    (tmp_path / "footprint").touch()
    (tmp_path / "watch/sitecustomize.py").write_text(AUDIT)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "WATTMARK_"))}
    return {
        **kept,
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "temporary"),
        "FOOTPRINT": str(tmp_path / "footprint"),
        "PYTHONPATH": f"{tmp_path / 'watch'}:{ROOT}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def call(tmp_path: Path, environment: dict[str, str], module: str, *arguments: str) -> None:
    """Run a program without any right of root. Fails if the program fails."""
    command = [sys.executable, "-m", module, *arguments]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    process = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode in (0, 4), process.stdout + process.stderr


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="setpriv gives up rights of root"
)
def test_run_check_and_report_write_what_the_page_says_without_network_and_root(
    tmp_path: Path,
) -> None:
    environment = make_environment(tmp_path)
    run = ("run", "resnet50-train", "--simulate", "h200", "--cap", "400", "--epoch-seconds", "0.3")
    call(tmp_path, environment, "harness", *run)
    call(tmp_path, environment, "checker", "--local", "results")
    call(tmp_path, environment, "reporting", "--local", "results", "--out", "report.html")
    events = (tmp_path / "footprint").read_text().splitlines()
    assert [event for event in events if event.startswith("network")] == []
    written = [event.removeprefix("write ") for event in events if event.startswith("write")]
    places = ("results/", "home/.cache/wattmark/", "temporary/wattmark-", ".report.html.writing")
    allowed = ("/dev/", *(str(tmp_path / place) for place in places))
    # Python tries the directory of temporary files with a file of eight characters.
    tried = re.compile(re.escape(f"{tmp_path}/temporary/") + r"\w{8}")
    assert [p for p in written if not (p.startswith(allowed) or tried.fullmatch(p))] == []
    for place in places:
        assert any(path.startswith(str(tmp_path / place)) for path in written), place
    # Also what no Python code wrote.
    (bundle,) = (tmp_path / "results").iterdir()
    assert not bundle.name.startswith(".")
    assert [path.name for path in (tmp_path / "home").iterdir()] == [".cache"]
    assert [path.name for path in (tmp_path / "home/.cache").iterdir()] == ["wattmark"]
    assert list((tmp_path / "temporary").iterdir()) == []
    assert find_processes(tmp_path) == []


def test_killed_run_leaves_what_the_page_says_and_can_be_repeated(tmp_path: Path) -> None:
    environment = make_environment(tmp_path)
    run = ("run", "resnet50-train", "--simulate", "h200", "--cap", "400", "--epoch-seconds", "0.5")
    with (tmp_path / "output").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "harness", *run],
            cwd=tmp_path,
            env=environment,
            stdout=output,
            stderr=output,
        )
        try:
            wait_for(lambda: "\nepoch  1 " in (tmp_path / "output").read_text())
        finally:
            process.kill()
            process.wait()
    wait_for(lambda: not find_processes(tmp_path))
    (unfinished,) = (tmp_path / "results").iterdir()
    assert re.fullmatch(r"\.\S+\.running", unfinished.name)
    assert "`.RUN_ID.running`" in read_rows()["SIGINT, SIGTERM, SIGHUP"]
    left = [path.name[:9] for path in (tmp_path / "temporary").iterdir()]
    assert left == ["wattmark-"] and "`/tmp/wattmark-…`" in read_rows()["SIGKILL of the harness"]
    call(tmp_path, environment, "harness", "run", "--resume", str(unfinished))
    assert [f".{p.name}.running" for p in (tmp_path / "results").iterdir()] == [unfinished.name]


def test_audit_of_the_tests_sees_files_and_network(tmp_path: Path) -> None:
    environment = make_environment(tmp_path)
    code = (
        "import socket; open('here', 'w'); open('/dev/null'); "
        "socket.socket().bind(('127.0.0.1', 0))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "footprint").read_text().splitlines() == [
        f"write {tmp_path / 'here'}",
        "network socket.bind ('127.0.0.1', 0)",
    ]


def test_export_listens_on_every_address_as_the_page_says(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    environment = make_environment(tmp_path)
    run = ("run", "resnet50-train", "--simulate", "h200", "--epoch-seconds", "0.3")
    call(tmp_path, environment, "harness", *run, "--export", f"prometheus:{port}")
    events = (tmp_path / "footprint").read_text().splitlines()
    network = {event for event in events if event.startswith("network")}
    assert network and {event.rpartition(" ")[2] for event in network} == {f"{port})"}
    assert {event.partition("('")[2].partition("'")[0] for event in network} <= {"", "0.0.0.0"}
    assert "`--export prometheus:PORT` (listens on every address)" in read_rows()["network"]
