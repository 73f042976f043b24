"""Makes the bundle of a job that wattmark did not run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from harness.observed.declaration import JobDeclaration
from harness.power_logs.attaching.attach import read_texts
from harness.power_logs.read import read_map_of
from harness.power_logs.toml_file import read_toml
from rules import VERSION
from rules.bundle_format.documents import read_document
from rules.bundle_format.evidence import ObservationEvidence
from rules.bundle_format.files import Refused
from rules.bundle_format.observation_files import write_observation
from rules.bundle_format.observation_records import OBSERVATION_FILE, OBSERVATION_FORMAT
from rules.bundle_format.records import Json
from rules.bundle_format.seal import encode_json
from rules.json_record import to_json
from rules.metrics.node.observed import ObservedFigures
from rules.observations.bundle import ObservationBundle
from rules.power_logs.local_time import count_ns
from rules.power_logs.observed import join_texts, make_power_table, read_observed_log
from rules.power_logs.read import LogRequest
from rules.power_logs.records import LogProblem, PowerLogError

_KEYS_OF_ITEMS = {"count": "items", "name": "item", "source": "items_source"}
"""The keys of the declaration, by those of observation.json."""


@dataclass(frozen=True)
class Observed:
    """The bundle that was made."""

    directory: Path
    figures: ObservedFigures
    problems: tuple[LogProblem, ...]
    """Of the log."""


def observe(requests: Sequence[LogRequest], declared: JobDeclaration, out: Path) -> Observed:
    """Write the bundle of a job into a new directory of `out`.

    Raises PowerLogError if log and declaration do not fit together or make no valid document, and
    OSError if the bundle cannot be written.
    """
    path = requests[0].path
    names = [request.path.name for request in requests]
    texts = read_texts([request.path for request in requests])
    log_map = None if requests[0].map_path is None else read_toml(requests[0].map_path)
    # The texts and not the files are read, as the checker will read them.
    observed = read_observed_log(requests, texts, read_map_of(requests[0]))
    nodes, count = observed.log.nodes, declared.node["count"]
    if nodes is not None and len(nodes) != count:
        raise PowerLogError(
            f"{declared.path}: node.count: found {count}, but {path} has the power of {len(nodes)} "
            f"({', '.join(nodes[:8])}); declare the nodes of the log"
        )
    start_ns, end_ns = count_ns(declared.start), count_ns(declared.end)
    try:
        power = make_power_table(observed.log, start_ns, end_ns)
    except PowerLogError as error:
        raise PowerLogError(f"{path}: {error}") from None
    logs = [
        {"name": name, "lines": text.count("\n"), "format": log_format}
        for name, text, log_format in zip(names, texts, observed.formats, strict=True)
    ]
    options = {
        "map": log_map,
        **{name: getattr(requests[0], name) for name in ("time_zone", "start", "every_s")},
        "rating_w": requests[0].rating_w,
    }
    reading = {"logs": logs, **{key: v for key, v in options.items() if v is not None}}
    node_log = join_texts(names, texts)
    meter = {**declared.meter, **observed.describe(), "reading": reading}
    document = _make_document(meter, declared, sha256(node_log.encode()).hexdigest())
    evidence = ObservationEvidence(document, power, node_log)
    bundle = ObservationBundle(out / document["observation_id"], (), evidence)
    # The figures need the values of the declaration, so these are judged without figures first.
    _validate({**document, "figures": _NO_FIGURES}, declared.path)
    figures = bundle.figures_or_reason
    if isinstance(figures, str):
        raise PowerLogError(f"{path}: {figures}")
    document["figures"] = to_json(figures)
    write_observation(evidence, bundle.path)
    return Observed(bundle.path, figures, observed.log.problems.list_all())


_NO_FIGURES: Json = {
    **dict.fromkeys(("seconds", "energy_j", "mean_w", "median_w", "max_w"), 1.0),
    **dict.fromkeys(("p99_60s_w", "max_60s_w", "joules_per_item")),
}


def _make_document(meter: Json, declared: JobDeclaration, digest: str) -> Json:
    """observation.json without its figures."""
    words = re.sub("[^a-z0-9]+", "-", str(declared.job.get("what", "")).lower()).strip("-")[:40]
    return {
        "format": OBSERVATION_FORMAT,
        "rules_version": VERSION,
        "standing": "observed",
        "observation_id": f"{declared.start:%Y%m%dT%H%M%SZ}-observed-{words}-{digest[:6]}",
        "started_at": _format(declared.start),
        "ended_at": _format(declared.end),
        "job": declared.job,
        "node": declared.node,
        "meter": meter,
    }


def _format(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _validate(document: Json, path: Path) -> None:
    """Raise PowerLogError, which names the key of the declaration, if the document is invalid."""
    try:
        read_document(OBSERVATION_FILE, encode_json(document), OBSERVATION_FORMAT)
    except (Refused, TypeError, ValueError) as error:
        if not isinstance(error, Refused):
            raise PowerLogError(f"{path}: {error}; write numbers and texts") from None
        violation = error.problems[0].violation
        keys = violation.pointer.strip("/").split("/")
        if keys[:2] == ["job", "items"] and len(keys) == 3:
            keys = ["job", _KEYS_OF_ITEMS[keys[2]]]
        raise PowerLogError(
            f"{path}: {'.'.join(keys)}: found {violation.found}, expected {violation.expected}"
        ) from None
