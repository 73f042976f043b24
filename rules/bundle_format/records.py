"""The records of a bundle, its file names, and the columns of its tables."""

from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rules.bundle_format.events import Event
    from rules.bundle_format.table import Table

Json = dict[str, Any]
"""A JSON object as `json.loads` returns it; its schema is in
`rules/bundle_format/schemas/`."""

RESULT_FORMAT = "wattmark-result/1"
SYSTEM_FORMAT = "wattmark-system/1"
ENVIRONMENT_FORMAT = "wattmark-environment/1"
MANIFEST_FORMAT = "wattmark-manifest/2"
MANIFEST_FORMAT_WITHOUT_PLACE = "wattmark-manifest/1"
"""Of bundles of rule books before 1.5.0."""
PUBLISHED_FORMAT = "wattmark-published/1"
REVIEW_FORMAT = "wattmark-review/1"
WITHDRAWAL_FORMAT = "wattmark-withdrawal/1"
WAIVER_FORMAT = "wattmark-waiver/1"
LOG_ENTRY_FORMAT = "wattmark-log-entry/1"
EVENT_FORMAT = "wattmark-event/1"

JSON_FILES = {
    "result.json": RESULT_FORMAT,
    "system.json": SYSTEM_FORMAT,
    "environment.json": ENVIRONMENT_FORMAT,
}
REQUESTS_FILE = "requests.csv.gz"
TABLE_FILES = ("samples.csv.gz", "batches.csv.gz", REQUESTS_FILE)
LOG_FILE = "log.txt.gz"
EVENTS_FILE = "events.jsonl.gz"
MANIFEST_FILE = "MANIFEST.json"
SIGNATURE_DIR = "signatures"
EVIDENCE_FILES = (*JSON_FILES, *TABLE_FILES, LOG_FILE, EVENTS_FILE)
"""The files that a manifest lists: all files of a bundle except the manifest and the signatures."""
OPTIONAL_FILES = frozenset({REQUESTS_FILE, EVENTS_FILE})
"""The evidence files that a bundle may lack. Only serving has requests, and bundles of rule books
before 1.4.0 have no events."""

SUBMISSION_NAMESPACE = "submission@wattmark"
REVIEW_NAMESPACE = "review@wattmark"
WITHDRAWAL_NAMESPACE = "withdrawal@wattmark"
WAIVER_NAMESPACE = "waiver@wattmark"
"""The purposes of signatures, one namespace per role. A signature counts only in its namespace."""

KEYRING_DIR = "keyring"
SIGNERS_FILE = "allowed_signers"
REVOKED_FILE = "revoked_signers"
WAIVER_DIR = "waivers"
ACCEPTANCE_FILE = "LOG"
"""The names in `submissions/` that are not directories of centers."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The quantities that a meter reads of one accelerator at one instant. None if the meter does
    not have the quantity."""

    power_mw: int | None = None
    """Instantaneous board power."""
    power_avg_mw: int | None = None
    """Power averaged by the board over its own window (1 s on Hopper)."""
    energy_mj: int | None = None
    """Energy counter in millijoules since some fixed instant."""
    sm_mhz: int | None = None
    mem_mhz: int | None = None
    temp_c: int | None = None
    mem_temp_c: int | None = None
    power_state: str | None = None
    slowdown: int | None = None
    """Raw bit mask of slowdown reasons as the vendor defines it."""
    util_pct: int | None = None
    cap_mw: int | None = None
    """The power limit in force."""
    status: str = "ok"
    """`ok`, or a short reason why (part of) the reading failed."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A reading with its times on the monotonic clock of the node."""

    scheduled_ns: int
    """When the reading was due."""
    read_ns: int
    """When it was taken."""
    node: str
    accelerator: str
    reading: Reading

    def row(self) -> tuple[Any, ...]:
        """Return the sample as a row of samples.csv.gz in the order of `SAMPLE_COLUMNS`, None for
        an empty cell."""
        return (
            self.scheduled_ns,
            self.read_ns,
            self.node,
            self.accelerator,
            *astuple(self.reading),
        )


@dataclass(frozen=True, slots=True)
class BatchWindow:
    """The time in which one batch of one rank was active, on the monotonic clock of its node."""

    epoch: int
    batch: int
    rank: int
    start_ns: int
    end_ns: int
    items: int


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One completed request, with times on the monotonic clock of the node. It belongs to the epoch
    in which it ended."""

    epoch: int
    request: int
    """Its number within the run, in the order of sending."""
    rank: int
    sent_ns: int
    first_ns: int
    """When the first token arrived."""
    end_ns: int
    prompt_tokens: int
    output_tokens: int
    """Both numbers of tokens are the server's own counts."""


SAMPLE_COLUMNS = (
    "scheduled_ns",
    "read_ns",
    "node",
    "accelerator",
    *(f.name for f in fields(Reading)),
)
BATCH_COLUMNS = tuple(f.name for f in fields(BatchWindow))
REQUEST_COLUMNS = tuple(f.name for f in fields(ServedRequest))
TEXT_COLUMNS = frozenset({"node", "accelerator", "power_state", "status"})
REQUIRED_COLUMNS = frozenset(
    {"scheduled_ns", "read_ns", "node", "accelerator", "status", *BATCH_COLUMNS, *REQUEST_COLUMNS}
)
"""Columns without empty cells. They contain text or integers."""


@dataclass
class Evidence:
    """The content of a bundle. The harness writes it, the checker reads it, the rules check it."""

    result: Json
    system: Json
    environment: Json
    samples: "Table"
    """The columns are `SAMPLE_COLUMNS`."""
    batches: "Table"
    """The columns are `BATCH_COLUMNS`."""
    log: str
    requests: "Table | None" = None
    """The columns are `REQUEST_COLUMNS`; None if the run served nothing."""
    events: "tuple[Event, ...] | None" = None
    """The events of the run, sorted by node and then by time; None in bundles of rule books before
    1.4.0."""
