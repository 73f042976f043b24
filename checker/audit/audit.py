"""Finds the evidence below a path, reads it with the adapters, and grades every row."""

import importlib
import os
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import checker.audit.sources
from checker.audit.folder import Folder, UnreadableError
from checker.find import MAX_DEPTH
from rules.audit.grades import Grade, grade_row
from rules.audit.row import Row
from rules.finding import Finding
from rules.registry import audit_rules

MAX_FOLDERS = 10_000
MAX_ROWS = 100_000


@dataclass(frozen=True)
class Source:
    """One adapter."""

    name: str
    title: str
    find: Callable[[Folder], Iterable[str]]
    read: Callable[[Folder, str], Iterable[Row]]


@dataclass(frozen=True)
class JudgedRow:
    """A row with its folder, findings and grade."""

    path: Path
    row: Row
    findings: tuple[Finding, ...]
    grade: Grade


@dataclass(frozen=True)
class Failure:
    """A file that cannot be read, or a path without evidence."""

    path: Path
    text: str


@dataclass(frozen=True)
class Audit:
    """What was found below the paths."""

    rows: tuple[JudgedRow, ...]
    failures: tuple[Failure, ...]

    @property
    def is_clean(self) -> bool:
        """Whether every file could be read, and no row is contradicted."""
        return not self.failures and all(item.grade != Grade.CONTRADICTED for item in self.rows)


@cache
def list_sources() -> tuple[Source, ...]:
    """All adapters, sorted by name."""
    package = checker.audit.sources
    sources = []
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module: ModuleType = importlib.import_module(info.name)
        name = info.name.rpartition(".")[2].replace("_", "-")
        if hasattr(module, "find"):
            sources.append(Source(name, module.TITLE, module.find, module.read))
    return tuple(sources)


def audit(paths: Sequence[Path]) -> Audit:
    """Audit everything below each path. Never raises for what a file contains."""
    rows: list[JudgedRow] = []
    failures: list[Failure] = []
    for path in paths:
        items = list(_audit_path(path))
        rows += [item for item in items if isinstance(item, JudgedRow)]
        failures += [item for item in items if isinstance(item, Failure)]
        if not items:
            kinds = "; ".join(source.title for source in list_sources())
            failures.append(Failure(path, f"holds no evidence of a known format ({kinds})"))
    return Audit(tuple(rows), tuple(failures))


def _audit_path(path: Path) -> Iterator[JudgedRow | Failure]:
    if path.is_dir():
        for folder in _list_folders(path):
            if isinstance(folder, Failure):
                yield folder
            else:
                yield from _audit_folder(folder)
        return
    # A file is read with what lies beside it: a window may be in one file, samples in another.
    name = path.name.removesuffix(".gz")
    for item in _audit_folder(Folder(path.parent)):
        if isinstance(item, Failure):
            if item.path.name.removesuffix(".gz") == name:
                yield item
        elif name in (file.removesuffix(".gz") for file in item.row.files):
            yield item


def _list_folders(root: Path) -> Iterator[Folder | Failure]:
    unsearched, count = [(root, 0)], 0
    while unsearched:
        path, depth = unsearched.pop()
        count += 1
        if count > MAX_FOLDERS:
            text = f"has more than {MAX_FOLDERS} directories; audit a part of it"
            yield Failure(root, text)
            return
        yield Folder(path)
        try:
            inner = sorted(
                (Path(entry.path) for entry in os.scandir(path) if _is_searched(entry)),
                reverse=True,
            )
        except OSError:
            continue  # the folder itself is reported
        if depth < MAX_DEPTH:
            unsearched += [(item, depth + 1) for item in inner]
        elif inner:
            yield Failure(inner[0], f"is more than {MAX_DEPTH} levels below; audit it by itself")


def _is_searched(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
    except OSError:
        return False


def _audit_folder(folder: Folder) -> Iterator[JudgedRow | Failure]:
    try:
        _ = folder.names
    except UnreadableError as error:
        yield Failure(folder.path, str(error))
        return
    for source in list_sources():
        for name in source.find(folder):
            yield from _read_file(source, folder, name)
    yield from _find_damaged(folder)


def _find_damaged(folder: Folder) -> Iterator[Failure]:
    """JSON files that no adapter can recognise because they are damaged."""
    for name in folder.names:
        if name.endswith(".json"):
            try:
                folder.read_json(name)
            except UnreadableError as error:
                yield Failure(folder.path / error.file, str(error))


def _read_file(source: Source, folder: Folder, name: str) -> Iterator[JudgedRow | Failure]:
    rows: list[JudgedRow] = []
    try:
        for row in source.read(folder, name):
            rows.append(judge_row(folder.path, row))
            if len(rows) > MAX_ROWS:
                raise UnreadableError(name, f"has more than {MAX_ROWS} rows; audit a part of it")
    except UnreadableError as error:
        yield Failure(folder.path / error.file, f"{error} (read as {source.title})")
    # What a stranger wrote must not end the audit of the other files.
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        text = f"cannot be read as {source.title}: {error}; restore the file"
        yield Failure(folder.path / folder.locate(name), " ".join(text.split()))
    yield from rows


def judge_row(path: Path, row: Row) -> JudgedRow:
    """The row with the findings of family F and its grade."""
    findings = tuple(finding for rule in audit_rules() for finding in rule.judge(row))
    return JudgedRow(path, row, findings, grade_row(row, findings))
