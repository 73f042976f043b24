"""Evidence as pandas data frames, the form in which tests and mutations build and alter it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rules.bundle_format.events import Event
from rules.bundle_format.evidence import Evidence, ObservationEvidence, StudyEvidence
from rules.bundle_format.files import Files
from rules.bundle_format.load import read_evidence
from rules.bundle_format.records import Json
from rules.bundle_format.table import Table, Text
from rules.finding import Problem


@dataclass
class EvidenceFrames:
    """The evidence of a run with data frames for tables.

    `samples` has the columns `SAMPLE_COLUMNS`: int64 times, text columns as str (empty for an empty
    cell), every other one float64 with NaN for an empty cell. `batches` has `BATCH_COLUMNS`,
    `requests` has `REQUEST_COLUMNS`, all int64; `requests` is None if the run served nothing.
    `node_samples` has `NODE_SAMPLE_COLUMNS`; stamps are int64 with `NO_STAMP` for an empty cell.
    """

    result: Json
    system: Json
    environment: Json
    samples: pd.DataFrame
    batches: pd.DataFrame
    log: str
    requests: pd.DataFrame | None = None
    events: tuple[Event, ...] | None = None
    node_samples: pd.DataFrame | None = None
    node_log: str | None = None

    @classmethod
    def of(cls, evidence: Evidence) -> "EvidenceFrames":
        """Return the evidence with data frames that may be altered."""
        requests, node_samples = (
            None if table is None else frame_of(table)
            for table in (evidence.requests, evidence.node_samples)
        )
        return cls(
            evidence.result,
            evidence.system,
            evidence.environment,
            frame_of(evidence.samples),
            frame_of(evidence.batches),
            evidence.log,
            requests,
            evidence.events,
            node_samples,
            evidence.node_log,
        )

    def evidence(self) -> Evidence:
        """Return the evidence as the harness writes it and the checker reads it."""
        requests, node_samples = (
            None if frame is None else table_of(frame)
            for frame in (self.requests, self.node_samples)
        )
        return Evidence(
            self.result,
            self.system,
            self.environment,
            table_of(self.samples),
            table_of(self.batches),
            self.log,
            requests,
            self.events,
            node_samples,
            self.node_log,
        )


@dataclass
class StudyFrames:
    """The evidence of a study with data frames for tables, with the columns of `StudyEvidence`."""

    study: Json
    system: Json
    environment: Json
    samples: pd.DataFrame
    points: pd.DataFrame
    batches: pd.DataFrame
    log: str

    @classmethod
    def of(cls, evidence: StudyEvidence) -> "StudyFrames":
        """Return the evidence with data frames that may be altered."""
        return cls(
            evidence.study,
            evidence.system,
            evidence.environment,
            frame_of(evidence.samples),
            frame_of(evidence.points),
            frame_of(evidence.batches),
            evidence.log,
        )

    def evidence(self) -> StudyEvidence:
        """Return the evidence as the harness writes it and the checker reads it."""
        return StudyEvidence(
            self.study,
            self.system,
            self.environment,
            table_of(self.samples),
            table_of(self.points),
            table_of(self.batches),
            self.log,
        )


@dataclass
class ObservationFrames:
    """The evidence of an observed job with a data frame for `power`, with the columns of
    `ObservationEvidence`."""

    observation: Json
    power: pd.DataFrame
    node_log: str

    def evidence(self) -> ObservationEvidence:
        """Return the evidence as the harness writes it and the checker reads it."""
        return ObservationEvidence(self.observation, table_of(self.power), self.node_log)


def read_frames(files: Files) -> tuple[EvidenceFrames | None, list[Problem]]:
    """Read the evidence in the files of a bundle, as `read_evidence` does."""
    evidence, problems = read_evidence(files)
    return (EvidenceFrames.of(evidence) if evidence else None), problems


def frame_of(table: Table) -> pd.DataFrame:
    """Return the rows of a table as a data frame that shares no data with it; the index has the
    places of the rows in the file."""

    def values(column: Any) -> Any:
        return pd.Series(column.to_list(), dtype="str") if isinstance(column, Text) else column

    columns = {name: values(column) for name, column in table.columns.items()}
    return pd.DataFrame(columns, copy=True).iloc[table.places]


def table_of(frame: pd.DataFrame) -> Table:
    """Return a data frame as a whole table; its index is left out."""
    columns: Mapping[str, Any] = {str(name): _column_of(frame[name]) for name in frame.columns}
    return Table.of(columns)


def _column_of(values: "pd.Series[Any]") -> Any:
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy()
    codes, names = pd.factorize(values.to_numpy(dtype=object, na_value=""))
    return Text(codes.astype(np.int32), tuple(map(str, names)))
