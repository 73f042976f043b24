"""The records that the parts hand to each other, and the columns of the two tables of a bundle."""

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
MANIFEST_FORMAT = "wattmark-manifest/1"
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
"""What a manifest lists: every file of a bundle but the manifest itself and the signatures."""
OPTIONAL_FILES = frozenset({REQUESTS_FILE, EVENTS_FILE})
"""Those of them that not every bundle has: only serving has requests, and rule books before 1.4.0
have no events."""

SUBMISSION_NAMESPACE = "submission@wattmark"
REVIEW_NAMESPACE = "review@wattmark"
WITHDRAWAL_NAMESPACE = "withdrawal@wattmark"
WAIVER_NAMESPACE = "waiver@wattmark"
"""What a signature is for, one namespace a role: a signature in one is none in another."""

KEYRING_DIR = "keyring"
SIGNERS_FILE = "allowed_signers"
REVOKED_FILE = "revoked_signers"
WAIVER_DIR = "waivers"
ACCEPTANCE_FILE = "LOG"
"""What lies in `submissions/` beside the directories of the centers."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a meter says of one accelerator at one instant. None where the meter has no such
    quantity."""

    power_mw: int | None = None
    """Instantaneous board power."""
    power_avg_mw: int | None = None
    """Power averaged by the board over a window of its own (1 s on Hopper)."""
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
    """A reading with its time: `scheduled_ns` is when it was due, `read_ns` when it was taken
    (node's monotonic clock)."""

    scheduled_ns: int
    read_ns: int
    node: str
    accelerator: str
    reading: Reading

    def row(self) -> tuple[Any, ...]:
        """The sample as a row of samples.csv.gz, in the order of `SAMPLE_COLUMNS`, None for an
        empty cell."""
        return (
            self.scheduled_ns,
            self.read_ns,
            self.node,
            self.accelerator,
            *astuple(self.reading),
        )


@dataclass(frozen=True, slots=True)
class BatchWindow:
    """When one batch of one rank was active, on the clock of its node."""

    epoch: int
    batch: int
    rank: int
    start_ns: int
    end_ns: int
    items: int


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One request that a server has answered in full, on the clock of the node; it belongs to the
    epoch in which it ended."""

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
    """Both as the server counted them."""


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
"""Columns without empty cells; those of them that are not text hold whole numbers."""


@dataclass
class Evidence:
    """What a run leaves: the harness writes it, the checker reads it, the rules look at it."""

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
    """What the run did, in the order of its nodes and then of time; None in bundles of rule books
    before 1.4.0."""
