"""The audited rows below some directories, each with its provenance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

from checker.audit.audit import JudgedRow, audit
from checker.audit.folder import Folder
from reporting.foreign.declaration import Declaration, ForeignError, find_declaration
from rules.audit.grades import Grade, grade_energy
from rules.audit.row import Row
from rules.bundle_format.files import NotPlainError, open_plain
from rules.finding import Finding

STANDING = "foreign"
_CHUNK_BYTES = 2**20


@dataclass(frozen=True)
class ForeignRow:
    """A result of another program. It is no `ResultRow`: nothing compares or ranks it."""

    judged: JudgedRow
    file: str
    """The file that the row is of, from the name of the audited directory on."""
    hashes: tuple[tuple[str, str], ...]
    """Name and SHA-256 of each file that the row was made from."""
    declaration: Declaration

    @property
    def row(self) -> Row:
        return self.judged.row

    @property
    def grade(self) -> Grade:
        return self.judged.grade

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.judged.findings

    @property
    def is_recomputable(self) -> bool:
        """Whether its joules follow from samples or counters of the source."""
        return grade_energy(self.row) == Grade.RECOMPUTED

    @property
    def sha256(self) -> str | None:
        """That of `file`."""
        return dict(self.hashes).get(self.file.rpartition("/")[2])

    @property
    def place(self) -> str:
        """The file and the row in it."""
        directory = self.file.rpartition("/")[0]
        return f"{directory}/{self.row.place}"

    @property
    def name(self) -> str:
        """Workload, system and boards as the source calls them; its place if it names none."""
        row = self.row
        boards = f"{row.board} \u00d7 {row.boards}" if row.board and row.boards else row.board
        names = filter(None, (row.workload, row.system, boards))
        return ", ".join(names) or row.place


@dataclass(frozen=True)
class Foreign:
    """What was audited."""

    rows: tuple[ForeignRow, ...]
    """By source, then in the order of their paths."""
    failures: tuple[str, ...]
    """A line for each file that cannot be read."""


def collect_foreign(directories: Sequence[Path]) -> Foreign:
    """Audit everything below the directories. Raises ForeignError for a directory without a row,
    and for a bad source.toml."""
    rows: dict[tuple[Path, str, str], ForeignRow] = {}
    failures: list[str] = []
    for directory in directories:
        report = audit([directory])
        failures += [
            f"{_name_path(failure.path, directory)}: {failure.text}" for failure in report.failures
        ]
        if not report.rows:
            failure = report.failures[0]
            raise ForeignError(f"{failure.path}: {failure.text}; name a directory with some")
        find = cache(partial(find_declaration, root=directory))
        for judged in report.rows:
            # Directories may lie in each other.
            key = (judged.path.resolve(), judged.row.source, judged.row.place)
            rows.setdefault(key, _add_provenance(judged, directory, find))
    _hash_file.cache_clear()
    return Foreign(tuple(sorted(rows.values(), key=lambda r: r.row.source)), tuple(failures))


def _add_provenance(
    judged: JudgedRow, directory: Path, find: Callable[[Path], Declaration]
) -> ForeignRow:
    folder, row = Folder(judged.path), judged.row
    fitting = [name for name in row.files if row.place.startswith(name)]
    main = max(fitting, key=len, default=row.files[0] if row.files else row.place)
    names = dict.fromkeys((main, *row.files))
    located = {name: folder.path / folder.locate(name) for name in names}
    hashes = ((path.name, _hash_file(path)) for path in located.values())
    return ForeignRow(
        judged,
        _name_path(located[main], directory),
        tuple((name, digest) for name, digest in hashes if digest is not None),
        find(judged.path),
    )


def _name_path(path: Path, directory: Path) -> str:
    """The path from the name of the directory on: what is above it tells readers nothing."""
    return (directory.resolve().name / path.relative_to(directory)).as_posix()


@cache
def _hash_file(path: Path) -> str | None:
    """The SHA-256 of a file as it is on disk; None if there is none."""
    try:
        with open_plain(path) as file:
            digest = sha256()
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
            return digest.hexdigest()
    except (OSError, NotPlainError):
        return None
