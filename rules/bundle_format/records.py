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
NODE_SAMPLES_FILE = "node_samples.csv.gz"
TABLE_FILES = ("samples.csv.gz", "batches.csv.gz", REQUESTS_FILE, NODE_SAMPLES_FILE)
LOG_FILE = "log.txt.gz"
EVENTS_FILE = "events.jsonl.gz"
NODE_LOG_FILE = "node_log.gz"
"""The raw text of an imported power log, so that others can place it again."""
MANIFEST_FILE = "MANIFEST.json"
SIGNATURE_DIR = "signatures"
EVIDENCE_FILES = (*JSON_FILES, *TABLE_FILES, LOG_FILE, EVENTS_FILE, NODE_LOG_FILE)
"""The files that a manifest lists: all files of a bundle except the manifest and the signatures."""
OPTIONAL_FILES = frozenset({REQUESTS_FILE, EVENTS_FILE, NODE_SAMPLES_FILE, NODE_LOG_FILE})
"""The evidence files that a bundle may lack. Only serving has requests, bundles of rule books
before 1.4.0 have no events, and only runs with a node meter have node samples."""

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


METER_STATUSES = ("ok", "timeout", "refused", "over-range", "absent", "malformed", "stale")
"""What a node meter states of a reading. The texts of network libraries contain addresses, so they
are never stored."""


@dataclass(frozen=True, slots=True)
class FeedReading:
    """The quantities that a node meter reads of one feed at one instant. None if the meter does not
    have the quantity."""

    power_mw: int | None = None
    """Active power."""
    energy_mj: int | None = None
    """Energy counter since some fixed instant."""
    voltage_mv: int | None = None
    current_ma: int | None = None
    pf_ppm: int | None = None
    """Power factor in millionths."""
    meter_ns: int | None = None
    """The meter's own stamp, in ns since 1970-01-01 UTC."""
    fresh: int | None = None
    """The meter's own number of the measurement, which advances with each new one."""
    status: str = "ok"
    """One of `METER_STATUSES`."""


@dataclass(frozen=True, slots=True)
class NodeSample:
    """A reading of one feed of a node, with its times on the monotonic clock of the node.

    A feed is an inlet, an outlet, a phase or a power supply. A node may have several of them.
    """

    scheduled_ns: int
    """When the reading was due."""
    sent_ns: int
    """When the request was sent. `sent_ns` and `read_ns` bound the instant of the reading, and the
    clock of the meter."""
    read_ns: int
    """When the answer arrived."""
    node: str
    meter: str
    """Id of the meter, as in system.json."""
    feed: str
    reading: FeedReading

    def row(self) -> tuple[Any, ...]:
        """Return the sample as a row of node_samples.csv.gz in the order of `NODE_SAMPLE_COLUMNS`,
        None for an empty cell."""
        return (
            self.scheduled_ns,
            self.sent_ns,
            self.read_ns,
            self.node,
            self.meter,
            self.feed,
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
NODE_SAMPLE_COLUMNS = (
    "scheduled_ns",
    "sent_ns",
    "read_ns",
    "node",
    "meter",
    "feed",
    *(f.name for f in fields(FeedReading)),
)
TEXT_COLUMNS = frozenset({"node", "accelerator", "power_state", "status", "meter", "feed"})
REQUIRED_COLUMNS = frozenset(
    {
        "scheduled_ns",
        "read_ns",
        "node",
        "accelerator",
        "status",
        "meter",
        "feed",
        *BATCH_COLUMNS,
        *REQUEST_COLUMNS,
    }
)
"""Columns without empty cells. They contain text or integers."""
STAMP_COLUMNS = frozenset({"meter_ns"})
"""Columns of stamps in ns since 1970, which a double does not hold exactly. They are int64 with
`NO_STAMP` for an empty cell."""
NO_STAMP = -1


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
    node_samples: "Table | None" = None
    """The columns are `NODE_SAMPLE_COLUMNS`; None without a node meter."""
    node_log: str | None = None
    """The raw text of an imported power log; None if none was imported."""
