"""Fixtures with the C libraries: boards, and a process that loads the libraries. A test module
imports those that it needs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bindings.boards import Boards, map_boards
from support.bindings.build import build_libraries, library_environment
from support.bindings.process import LibraryProcess, start_library_process


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the compiled libraries."""
    directory = tmp_path_factory.mktemp("libraries")
    build_libraries(directory)
    return directory


@pytest.fixture(scope="module")
def library_process(libraries: Path) -> Iterator[LibraryProcess]:
    environment = library_environment(libraries, libraries / "boards")
    map_boards(libraries / "boards")
    with start_library_process(environment) as process:
        yield process


@pytest.fixture
def boards(libraries: Path, library_process: LibraryProcess) -> Boards:
    """Two boards as they are without a run, in the library process."""
    return map_boards(libraries / "boards")
