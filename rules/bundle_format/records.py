"""The kinds of bundles with their files, and the records of a run with the columns of its tables.

`rules.bundle_format.study_records` has the records of a study, `observation_records` those of an
observed job.
"""

from collections.abc import Collection, Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

from rules.bundle_format.observation_records import (
    OBSERVATION_FILE,
    OBSERVATION_FORMAT,
    POWER_COLUMNS,
    POWER_FILE,
)
from rules.bundle_format.study_records import (
    POINT_COLUMNS,
    POINTS_FILE,
    STUDY_BATCH_COLUMNS,
    STUDY_FILE,
    STUDY_FORMAT,
)

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
REQUEST_FORMAT = "wattmark-request/1"
CHALLENGE_FORMAT = "wattmark-challenge/1"
COMMITMENT_FORMAT = "wattmark-commitment/1"
WAIVER_FORMAT = "wattmark-waiver/1"
LOG_ENTRY_FORMAT = "wattmark-log-entry/1"
EVENT_FORMAT = "wattmark-event/1"

RESULT_FILE = "result.json"
SYSTEM_FILE = "system.json"
ENVIRONMENT_FILE = "environment.json"
SAMPLES_FILE = "samples.csv.gz"
BATCHES_FILE = "batches.csv.gz"
"""Runs and studies have a file of this name, with other columns."""
REQUESTS_FILE = "requests.csv.gz"
NODE_SAMPLES_FILE = "node_samples.csv.gz"
LOG_FILE = "log.txt.gz"
EVENTS_FILE = "events.jsonl.gz"
NODE_LOG_FILE = "node_log.gz"
"""The raw text of an imported power log, so that others can place it again."""
MANIFEST_FILE = "MANIFEST.json"
SIGNATURE_DIR = "signatures"

SUBMISSION_NAMESPACE = "submission@wattmark"
REVIEW_NAMESPACE = "review@wattmark"
WITHDRAWAL_NAMESPACE = "withdrawal@wattmark"
WAIVER_NAMESPACE = "waiver@wattmark"
"""The purposes of signatures, one namespace per role. A signature counts only in its namespace."""

KEYRING_DIR = "keyring"
SIGNERS_FILE = "allowed_signers"
REVOKED_FILE = "revoked_signers"
WAIVER_DIR = "waivers"
COMMITMENT_DIR = "commitments"
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
    mem_power_mw: int | None = None
    """Power of the memory, averaged by the board."""
    counter_ns: int | None = None
    """When the energy counter was read, if it was read apart from the other quantities."""


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
        """Return the sample as a row of samples.csv.gz in the order of `SAMPLE_COLUMNS` and the
        optional columns, None for an empty cell."""
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


OPTIONAL_SAMPLE_COLUMNS = ("mem_power_mw", "counter_ns")
SAMPLE_COLUMNS = (
    "scheduled_ns",
    "read_ns",
    "node",
    "accelerator",
    *(f.name for f in fields(Reading) if f.name not in OPTIONAL_SAMPLE_COLUMNS),
)
OPTIONAL_COLUMNS: Mapping[str, tuple[str, ...]] = {SAMPLES_FILE: OPTIONAL_SAMPLE_COLUMNS}
"""The columns at the end of each table, by its file, that a table has all together or not at all.
Tables of rule books before 1.8.0 lack them."""
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
TEXT_COLUMNS = frozenset(
    {
        *("node", "accelerator", "power_state", "status", "meter", "feed"),
        *("architecture", "engine", "precision", "outcome", "kind"),
    }
)
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
        *POINT_COLUMNS,
        *STUDY_BATCH_COLUMNS,
        "time_ns",
    }
)
"""Columns without empty cells. They contain text or integers."""
STAMP_COLUMNS = frozenset({"meter_ns", "counter_ns"})
"""Columns of stamps in ns, which may be empty and which a double does not hold exactly. They are
int64 with `NO_STAMP` for an empty cell."""
NO_STAMP = -1


_MIB = 2**20


@dataclass(frozen=True)
class BundleKind:
    """What a kind of bundle consists of, beside the manifest and the signatures."""

    name: str
    in_words: str
    documents: Mapping[str, str]
    """Format of each JSON file, by name. The first one states what was measured."""
    tables: Mapping[str, tuple[str, ...]]
    """Columns of each table, by name."""
    texts: tuple[str, ...]
    """Other gzip files."""
    optional_files: frozenset[str]
    """The files that a bundle may lack."""
    max_rows: int
    """Most rows of a table."""
    max_table_bytes: int
    """Largest size of a table when unpacked."""

    @property
    def main_file(self) -> str:
        """The JSON file that states what was measured."""
        return next(iter(self.documents))

    @property
    def evidence_files(self) -> tuple[str, ...]:
        """The files that a manifest lists."""
        return (*self.documents, *self.tables, *self.texts)

    @property
    def required_files(self) -> frozenset[str]:
        """The evidence files that no bundle of this kind lacks."""
        return frozenset(self.evidence_files) - self.optional_files

    def select_files(self, names: Collection[str]) -> tuple[str, ...]:
        """The evidence files that a bundle with files of these names must have: the required ones,
        and the optional ones among `names`."""
        return tuple(
            name for name in self.evidence_files if name in names or name in self.required_files
        )


RUN = BundleKind(
    name="run",
    in_words="a run",
    documents={
        RESULT_FILE: RESULT_FORMAT,
        SYSTEM_FILE: SYSTEM_FORMAT,
        ENVIRONMENT_FILE: ENVIRONMENT_FORMAT,
    },
    tables={
        SAMPLES_FILE: SAMPLE_COLUMNS,
        BATCHES_FILE: BATCH_COLUMNS,
        REQUESTS_FILE: REQUEST_COLUMNS,
        NODE_SAMPLES_FILE: NODE_SAMPLE_COLUMNS,
    },
    texts=(LOG_FILE, EVENTS_FILE, NODE_LOG_FILE),
    # Only serving has requests, bundles of rule books before 1.4.0 have no events, and only runs
    # with a node meter have node samples.
    optional_files=frozenset({REQUESTS_FILE, EVENTS_FILE, NODE_SAMPLES_FILE, NODE_LOG_FILE}),
    # Eight boards that are read ten times a second have so many samples after an hour and three
    # quarters, 128 boards after six and a half minutes. The largest run so far has 17 601.
    max_rows=500_000,
    max_table_bytes=96 * _MIB,
)
STUDY = BundleKind(
    name="study",
    in_words="a study of models",
    documents={
        STUDY_FILE: STUDY_FORMAT,
        SYSTEM_FILE: SYSTEM_FORMAT,
        ENVIRONMENT_FILE: ENVIRONMENT_FORMAT,
    },
    tables={
        SAMPLES_FILE: SAMPLE_COLUMNS,
        POINTS_FILE: POINT_COLUMNS,
        BATCHES_FILE: STUDY_BATCH_COLUMNS,
    },
    texts=(LOG_FILE,),
    optional_files=frozenset(),
    # 2 400 entries with windows of 40 s in all, read ten times a second, give 960 000 samples.
    max_rows=1_000_000,
    max_table_bytes=192 * _MIB,
)
OBSERVATION = BundleKind(
    name="observation",
    in_words="an observed job",
    documents={OBSERVATION_FILE: OBSERVATION_FORMAT},
    tables={POWER_FILE: POWER_COLUMNS},
    texts=(NODE_LOG_FILE,),
    optional_files=frozenset(),
    # Eight feeds that are read once a second for 34 hours.
    max_rows=1_000_000,
    max_table_bytes=96 * _MIB,
)
KINDS_OF_BUNDLES = (RUN, STUDY, OBSERVATION)
EVIDENCE_FILES = frozenset(name for kind in KINDS_OF_BUNDLES for name in kind.evidence_files)
"""The evidence files of all kinds of bundles."""


def find_kind(names: Collection[str]) -> BundleKind:
    """The kind of the bundle with files of these names: that of which most required files are
    there, so that a missing or an additional file does not change it. A run if this is equal."""
    return max(KINDS_OF_BUNDLES, key=lambda kind: len(kind.required_files.intersection(names)))
