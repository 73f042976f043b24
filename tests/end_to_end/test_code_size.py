"""Files and functions stay short enough to be read at once. Test files have names of their own."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("rules", "harness", "checker", "reporting", "reference", "benchmarks", "scripts")
MAX_FILE_LINES, MAX_FUNCTION_LINES = 400, 60


def list_files() -> Iterator[tuple[str, str]]:
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_no_file_is_longer_than_the_limit() -> None:
    lines = {name: len(text.splitlines()) for name, text in list_files()}
    assert len(lines) > 500
    assert {name: n for name, n in lines.items() if n > MAX_FILE_LINES} == {}


def test_no_function_is_longer_than_the_limit() -> None:
    lines = {
        f"{name}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for name, text in list_files()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert len(lines) > 3000
    assert {name: n for name, n in lines.items() if n > MAX_FUNCTION_LINES} == {}


def test_names_of_test_files_are_unique() -> None:
    """pytest imports them by their names alone."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
