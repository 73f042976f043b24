"""Descriptions of systems with node meters, for the tests of runs."""

from pathlib import Path

METER = {
    "id": "node-meter",
    "kind": "simulated",
    "scope": "node",
    "location": "psu-input",
    "current": "ac",
    "interval_ms": 200,
    "clock": "node",
    "accuracy_percent": 1.0,
    "feeds": [{"feed": "psu-1", "node": "node0"}],
}
"""A simulated node meter, as system.json lists it."""


def write_system(directory: Path, *meters: dict) -> Path:
    """Write system.toml with these meters. Returns its path."""
    lines = []
    for meter in meters:
        lines.append("[[meter]]")
        for key, value in meter.items():
            lines.append(f"{key} = {format_value(value)}")
    path = directory / "system.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def format_value(value: object) -> str:
    """A value as TOML."""
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "{ " + ", ".join(f"{k} = {format_value(v)}" for k, v in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(format_value, value)) + "]"
        case str():
            return f'"{value}"'
    return str(value)


def write_access(directory: Path, meter: str, **values: object) -> Path:
    """Write meters.toml with one table. Returns its path."""
    path = directory / "meters.toml"
    path.touch(mode=0o600)
    lines = [f"{key} = {format_value(value)}" for key, value in values.items()]
    path.write_text(f"[{meter}]\n" + "\n".join(lines) + "\n")
    return path
