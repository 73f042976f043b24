"""The formats of power logs: modules, and entries of formats.toml.

An entry is a table, or lines with patterns. Keys of all: `program`, `version`, and `part`, what the
log measures if that is no whole node. Of a table:

- `times`: the columns of the time, by preference; `no_times`: what to do if there are none;
- `power`: the column of the power, by preference; `power_pattern`: or a pattern of the columns of
  all feeds, of which those with another text before `prefix_adds` overlap. A power without a unit
  in its header or cells is in W;
- `key`: the column that names the feed, by preference; `key_is_joined`: or all of them;
- `needs`: columns that show the format; `interval`, `delimiter`;
- `replace`: pattern and replacement in each line;
- `refused`: why such a table has no readings; `totals`: what it has, see
  `rules.power_logs.totals`.

`rules.power_logs.patterns` reads lines.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rules.power_logs import (
    csv_log,
    json_logs,
    likwid,
    mlperf_training,
    patterns,
    ptd,
    slurm_profile,
)
from rules.power_logs.builder import LogSource
from rules.power_logs.cells import split_header
from rules.power_logs.csv_log import split_line
from rules.power_logs.csv_map import EXAMPLE, build_map
from rules.power_logs.records import PowerLog, PowerLogError
from rules.power_logs.totals import list_totals

_FILE = Path(__file__).with_name("formats.toml")
_PREAMBLE_LINES = 200
_MOST_OF_LINE, _MOST_OF_ROW = 2**12, 2**16
"""The most characters of a line that patterns read, and of one that has cells. The longest line of
a known log of the first kind has 324."""


@dataclass(frozen=True)
class LogFormat:
    """A format of power logs."""

    name: str
    program: str
    version: str
    reads: str
    """The columns or keys that are read."""
    recognise: Callable[[Sequence[str]], bool]
    """Whether the first lines show that a log is of this format."""
    parse: Callable[[LogSource], PowerLog]
    """Raises PowerLogError."""
    is_refused: bool = False
    """Whether such a log is no power log, so that `parse` only says why."""
    max_line: int = _MOST_OF_LINE
    """The most characters of a line."""
    part: str = ""
    """What such a log measures if that is no whole node."""


@cache
def load_formats() -> Mapping[str, LogFormat]:
    """All formats by name, those that are recognised most surely first."""
    entries = tomllib.loads(_FILE.read_text())
    formats = [_PTD, _TRAINING, _LIKWID, _SLURM]
    formats += [_make_format(name, entry) for name, entry in entries.items()]
    formats += [
        LogFormat(
            layout.name,
            layout.program,
            layout.version,
            layout.reads,
            layout.recognise,
            layout.parse,
            max_line=json_logs.MAX_CHARACTERS,
            part=layout.part,
        )
        for layout in json_logs.LAYOUTS
    ]
    return {log_format.name: log_format for log_format in [*formats, _CSV]}


def list_formats() -> Iterator[str]:
    """A line for each format: name, program, version and what is read."""
    for known in load_formats().values():
        yield f"{known.name:18} {known.program} ({known.version or 'any'}): {known.reads}"


def get_format(name: str) -> LogFormat:
    """The format of a name. Raises PowerLogError."""
    formats = load_formats()
    if name not in formats:
        raise PowerLogError(f"--format {name}: unknown; expected auto or {', '.join(formats)}")
    return formats[name]


def find_format(path: Path, head: Sequence[str], has_map: bool) -> LogFormat:
    """The format that the first lines of a log show, or a table if it has a map. Raises
    PowerLogError."""
    for log_format in load_formats().values():
        if (log_format.is_refused or not has_map) and log_format.recognise(head):
            return log_format
    if has_map:
        return _CSV
    shown = next((line for line in head if line.strip()), "")
    raise PowerLogError(
        f"{path}: the format is unknown; the first line is {shown[:80]!r}. Known are "
        f"{', '.join(load_formats())}; bench-submit power-log --list describes them. A CSV log "
        f"needs --map MAP.toml, such as\n{EXAMPLE}"
    )


_PTD = LogFormat(
    ptd.NAME,
    "SPEC PTDaemon, as in MLPerf inference",
    "1.9 to 1.11",
    "Watts, Volts, Amps, PF of each channel and analyser",
    lambda head: any(map(ptd.recognise, head)),
    ptd.parse,
)
_TRAINING = LogFormat(
    mlperf_training.NAME,
    "MLPerf training, power/*/node_*.txt and sw_*.txt",
    "v3.1 to v5.1",
    "power_reading, interconnect_power_est, conversion_eff, power_measurement_start and _stop",
    lambda head: any(map(mlperf_training.recognise, head)),
    mlperf_training.parse,
)
_LIKWID = LogFormat(
    likwid.NAME,
    "likwid-perfctr -t 1s -g ENERGY",
    "5",
    "Power [W], Power DRAM [W]",
    lambda head: any(map(likwid.recognise, head)),
    likwid.parse,
    max_line=_MOST_OF_ROW,
    part="processors",
)
_SLURM = LogFormat(
    slurm_profile.NAME,
    "acct_gather_profile/hdf5 of Slurm, or sh5util -j JOB --extract --series=Energy "
    "--level=Node:TimeSeries",
    "Slurm 16 to 26",
    f"{', '.join(slurm_profile.NODE_POWERS)}, or GPU0Power and the like, of each Node",
    lambda head: any(map(slurm_profile.recognise, head)),
    slurm_profile.parse,
    max_line=_MOST_OF_ROW,
)
_CSV = LogFormat(
    csv_log.NAME,
    "any other, with --map",
    "",
    "the columns of the map",
    lambda _: False,
    csv_log.parse,
    max_line=_MOST_OF_ROW,
)


def _make_format(name: str, entry: dict[str, Any]) -> LogFormat:
    program, version, part = entry["program"], entry["version"], entry.get("part", "")
    if "patterns" in entry:
        lines = patterns.LinePatterns(name, entry)
        return LogFormat(
            name, program, version, lines.reads, lines.recognise, lines.parse, part=part
        )
    table = _KnownTable(name, entry)
    return LogFormat(
        name,
        program,
        version,
        table.reads,
        table.recognise,
        table.parse,
        table.is_refused,
        _MOST_OF_ROW,
        part,
    )


@dataclass(frozen=True)
class _Found:
    """The header of a known table, and the first row below it."""

    names: list[str]
    """Of the columns, without units."""
    cells: list[str]
    row: list[str]


class _KnownTable:
    """A table that a known program writes."""

    def __init__(self, name: str, entry: dict[str, Any]) -> None:
        self._name, self._entry = name, entry
        self._delimiter = entry.get("delimiter", ",")
        self._replace: tuple[str, str] | None = (
            tuple(entry["replace"]) if "replace" in entry else None
        )

    @property
    def is_refused(self) -> bool:
        """Whether the table has no readings of power."""
        return "refused" in self._entry

    @property
    def reads(self) -> str:
        """The columns that are read."""
        entry = self._entry
        if self.is_refused:
            return f"refused: {entry['refused']}"
        power = entry.get("power") or [f"columns like {entry['power_pattern']}"]
        return ", ".join([*power, *entry.get("key", [])])

    def recognise(self, head: Sequence[str]) -> bool:
        """Whether one of the first lines is the header of the table."""
        return self._find_header(head) is not None

    def parse(self, source: LogSource) -> PowerLog:
        """Read the log with the map that its header gives. Raises PowerLogError."""
        entry = self._entry
        found = self._find_header(source.head)
        if found is None:
            raise PowerLogError(f"{source.path}: no line is the header of the format {self._name}")
        if self.is_refused:
            totals = list_totals(source, self._delimiter, entry["totals"], found.names)
            reason = f"{source.path}: a log of {entry['program']}; {entry['refused']}"
            raise PowerLogError("\n".join([reason, *totals]))
        document = self._write_map(found)
        if "time" not in document and source.every_ns is None:
            raise PowerLogError(
                f"{source.path}: a log of {entry['program']}, whose rows have no times; state the "
                f"seconds between two rows of a feed with --every ({entry.get('no_times', '')})"
            )
        source.csv_map = build_map(Path(f"format {self._name}"), document)
        source.lines = ((number, self._rewrite(line)) for number, line in source.lines)
        source.name = self._name
        return csv_log.parse(source)

    def _rewrite(self, line: str) -> str:
        return line if self._replace is None else re.sub(*self._replace, line)

    def _find_header(self, head: Sequence[str]) -> _Found | None:
        entry = self._entry
        lines = [line for line in head[:_PREAMBLE_LINES] if line.strip()]
        for place, line in enumerate(lines):
            cells = split_line(line.lstrip().removeprefix("#"), self._delimiter)
            names = [split_header(cell)[0] for cell in cells]
            if not {*entry.get("needs", [])} <= {*names}:
                continue
            has_time = "no_times" in entry or self.is_refused or self._find_time(names)
            has_power = self.is_refused or self._find_power(names)
            if has_time and has_power:
                below = next(
                    (text for text in lines[place + 1 :] if not text.lstrip().startswith("#")), ""
                )
                row = split_line(self._rewrite(below), self._delimiter)
                return _Found(names, cells, row)
        return None

    def _find_time(self, names: list[str]) -> dict[str, Any] | None:
        for time in self._entry.get("times", []):
            columns = time["column"] if isinstance(time["column"], list) else [time["column"]]
            if {*columns} <= {*names}:
                return dict(time)
        return None

    def _find_power(self, names: list[str]) -> list[str]:
        pattern = self._entry.get("power_pattern")
        if pattern is not None:
            return [name for name in names if re.fullmatch(pattern, name)]
        return [name for name in self._entry.get("power", []) if name in names][:1]

    def _write_map(self, found: _Found) -> dict[str, Any]:
        entry = self._entry
        columns = self._find_power(found.names)
        power: dict[str, Any] = {"columns": columns}
        if not split_header(found.cells[found.names.index(columns[0])])[1]:
            power["unit"] = "W"
        document: dict[str, Any] = {
            "delimiter": self._delimiter,
            "interval": entry.get("interval", "instant"),
            "power": power,
        }
        if (time := self._find_time(found.names)) is not None:
            if time["format"] == "auto":
                cell = found.row[found.names.index(time["column"])] if found.row else ""
                time.update(_guess_time_format(cell))
            document["time"] = time
        keys = [name for name in entry.get("key", []) if name in found.names]
        if keys:
            document["key"] = {"column": keys if entry.get("key_is_joined") else keys[0]}
        if prefix := entry.get("prefix_adds"):
            if len(columns) == 1:
                document["feed"] = columns[0]
            document["add"] = len({column.split(prefix)[0] for column in columns}) == 1
        return document


def _guess_time_format(cell: str) -> dict[str, str]:
    """The format of a time that a program writes in several ways: its magnitude shows its unit."""
    try:
        count = float(cell)
    except ValueError:
        return {"format": "iso"}
    units = {1e17: "ns", 1e14: "us", 1e11: "ms"}
    unit = next((unit for least, unit in units.items() if count >= least), "s")
    return {"format": "unix", "unit": unit}
