"""`bench-submit doctor` on an H200, as docs/caps.md shows it: the real nvidia-ml-py over the C
library, without amdsmi."""

import os
import shlex
from pathlib import Path

import pytest
from support.bindings.boards import map_boards
from support.bindings.build import needs_cc, run_code
from support.bindings.fixtures import libraries as libraries
from support.console.blocks import describe_difference, list_blocks_of, match_lines

PAGE = Path(__file__).parents[3] / "docs/caps.md"
(BLOCK,) = list_blocks_of(__file__, PAGE)
(STEP,) = BLOCK.list_steps()
# The meters of the tests are not those of the page. The tests may run in a container, which then
# stands in for the host.
CODE = """
import os, sys
from pathlib import Path
del os.environ["WATTMARK_SOURCES"]
sys.modules["amdsmi"] = None
from harness.power.caps import host
from harness.cli import main
host.HOST_PID_NAMESPACE = str(Path("/proc/self/ns/pid").readlink())
main({arguments})
"""
pytestmark = [
    needs_cc,
    pytest.mark.xdist_group("bindings"),
    pytest.mark.skipif(os.geteuid() != 0, reason="the page shows the output for root"),
]


def test_doctor_prints_what_the_page_shows(
    libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, *arguments = shlex.split(STEP.command)
    assert program == "bench-submit" and STEP.lines
    monkeypatch.setenv("COLUMNS", "200")
    map_boards(tmp_path / "boards", count=1)
    printed = run_code(libraries, tmp_path / "boards", CODE.format(arguments=arguments))
    difference = describe_difference(STEP.lines, printed.splitlines())
    assert match_lines(STEP.lines, printed.splitlines()), difference
