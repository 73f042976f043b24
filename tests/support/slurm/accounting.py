"""Starts Debian's slurmdbd over a MariaDB of its own: the accounting of a cluster of the tests."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.kills import wait_for
from support.meters.ports import find_free_port

PROGRAMS = (
    "slurmdbd",
    "sacct",
    "sacctmgr",
    "mariadbd",
    "mariadb-install-db",
    "my_print_defaults",
)
START_TIMEOUT_S = 60.0
SLURMDBD = """\
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
PidFile={root}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database_port}
StorageUser=root
StorageLoc=wattmark
"""
SLURM = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
# The socket of munged that clients of slurmdbd use.
AccountingStoragePass={root}/munge/socket
"""


@contextmanager
def start_accounting(root: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Let the cluster at `root`, whose slurmctld has not started, account for its jobs while the
    block runs."""
    port, database_port = find_free_port(), find_free_port()
    with (root / "slurm.conf").open("a") as configuration:
        configuration.write(SLURM.format(root=root, port=port))
    # slurmdbd refuses a file that others may read.
    (root / "slurmdbd.conf").touch(0o600)
    text = SLURMDBD.format(root=root, port=port, database_port=database_port)
    (root / "slurmdbd.conf").write_text(text)
    database = [f"--datadir={root}/database", "--user=root"]
    install = ["mariadb-install-db", "--no-defaults", *database, "--skip-test-db"]
    subprocess.run(install, capture_output=True, check=True, timeout=START_TIMEOUT_S)
    socket = root / "database.socket"
    options = ["--skip-grant-tables", "--bind-address=127.0.0.1", f"--port={database_port}"]
    server = ["mariadbd", "--no-defaults", *database, *options, f"--socket={socket}"]
    processes = [_start(server, root / "database.log", environment)]
    try:
        wait_for(socket.exists, START_TIMEOUT_S)
        processes.append(_start(["slurmdbd", "-D"], root / "slurmdbd.log", environment))
        wait_for(lambda: _add_cluster(environment), START_TIMEOUT_S, step_s=0.2)
        yield
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(START_TIMEOUT_S)


def _start(
    command: list[str], log: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(command, env=environment, stdout=file, stderr=file)


def _add_cluster(environment: Mapping[str, str]) -> bool:
    """Whether slurmdbd answers and has the cluster."""
    command = ["sacctmgr", "--immediate", "add", "cluster", "wattmark"]
    result = subprocess.run(command, env=environment, capture_output=True, check=False)
    return result.returncode == 0
