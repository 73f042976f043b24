"""Whatever a stranger puts into a bundle, `bench-check` answers with the rule it offends, and goes
on with the round.

All hostile bundles are judged in one run of the command, so that each also shows that it does not
end the round.
"""

import gzip
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import Submissions

from rules.bundle_format import csv_table as tables
from rules.bundle_format import files

CASES: dict[str, tuple[str, bool, Callable[[Path], None]]] = {}
"""By name: the rules that must speak, whether manifest and signature are made anew afterwards, and
what to do."""


def case(
    rules: str, reseal: bool = True
) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    def mark(function: Callable[[Path], None]) -> Callable[[Path], None]:
        CASES[function.__name__] = (rules, reseal, function)
        return function

    return mark


def result_with(**changes: Any) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        result = json.loads((directory / "result.json").read_text())
        (directory / "result.json").write_text(json.dumps({**result, **changes}))

    return write


def result_text(old: str, new: str) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        text = (directory / "result.json").read_text()
        assert old in text
        (directory / "result.json").write_text(text.replace(old, new, 1))

    return write


def content(name: str, raw: bytes) -> Callable[[Path], None]:
    return lambda directory: (directory / name).write_bytes(raw) and None


def table(name: str, edit: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        text = gzip.decompress((directory / name).read_bytes())
        edited = edit(text)
        assert edited != text
        (directory / name).write_bytes(gzip.compress(edited, mtime=0))

    return write


def in_row(row: int, old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def edit(text: bytes) -> bytes:
        lines = text.split(b"\n")
        assert old in lines[row]
        lines[row] = lines[row].replace(old, new, 1)
        return b"\n".join(lines)

    return edit


def cell(row: int, column: int, new: bytes) -> Callable[[bytes], bytes]:
    def edit(text: bytes) -> bytes:
        lines = text.split(b"\n")
        cells = lines[row].split(b",")
        cells[column] = new
        lines[row] = b",".join(cells)
        return b"\n".join(lines)

    return edit


def bomb(unpacked_mib: int) -> bytes:
    """A gzip stream of zeros: the same flushed block over and over, which costs nothing to make."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block + again * (unpacked_mib - 1) + packer.flush()


BOMB_MIB = 4096
SAMPLES, BATCHES, LOG = files.TABLE_FILES[0], files.TABLE_FILES[1], files.LOG_FILE

CASES |= {
    # JSON that is none.
    "json_empty": ("S104", True, content("result.json", b"")),
    "json_blank": ("S104", True, content("result.json", b" \n")),
    "json_utf16": ("S104", True, content("system.json", '{"format": 1}'.encode("utf-16"))),
    "json_bom": ("S104", True, content("system.json", b"\xef\xbb\xbf{}")),
    "json_not_utf8": ("S104", True, content("system.json", b'{"format": "\xff"}')),
    "json_cut": (
        "S104",
        True,
        content("environment.json", b'{"format": "wattmark-environment/1", "git": {'),
    ),
    "json_two_values": ("S104", True, content("environment.json", b"{} {}")),
    "json_deep_arrays": ("S104", True, content("environment.json", b"[" * 10**6 + b"]" * 10**6)),
    "json_deep_objects": (
        "S104",
        True,
        result_text("{", '{"x-deep": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + ","),
    ),
    "json_control_character": (
        "S104",
        True,
        result_text('"attempt"', '"x-\x1b[31m": 1, "attempt"'),
    ),
    "json_half_surrogate": ("S104", True, result_text('"attempt"', '"x-a": "\\ud800", "attempt"')),
    # JSON with more than one reading.
    "json_twice": ("S105", True, result_text('"attempt": 1', '"attempt": 1, "attempt": 1')),
    "json_twice_inside": (
        "S105",
        True,
        result_text('"attempt": 1', '"x-a": [{"b": 1, "b": 2}], "attempt": 1'),
    ),
    "json_twice_by_escape": (
        "S105",
        True,
        result_text('"attempt": 1', '"\\u0061ttempt": 1, "attempt": 1'),
    ),
    "json_nan": ("S105", True, result_text('"attempt": 1', '"attempt": NaN')),
    "json_infinity": ("S105", True, result_text('"attempt": 1', '"attempt": Infinity')),
    "json_minus_infinity": (
        "S105",
        True,
        result_text('"attempt": 1', '"x-a": -Infinity, "attempt": 1'),
    ),
    "json_1e999": ("S105", True, result_text('"attempt": 1', '"attempt": 1e999')),
    "json_5000_digits": ("S105", True, result_text('"attempt": 1', f'"attempt": {"7" * 5000}')),
    "json_65_bits": ("S105", True, result_text('"attempt": 1', f'"attempt": {2**64}')),
    # JSON of another shape.
    "shape_array": ("S107", True, content("result.json", b"[]")),
    "shape_number": ("S107", True, content("system.json", b"1")),
    "shape_null": ("S107", True, content("environment.json", b"null")),
    "shape_no_format": ("S106", True, content("environment.json", b"{}")),
    "shape_format_of_another_file": (
        "S106",
        True,
        content("system.json", b'{"format": "wattmark-result/1"}'),
    ),
    "shape_format_is_a_list": ("S106", True, result_with(format=["wattmark-result/1"])),
    "shape_protocol_unknown": ("S106", True, result_with(protocol="0.9")),
    "shape_protocol_is_a_list": ("S107", True, result_with(protocol=["1.0"])),
    "shape_boolean_for_integer": ("S107", True, result_with(attempt=True)),
    "shape_float_for_integer": ("S107", True, result_with(attempt=1.0)),
    "shape_number_for_object": ("S107", True, result_with(headline=3)),
    "shape_object_for_array": ("S107", True, result_with(epochs={})),
    "shape_null_in_array": ("S107", True, result_with(ranks=[None])),
    "shape_newline_in_run_id": ("S107", True, result_with(run_id="20260101T000000Z-evil\n")),
    "shape_many_violations": ("S107", True, result_with(readbacks=[[]] * 100_000)),
    "shape_unknown_workload": ("T108 T101", True, result_with(workload="../../etc/passwd")),
    # Tables.
    "table_empty": ("S109", True, content(SAMPLES, gzip.compress(b""))),
    "table_blank": ("S109", True, content(SAMPLES, gzip.compress(b"\n\n\n"))),
    "table_other_columns": (
        "S109",
        True,
        table(SAMPLES, lambda t: t.replace(b"power_mw", b"power_uw", 1)),
    ),
    "table_other_order": (
        "S109",
        True,
        table(BATCHES, lambda t: t.replace(b"epoch,batch", b"batch,epoch", 1)),
    ),
    "table_a_column_more": (
        "S109",
        True,
        table(BATCHES, lambda t: t.replace(b"\n", b",1\n").replace(b",1", b",x", 1)),
    ),
    "table_cells_more_everywhere": (
        "S109",
        True,
        table(BATCHES, lambda t: t.replace(b"\n", b",1\n").replace(b",1", b"", 1)),
    ),
    "table_ragged_short": ("S109", True, table(SAMPLES, in_row(7, b",ok", b""))),
    "table_ragged_short_number": ("S109", True, table(BATCHES, in_row(7, b",1024", b""))),
    "table_ragged_long": ("S109", True, table(SAMPLES, in_row(7, b",ok", b",ok,1"))),
    "table_blank_line": ("S109", True, table(BATCHES, in_row(7, b",1024", b",1024\n"))),
    "table_blank_line_at_end": ("S109", True, table(SAMPLES, lambda t: t + b"\n")),
    "table_blank_behind_the_last_number": (
        "S109",
        True,
        table(BATCHES, lambda t: t.rstrip(b"\n") + b" "),
    ),
    "table_text_for_number": ("S109", True, table(SAMPLES, cell(7, 4, b"much"))),
    "table_nan": ("S109", True, table(SAMPLES, cell(7, 4, b"nan"))),
    "table_NA": ("S109", True, table(SAMPLES, cell(7, 4, b"NA"))),
    "table_inf": ("S109", True, table(SAMPLES, cell(7, 4, b"inf"))),
    "table_minus_inf": ("S109", True, table(SAMPLES, cell(7, 6, b"-Infinity"))),
    "table_1e400": ("S109", True, table(SAMPLES, cell(7, 4, b"1e400"))),
    "table_true": ("S109", True, table(SAMPLES, cell(7, 4, b"True"))),
    "table_hexadecimal": ("S109", True, table(SAMPLES, cell(7, 4, b"0xff"))),
    "table_fraction": ("S109", True, table(SAMPLES, cell(7, 4, b"685000.5"))),
    "table_fraction_in_time": ("S109", True, table(SAMPLES, cell(7, 1, b"5000000000000.5"))),
    "table_negative_time": ("S109", True, table(SAMPLES, cell(7, 1, b"-5"))),
    "table_negative_items": ("S109", True, table(BATCHES, cell(7, 5, b"-1024"))),
    "table_64_bit_time": ("S109", True, table(SAMPLES, cell(7, 1, str(2**63).encode()))),
    "table_5000_digits": ("S109", True, table(SAMPLES, cell(7, 4, b"7" * 5000))),
    "table_beyond_doubles": ("S109", True, table(SAMPLES, cell(7, 6, str(2**54).encode()))),
    "table_no_time": ("S109", True, table(SAMPLES, cell(7, 1, b""))),
    "table_no_accelerator": ("S109", True, table(SAMPLES, cell(7, 3, b""))),
    "table_open_quote": ("S109", True, table(SAMPLES, cell(7, 2, b'"node0'))),
    "table_line_break_in_cell": ("S109", True, table(SAMPLES, cell(7, 2, b'"node\n0"'))),
    "table_carriage_returns": ("S109", True, table(BATCHES, lambda t: t.replace(b"\n", b"\r\n"))),
    "table_carriage_return_in_cell": ("S109", True, table(SAMPLES, cell(7, 2, b'"node\r0"'))),
    "table_nul": ("S109", True, table(SAMPLES, cell(7, 2, b"no\0de0"))),
    "table_too_many_rows": (
        "S103",
        True,
        content(BATCHES, gzip.compress(b"\n" * (tables.MAX_ROWS + 2))),
    ),
    # gzip.
    "gzip_bomb_of_samples": ("S103", True, content(SAMPLES, bomb(BOMB_MIB))),
    "gzip_bomb_of_log": ("S103", True, content(LOG, bomb(BOMB_MIB))),
    "gzip_empty": ("S108", True, content(SAMPLES, b"")),
    "gzip_not": ("S108", True, content(LOG, b"11 epochs done\n")),
    "gzip_two_members": ("S108", True, content(LOG, gzip.compress(b"a") + gzip.compress(b"b"))),
    "gzip_garbage_behind": ("S108", True, content(LOG, gzip.compress(b"a") + b"garbage")),
    "gzip_wrong_checksum": ("S108", True, content(LOG, gzip.compress(b"a")[:-8] + bytes(8))),
    "gzip_not_utf8": ("S108", True, content(LOG, gzip.compress(b"\xff"))),
}


@case("S108")
def gzip_cut(directory: Path) -> None:
    os.truncate(directory / SAMPLES, (directory / SAMPLES).stat().st_size // 2)


@case("S103")
def file_json_of_100_mb(directory: Path) -> None:
    os.truncate(directory / "result.json", 100 * 10**6)


@case("S103", reseal=False)
def file_huge_signature(directory: Path) -> None:
    os.truncate(next((directory / "signatures").iterdir()), 2**30)


@case("S101", reseal=False)
def file_missing(directory: Path) -> None:
    (directory / "batches.csv.gz").unlink()


@case("S102", reseal=False)
def file_is_a_link(directory: Path) -> None:
    (directory / "log.txt.gz").rename(directory.parent / "elsewhere")
    (directory / "log.txt.gz").symlink_to("../elsewhere")


@case("S102", reseal=False)
def file_is_a_link_to_a_device(directory: Path) -> None:
    (directory / "log.txt.gz").unlink()
    (directory / "log.txt.gz").symlink_to("/dev/zero")


@case("S102", reseal=False)
def file_is_a_link_to_itself(directory: Path) -> None:
    (directory / "result.json").unlink()
    (directory / "result.json").symlink_to("result.json")


@case("S102", reseal=False)
def file_is_a_directory(directory: Path) -> None:
    (directory / "result.json").unlink()
    (directory / "result.json").mkdir()


@case("S102", reseal=False)
def file_is_a_fifo(directory: Path) -> None:
    (directory / "samples.csv.gz").unlink()
    os.mkfifo(directory / "samples.csv.gz")


@case("S102", reseal=False)
def file_is_a_socket(directory: Path) -> None:
    (directory / "log.txt.gz").unlink()
    here = os.open(directory, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(
            f"/proc/self/fd/{here}/log.txt.gz"
        )  # a socket's own path may have 107 bytes only
    os.close(here)


@case("S102 I105", reseal=False)
def signature_is_a_fifo(directory: Path) -> None:
    signature = next((directory / "signatures").iterdir())
    signature.unlink()
    os.mkfifo(signature)


@case("S102 I105", reseal=False)
def signature_is_a_link(directory: Path) -> None:
    signature = next((directory / "signatures").iterdir())
    signature.rename(directory.parent / "signature")
    signature.symlink_to("../../signature")


@case("S102 I105", reseal=False)
def signatures_are_a_link(directory: Path) -> None:
    (directory / "signatures").rename(directory.parent / ".signatures")
    (directory / "signatures").symlink_to("../.signatures")


@case("S102 I105", reseal=False)
def signatures_are_a_file(directory: Path) -> None:
    shutil.rmtree(directory / "signatures")
    (directory / "signatures").write_text("")


@case("S102")
def bundle_is_a_link(directory: Path) -> None:
    directory.rename(directory.parent / "elsewhere_bundle")
    directory.symlink_to("elsewhere_bundle")


@case("I102")
def entry_that_steers_the_terminal(directory: Path) -> None:
    (directory / "\x1b[2J\nall fine: pass").write_text("")


@case("I102")
def entry_that_is_no_text(directory: Path) -> None:
    Path(os.fsdecode(os.fsencode(directory) + b"/\xff\xfe")).write_text("")


@case("I102")
def entries_by_the_thousand(directory: Path) -> None:
    for number in range(2000):
        (directory / f"{number}").touch()


@case("I102")
def entry_is_another_bundle(directory: Path) -> None:
    shutil.copytree(directory, directory.parent / "inner")
    (directory.parent / "inner").rename(directory / "inner")


@case("S102")
def entry_is_a_fifo(directory: Path) -> None:
    os.mkfifo(directory / "pipe")


def manifest_with(edit: Callable[[Any], Any]) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        manifest = json.loads((directory / "MANIFEST.json").read_text())
        edit(manifest["files"])
        (directory / "MANIFEST.json").write_text(json.dumps(manifest))

    return write


def entry(path: str) -> Callable[[Any], Any]:
    return lambda listed: listed.append({"path": path, "size": 0, "sha256": "0" * 64})


CASES |= {
    "manifest_path_absolute": ("I103 I106", False, manifest_with(entry("/etc/passwd"))),
    "manifest_path_upwards": (
        "I103 I106",
        False,
        manifest_with(entry("../../../../../etc/passwd")),
    ),
    "manifest_path_upwards_inside": (
        "I103 I106",
        False,
        manifest_with(entry("signatures/../result.json")),
    ),
    "manifest_path_not_shortest": ("I103 I106", False, manifest_with(entry("./result.json"))),
    "manifest_path_backslash": ("I103 I106", False, manifest_with(entry("..\\passwd"))),
    "manifest_twice": ("I104 I106", False, manifest_with(entry("result.json"))),
    "manifest_itself": ("I104 I106", False, manifest_with(entry("MANIFEST.json"))),
    "manifest_nothing": ("S107 I106", False, manifest_with(lambda listed: listed.clear())),
    "manifest_negative_size": (
        "S107 I106",
        False,
        manifest_with(lambda listed: listed[0].update(size=-1)),
    ),
    "manifest_short_hash": (
        "S107 I106",
        False,
        manifest_with(lambda listed: listed[0].update(sha256="0")),
    ),
    "manifest_other_hash": (
        "I101 I106",
        False,
        manifest_with(lambda listed: listed[0].update(sha256="0" * 64)),
    ),
    "manifest_no_json": ("S104 I106", False, content("MANIFEST.json", b"\0")),
    "manifest_ambiguous": (
        "S105 I106",
        False,
        content("MANIFEST.json", b'{"files": [], "files": []}'),
    ),
}

# With the manifest or a huge signature file there is no companion to predict; these say more than
# one thing.
COMPANIONS = {"file_huge_signature": {"I105"}, "manifest_twice": {"I101"}}


@dataclass(frozen=True)
class Judged:
    """What one run of the command over all hostile bundles and a good one gave."""

    code: int
    errors: str
    max_rss_mib: float
    rules: dict[str, set[str]]
    """The rules that spoke, by name of the case."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, signing_key: Path) -> Submissions:
    submissions = Submissions(tmp_path_factory.mktemp("hostile") / "submissions", signing_key)
    submissions.allow(signing_key)
    good = submissions.add(run_id="good-bundle")
    for name, (_, reseal, spoil) in CASES.items():
        directory = shutil.copytree(good, good.parent.parent / name / "run-of-the-case")
        spoil(directory)
        if reseal:
            submissions.reseal(directory)
    return submissions


_MEASURED = """
import pathlib, resource, subprocess, sys
done = subprocess.run(sys.argv[2:])
pathlib.Path(sys.argv[1]).write_text(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(done.returncode)
"""
"""Linux counts the memory of who starts a process as that process's own: between the two there is a
small one."""


@pytest.fixture(scope="module")
def judged(hostile: Submissions, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    base = tmp_path_factory.mktemp("said")
    with (base / "out").open("wb") as out, (base / "err").open("wb") as err:
        checked = [sys.executable, "-m", "checker", "--format", "json", hostile.root]
        done = subprocess.run(
            [sys.executable, "-c", _MEASURED, base / "rss", *checked],
            stdout=out,
            stderr=err,
            check=False,
        )
    said = json.loads((base / "out").read_text())
    return Judged(
        code=done.returncode,
        errors=(base / "err").read_text(),
        max_rss_mib=int((base / "rss").read_text()) / 1024,
        rules={
            Path(b["path"]).parent.name: {f["rule"] for f in b["findings"]}
            for b in said["bundles"]
            if "elsewhere_bundle" not in b["path"]
        },
    )


@pytest.mark.parametrize("name", CASES)
def test_hostile_bundle_is_refused_by_its_rule(judged: Judged, name: str) -> None:
    assert judged.rules[name] == set(CASES[name][0].split()) | COMPANIONS.get(name, set())


def test_the_round_goes_on(judged: Judged) -> None:
    assert judged.code == 1
    assert judged.errors == ""
    # It is good, but for a twin: the bundle to which the case of a linked bundle points is a copy
    # of it.
    assert {rule[0] for rule in judged.rules["h200x2"]} == {"X"}


def test_bombs_take_no_memory(judged: Judged) -> None:
    # The limit for an unpacked table, twice, and the libraries: far below the 4 GiB that each bomb
    # unpacks to.
    assert judged.max_rss_mib < 1024


def test_text_cannot_steer_the_terminal(hostile: Submissions) -> None:
    command = [sys.executable, "-m", "checker", hostile.root]
    done = subprocess.run(command, capture_output=True, check=False)
    said = done.stdout.decode()
    assert done.returncode == 1
    assert "\x1b" not in said
    assert "\nall fine" not in said
    assert "Traceback" not in said + done.stderr.decode()


def test_table_offence_names_its_row(hostile: Submissions) -> None:
    from checker.engine import judge

    (finding,) = judge(hostile.root / "example" / "table_nan" / "run-of-the-case").findings
    assert (finding.pointer, finding.found) == ("row 7", "power_mw 'nan'")


@pytest.mark.parametrize(
    ("grown", "refused"), [(b"", False), (b"more", False), (b"more" * 300, True)]
)
def test_file_that_grows_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grown: bytes, refused: bool
) -> None:
    """It is read to the end that it has by then, as far as a file may be large."""
    path = tmp_path / "file"
    path.write_bytes(b"content")
    real = os.open

    def open_after(*a: Any, **k: Any) -> int:
        with path.open("ab") as more:
            more.write(grown)
        return real(*a, **k)

    monkeypatch.setattr(files.os, "open", open_after)
    if refused:
        with pytest.raises(files.Refused):
            files.read_plain(path, "file", 1000)
    else:
        assert files.read_plain(path, "file", 1000) == b"content" + grown


def swapped_on_open(monkeypatch: pytest.MonkeyPatch, swap: Callable[[Path], None]) -> None:
    """Let another process replace the file between the look at its kind and its opening."""
    plain = os.open

    def swap_and_open(path: Path, flags: int) -> int:
        path.unlink()
        swap(path)
        return plain(path, flags)

    monkeypatch.setattr(files.os, "open", swap_and_open)


def test_file_that_becomes_a_link_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, path = tmp_path / "secret", tmp_path / "result.json"
    target.write_text("secret")
    path.write_text("{}")
    swapped_on_open(monkeypatch, lambda path: path.symlink_to(target))
    with pytest.raises(files.Refused) as refusal:
        files.read_plain(path, path.name, 100)
    (problem,) = refusal.value.problems
    assert problem.rule == "S101" and "cannot be read" in problem.violation.found


def test_file_that_becomes_a_fifo_does_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "result.json"
    path.write_text("{}")
    swapped_on_open(monkeypatch, os.mkfifo)
    # Nobody writes to the FIFO: whoever opens it without O_NONBLOCK waits until the alarm.
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("opening a FIFO has blocked"))
    signal.alarm(5)
    try:
        assert files.read_plain(path, path.name, 100) == b""
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def test_text_may_be_as_long_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"a line\n" * 100
    packed = gzip.compress(text, mtime=0)
    monkeypatch.setitem(files.MAX_UNPACKED_BYTES, files.LOG_FILE, len(text))
    assert files.unpack(files.LOG_FILE, packed) == text
    monkeypatch.setitem(files.MAX_UNPACKED_BYTES, files.LOG_FILE, len(text) - 1)
    with pytest.raises(files.Refused) as refusal:
        files.unpack(files.LOG_FILE, packed)
    assert refusal.value.problems[0].rule == "S103"
