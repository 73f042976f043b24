"""How the processes of a run are found."""

import os
import subprocess
import sys

from support.kills import wait_for

from harness.processes import list_descendants

PARENT = """
import subprocess
open("/proc/self/comm", "wb").write(b"\\xff\\xfe) S 1")
subprocess.run(["sleep", "60"])
"""


def test_children_of_a_process_with_any_bytes_in_its_name_are_found() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], start_new_session=True) as parent:
        try:
            wait_for(lambda: len(list_descendants([parent.pid])) == 2)
            assert parent.pid in list_descendants([os.getpid()])
        finally:
            os.killpg(parent.pid, 9)
