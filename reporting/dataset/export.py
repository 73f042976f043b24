"""Write the data of a report for `--parquet` and `--archive`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.output import refuse_output
from reporting.collect import Collected
from reporting.dataset.description import Description, read_description
from reporting.dataset.parquet import MARKS, write_dataset
from reporting.dataset.publication import DESCRIPTION_MARKS, describe_dataset, load_libraries
from reporting.dataset.round import Round


@dataclass(frozen=True)
class DataExport:
    """A directory that gets the data."""

    directory: Path
    description: Description | None
    """What Croissant and RO-Crate say of the data; None to write neither."""


def prepare_exports(
    parquet: Path | None, archive: Path | None, paths: Sequence[Path]
) -> tuple[DataExport, ...]:
    """The exports for the directories of `--parquet` and `--archive`, None without the option.

    Raises checker.output.OutputError for a file that may not be overwritten, DescriptionError
    unless the first path has a good round.toml for `--archive`, and LibraryMissingError.
    """
    exports = []
    if parquet is not None:
        exports.append(DataExport(parquet, None))
    if archive is not None:
        load_libraries()
        exports.append(DataExport(archive, read_description(paths[0])))
    for export in exports:
        for name, mark in (MARKS | (DESCRIPTION_MARKS if export.description else {})).items():
            refuse_output(export.directory / name, mark)
    return tuple(exports)


def write_exports(collected: Collected, exports: Sequence[DataExport]) -> Iterator[str]:
    """Write the data, and yield a line about each directory. Raises checker.output.OutputError,
    and OSError if a file cannot be written."""
    round = Round(collected)
    for export in exports:
        row_counts = write_dataset(round, export.directory)
        if export.description is not None:
            describe_dataset(round, export.description, export.directory)
        yield f"{export.directory}: " + ", ".join(
            f"{count} {name}" for name, count in row_counts.items()
        )
