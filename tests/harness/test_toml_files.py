"""Files in TOML that users write: system.toml, meters.toml, maps of power logs and their meters."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import MeterError, PlanError
from harness.power.meter_access import list_access
from harness.power_logs.attaching.meter_file import read_tables
from harness.power_logs.read import read_map_of
from harness.system import read_description
from rules.power_logs.read import LogRequest
from rules.power_logs.records import PowerLogError

READERS: list[tuple[Callable[[Path], object], type[Exception]]] = [
    (read_description, PlanError),
    (list_access, MeterError),
    (lambda path: read_map_of(LogRequest(path, map_path=path)), PowerLogError),
    (lambda path: read_tables(path, 1), PowerLogError),
]
NESTED = b"name = " + b"[" * 5000


def write_private(directory: Path, content: bytes) -> Path:
    path = directory / "file.toml"
    path.write_bytes(content)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    "content",
    [NESTED, b"name = ", b'name = "\xff"', b"\0"],
    ids=["nested", "no value", "no UTF-8", "null"],
)
@pytest.mark.parametrize(("read", "error"), READERS)
def test_file_that_is_no_toml_is_named(
    tmp_path: Path, read: Callable[[Path], object], error: type[Exception], content: bytes
) -> None:
    path = write_private(tmp_path, content)
    with pytest.raises(error, match=r"file.toml: .*TOML"):
        read(path)


def test_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    """Editors on Windows write one."""
    path = write_private(tmp_path, b'\xef\xbb\xbfname = "a"\n')
    assert read_description(path)["name"] == "a"
    path.write_bytes(b'\xef\xbb\xbf[node-meter]\nkind = "simulated"\n')
    (access,) = list_access(path)
    assert access.kind == "simulated"


def test_each_meter_of_power_logs_is_a_table(tmp_path: Path) -> None:
    path = write_private(tmp_path, b"meter = [{}, 1]")
    with pytest.raises(PowerLogError, match=r"expected one table \[\[meter\]\]"):
        read_tables(path, 2)
