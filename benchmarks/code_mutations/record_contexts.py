"""Records, with coverage.py, which test executes a line, also in processes that the test starts.

Every Python of a copy of the tree calls `start`. Loaded into pytest as a plugin, this module names
the test to coverage.py, and notes how long each test took that passed.
"""

import os
from pathlib import Path
from typing import Any

import pytest

SETTINGS, SECONDS = "COVERAGE_PROCESS_START", "TEST_SECONDS"
"""The variables that name the settings of coverage.py and the file for the seconds."""


def start() -> None:
    """Begin to record, where the environment asks for it."""
    if SETTINGS in os.environ:
        import coverage

        coverage.process_startup()


@pytest.hookimpl(trylast=True)  # after they have their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A hook of pytest: keep the tests of `make test`, and those that need no more than torch,
    which alone execute reference/."""
    items[:] = [
        item for item in items if all(m.args == ("torch",) for m in item.iter_markers("extended"))
    ]


def pytest_runtest_setup(item: Any) -> None:
    """A hook of pytest."""
    import coverage

    if current := coverage.Coverage.current():
        current.switch_context(item.nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """A hook of pytest, of which only the process that controls the others makes use."""
    if report.when == "call" and report.passed and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(os.environ[SECONDS]).open("a") as file:
            file.write(f"{report.nodeid}\t{report.duration:.4f}\n")
