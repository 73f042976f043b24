"""The content of the bundle of a run, of a study and of an observed job."""

from dataclasses import dataclass

from rules.bundle_format.events import Event
from rules.bundle_format.records import Json
from rules.bundle_format.table import Table


@dataclass
class Evidence:
    """The content of the bundle of a run. The harness writes it, the checker reads it, the rules
    check it."""

    result: Json
    system: Json
    environment: Json
    samples: Table
    """The columns are `SAMPLE_COLUMNS`."""
    batches: Table
    """The columns are `BATCH_COLUMNS`."""
    log: str
    requests: Table | None = None
    """The columns are `REQUEST_COLUMNS`; None if the run served nothing."""
    events: tuple[Event, ...] | None = None
    """The events of the run, sorted by node and then by time; None in bundles of rule books before
    1.4.0."""
    node_samples: Table | None = None
    """The columns are `NODE_SAMPLE_COLUMNS`; None without a node meter."""
    node_log: str | None = None
    """The raw text of an imported power log; None if none was imported."""


@dataclass
class StudyEvidence:
    """The content of the bundle of a study. The harness writes it, the checker reads it, the rules
    check it."""

    study: Json
    system: Json
    environment: Json
    samples: Table
    """The columns are `SAMPLE_COLUMNS`. The node is `session0` in the first session."""
    points: Table
    """The columns are `POINT_COLUMNS`."""
    batches: Table
    """The columns are `STUDY_BATCH_COLUMNS`."""
    log: str


@dataclass
class ObservationEvidence:
    """The content of the bundle of an observed job."""

    observation: Json
    power: Table
    """The columns are `POWER_COLUMNS`."""
    node_log: str
    """The raw text of the power log."""
