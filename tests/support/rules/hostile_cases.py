"""The hostile bundles: by name, the rules that must speak and how to spoil a good bundle."""

import gzip
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from support.rules.hostile_edits import (
    add_entry,
    edit_manifest,
    edit_table,
    make_bomb,
    replace_cell,
    replace_content,
    replace_in_row,
    replace_result_text,
    set_result_fields,
)

from rules.bundle_format.records import BATCHES_FILE, LOG_FILE, RUN, SAMPLES_FILE

CASES: dict[str, tuple[str, bool, Callable[[Path], None]]] = {}
"""By name: the rules that must speak, whether manifest and signature are made anew afterwards, and
what to do."""


def add_case(
    rules: str, reseal: bool = True
) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    def mark(function: Callable[[Path], None]) -> Callable[[Path], None]:
        CASES[function.__name__] = (rules, reseal, function)
        return function

    return mark


BOMB_MIB = 4096
SAMPLES, BATCHES, LOG = SAMPLES_FILE, BATCHES_FILE, LOG_FILE

CASES |= {
    # JSON that is none.
    "json_empty": ("S104", True, replace_content("result.json", b"")),
    "json_blank": ("S104", True, replace_content("result.json", b" \n")),
    "json_utf16": ("S104", True, replace_content("system.json", '{"format": 1}'.encode("utf-16"))),
    "json_bom": ("S104", True, replace_content("system.json", b"\xef\xbb\xbf{}")),
    "json_not_utf8": ("S104", True, replace_content("system.json", b'{"format": "\xff"}')),
    "json_cut": (
        "S104",
        True,
        replace_content("environment.json", b'{"format": "wattmark-environment/1", "git": {'),
    ),
    "json_two_values": ("S104", True, replace_content("environment.json", b"{} {}")),
    "json_deep_arrays": (
        "S104",
        True,
        replace_content("environment.json", b"[" * 10**5 + b"]" * 10**5),
    ),
    "json_too_many_values": (
        "S103",
        True,
        replace_content("environment.json", b"[" * 10**6 + b"]" * 10**6),
    ),
    "json_deep_objects": (
        "S104",
        True,
        replace_result_text("{", '{"x-deep": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + ","),
    ),
    "json_control_character": (
        "S104",
        True,
        replace_result_text('"attempt"', '"x-\x1b[31m": 1, "attempt"'),
    ),
    "json_half_surrogate": (
        "S104",
        True,
        replace_result_text('"attempt"', '"x-a": "\\ud800", "attempt"'),
    ),
    # JSON with more than one reading.
    "json_twice": ("S105", True, replace_result_text('"attempt": 1', '"attempt": 1, "attempt": 1')),
    "json_twice_inside": (
        "S105",
        True,
        replace_result_text('"attempt": 1', '"x-a": [{"b": 1, "b": 2}], "attempt": 1'),
    ),
    "json_twice_by_escape": (
        "S105",
        True,
        replace_result_text('"attempt": 1', '"\\u0061ttempt": 1, "attempt": 1'),
    ),
    "json_nan": ("S105", True, replace_result_text('"attempt": 1', '"attempt": NaN')),
    "json_infinity": ("S105", True, replace_result_text('"attempt": 1', '"attempt": Infinity')),
    "json_minus_infinity": (
        "S105",
        True,
        replace_result_text('"attempt": 1', '"x-a": -Infinity, "attempt": 1'),
    ),
    "json_1e999": ("S105", True, replace_result_text('"attempt": 1', '"attempt": 1e999')),
    "json_5000_digits": (
        "S105",
        True,
        replace_result_text('"attempt": 1', f'"attempt": {"7" * 5000}'),
    ),
    "json_65_bits": ("S105", True, replace_result_text('"attempt": 1', f'"attempt": {2**64}')),
    # JSON of another shape.
    "shape_array": ("S107", True, replace_content("result.json", b"[]")),
    "shape_number": ("S107", True, replace_content("system.json", b"1")),
    "shape_null": ("S107", True, replace_content("environment.json", b"null")),
    "shape_no_format": ("S106", True, replace_content("environment.json", b"{}")),
    "shape_format_of_another_file": (
        "S106",
        True,
        replace_content("system.json", b'{"format": "wattmark-result/1"}'),
    ),
    "shape_format_is_a_list": ("S106", True, set_result_fields(format=["wattmark-result/1"])),
    "shape_protocol_unknown": ("S106", True, set_result_fields(protocol="0.9")),
    "shape_protocol_is_a_list": ("S107", True, set_result_fields(protocol=["1.0"])),
    "shape_boolean_for_integer": ("S107", True, set_result_fields(attempt=True)),
    "shape_float_for_integer": ("S107", True, set_result_fields(attempt=1.0)),
    "shape_number_for_object": ("S107", True, set_result_fields(headline=3)),
    "shape_object_for_array": ("S107", True, set_result_fields(epochs={})),
    "shape_null_in_array": ("S107", True, set_result_fields(ranks=[None])),
    "shape_newline_in_run_id": ("S107", True, set_result_fields(run_id="20260101T000000Z-evil\n")),
    "shape_many_violations": ("S107", True, set_result_fields(readbacks=[[]] * 5_000)),
    "shape_too_many_readbacks": ("S111", True, set_result_fields(readbacks=[[]] * 100_000)),
    "shape_unknown_workload": ("T108 T101", True, set_result_fields(workload="../../etc/passwd")),
    # Tables.
    "table_empty": ("S109", True, replace_content(SAMPLES, gzip.compress(b""))),
    "table_blank": ("S109", True, replace_content(SAMPLES, gzip.compress(b"\n\n\n"))),
    "table_other_columns": (
        "S109",
        True,
        edit_table(SAMPLES, lambda t: t.replace(b"power_mw", b"power_uw", 1)),
    ),
    "table_other_order": (
        "S109",
        True,
        edit_table(BATCHES, lambda t: t.replace(b"epoch,batch", b"batch,epoch", 1)),
    ),
    "table_a_column_more": (
        "S109",
        True,
        edit_table(BATCHES, lambda t: t.replace(b"\n", b",1\n").replace(b",1", b",x", 1)),
    ),
    "table_cells_more_everywhere": (
        "S109",
        True,
        edit_table(BATCHES, lambda t: t.replace(b"\n", b",1\n").replace(b",1", b"", 1)),
    ),
    "table_ragged_short": ("S109", True, edit_table(SAMPLES, replace_in_row(7, b",ok", b""))),
    "table_ragged_short_number": (
        "S109",
        True,
        edit_table(BATCHES, replace_in_row(7, b",1024", b"")),
    ),
    "table_ragged_long": ("S109", True, edit_table(SAMPLES, replace_in_row(7, b",ok", b",ok,1"))),
    "table_blank_line": (
        "S109",
        True,
        edit_table(BATCHES, replace_in_row(7, b",1024", b",1024\n")),
    ),
    "table_blank_line_at_end": ("S109", True, edit_table(SAMPLES, lambda t: t + b"\n")),
    "table_blank_behind_the_last_number": (
        "S109",
        True,
        edit_table(BATCHES, lambda t: t.rstrip(b"\n") + b" "),
    ),
    "table_text_for_number": ("S109", True, edit_table(SAMPLES, replace_cell(7, 4, b"much"))),
    "table_nan": ("S109", True, edit_table(SAMPLES, replace_cell(7, 4, b"nan"))),
    "table_NA": ("S109", True, edit_table(SAMPLES, replace_cell(7, 4, b"NA"))),
    "table_inf": ("S109", True, edit_table(SAMPLES, replace_cell(7, 4, b"inf"))),
    "table_minus_inf": ("S109", True, edit_table(SAMPLES, replace_cell(7, 6, b"-Infinity"))),
    "table_1e400": ("S109", True, edit_table(SAMPLES, replace_cell(7, 4, b"1e400"))),
    "table_true": ("S109", True, edit_table(SAMPLES, replace_cell(7, 4, b"True"))),
    "table_hexadecimal": ("S109", True, edit_table(SAMPLES, replace_cell(7, 4, b"0xff"))),
    "table_fraction": ("S109", True, edit_table(SAMPLES, replace_cell(7, 4, b"685000.5"))),
    "table_fraction_in_time": (
        "S109",
        True,
        edit_table(SAMPLES, replace_cell(7, 1, b"5000000000000.5")),
    ),
    "table_negative_time": ("S109", True, edit_table(SAMPLES, replace_cell(7, 1, b"-5"))),
    "table_negative_items": ("S109", True, edit_table(BATCHES, replace_cell(7, 5, b"-1024"))),
    "table_64_bit_time": (
        "S109",
        True,
        edit_table(SAMPLES, replace_cell(7, 1, str(2**63).encode())),
    ),
    "table_5000_digits": ("S109", True, edit_table(SAMPLES, replace_cell(7, 4, b"7" * 5000))),
    "table_beyond_doubles": (
        "S109",
        True,
        edit_table(SAMPLES, replace_cell(7, 6, str(2**54).encode())),
    ),
    "table_no_time": ("S109", True, edit_table(SAMPLES, replace_cell(7, 1, b""))),
    "table_no_accelerator": ("S109", True, edit_table(SAMPLES, replace_cell(7, 3, b""))),
    "table_open_quote": ("S109", True, edit_table(SAMPLES, replace_cell(7, 2, b'"node0'))),
    "table_line_break_in_cell": (
        "S109",
        True,
        edit_table(SAMPLES, replace_cell(7, 2, b'"node\n0"')),
    ),
    "table_carriage_returns": (
        "S109",
        True,
        edit_table(BATCHES, lambda t: t.replace(b"\n", b"\r\n")),
    ),
    "table_carriage_return_in_cell": (
        "S109",
        True,
        edit_table(SAMPLES, replace_cell(7, 2, b'"node\r0"')),
    ),
    "table_nul": ("S109", True, edit_table(SAMPLES, replace_cell(7, 2, b"no\0de0"))),
    "table_too_many_rows": (
        "S103",
        True,
        replace_content(BATCHES, gzip.compress(b"\n" * (RUN.max_rows + 2))),
    ),
    # gzip.
    "gzip_bomb_of_samples": ("S103", True, replace_content(SAMPLES, make_bomb(BOMB_MIB))),
    "gzip_bomb_of_log": ("S103", True, replace_content(LOG, make_bomb(BOMB_MIB))),
    "gzip_empty": ("S108", True, replace_content(SAMPLES, b"")),
    "gzip_not": ("S108", True, replace_content(LOG, b"11 epochs done\n")),
    "gzip_two_members": (
        "S108",
        True,
        replace_content(LOG, gzip.compress(b"a") + gzip.compress(b"b")),
    ),
    "gzip_garbage_behind": ("S108", True, replace_content(LOG, gzip.compress(b"a") + b"garbage")),
    "gzip_wrong_checksum": (
        "S108",
        True,
        replace_content(LOG, gzip.compress(b"a")[:-8] + bytes(8)),
    ),
    "gzip_not_utf8": ("S108", True, replace_content(LOG, gzip.compress(b"\xff"))),
}


@add_case("S108")
def gzip_cut(directory: Path) -> None:
    os.truncate(directory / SAMPLES, (directory / SAMPLES).stat().st_size // 2)


@add_case("S103")
def file_json_of_100_mb(directory: Path) -> None:
    os.truncate(directory / "result.json", 100 * 10**6)


@add_case("S103", reseal=False)
def file_huge_signature(directory: Path) -> None:
    os.truncate(next((directory / "signatures").glob("submission.*")), 2**30)


@add_case("S101", reseal=False)
def file_missing(directory: Path) -> None:
    (directory / "batches.csv.gz").unlink()


@add_case("S102", reseal=False)
def file_is_a_link(directory: Path) -> None:
    (directory / "log.txt.gz").rename(directory.parent / "elsewhere")
    (directory / "log.txt.gz").symlink_to("../elsewhere")


@add_case("S102", reseal=False)
def file_is_a_link_to_a_device(directory: Path) -> None:
    (directory / "log.txt.gz").unlink()
    (directory / "log.txt.gz").symlink_to("/dev/zero")


@add_case("S102", reseal=False)
def file_is_a_link_to_itself(directory: Path) -> None:
    (directory / "result.json").unlink()
    (directory / "result.json").symlink_to("result.json")


@add_case("S102", reseal=False)
def file_is_a_directory(directory: Path) -> None:
    (directory / "result.json").unlink()
    (directory / "result.json").mkdir()


@add_case("S102", reseal=False)
def file_is_a_fifo(directory: Path) -> None:
    (directory / "samples.csv.gz").unlink()
    os.mkfifo(directory / "samples.csv.gz")


@add_case("S102", reseal=False)
def file_is_a_socket(directory: Path) -> None:
    (directory / "log.txt.gz").unlink()
    descriptor = os.open(directory, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(
            f"/proc/self/fd/{descriptor}/log.txt.gz"
        )  # a socket's own path may have 107 bytes only
    os.close(descriptor)


@add_case("S102 I105", reseal=False)
def signature_is_a_fifo(directory: Path) -> None:
    signature = next((directory / "signatures").glob("submission.*"))
    signature.unlink()
    os.mkfifo(signature)


@add_case("S102 I105", reseal=False)
def signature_is_a_link(directory: Path) -> None:
    signature = next((directory / "signatures").glob("submission.*"))
    signature.rename(directory.parent / "signature")
    signature.symlink_to("../../signature")


@add_case("S102 I105", reseal=False)
def signatures_are_a_link(directory: Path) -> None:
    (directory / "signatures").rename(directory.parent / ".signatures")
    (directory / "signatures").symlink_to("../.signatures")


@add_case("S102 I105", reseal=False)
def signatures_are_a_file(directory: Path) -> None:
    shutil.rmtree(directory / "signatures")
    (directory / "signatures").write_text("")


@add_case("S102")
def bundle_is_a_link(directory: Path) -> None:
    directory.rename(directory.parent / "elsewhere_bundle")
    directory.symlink_to("elsewhere_bundle")


@add_case("I102")
def entry_that_steers_the_terminal(directory: Path) -> None:
    (directory / "\x1b[2J\nall fine: pass").write_text("")


@add_case("I102")
def entry_that_is_no_text(directory: Path) -> None:
    Path(os.fsdecode(os.fsencode(directory) + b"/\xff\xfe")).write_text("")


@add_case("I102")
def entries_by_the_thousand(directory: Path) -> None:
    for number in range(2000):
        (directory / f"{number}").touch()


@add_case("I102")
def entry_is_another_bundle(directory: Path) -> None:
    shutil.copytree(directory, directory.parent / "inner")
    (directory.parent / "inner").rename(directory / "inner")


@add_case("S102")
def entry_is_a_fifo(directory: Path) -> None:
    os.mkfifo(directory / "pipe")


CASES |= {
    "manifest_path_absolute": ("I103 I106", False, edit_manifest(add_entry("/etc/passwd"))),
    "manifest_path_upwards": (
        "I103 I106",
        False,
        edit_manifest(add_entry("../../../../../etc/passwd")),
    ),
    "manifest_path_upwards_inside": (
        "I103 I106",
        False,
        edit_manifest(add_entry("signatures/../result.json")),
    ),
    "manifest_path_not_shortest": ("I103 I106", False, edit_manifest(add_entry("./result.json"))),
    "manifest_path_backslash": ("I103 I106", False, edit_manifest(add_entry("..\\passwd"))),
    "manifest_twice": ("I104 I106", False, edit_manifest(add_entry("result.json"))),
    "manifest_itself": ("I104 I106", False, edit_manifest(add_entry("MANIFEST.json"))),
    "manifest_nothing": ("S107 I106", False, edit_manifest(lambda listed: listed.clear())),
    "manifest_negative_size": (
        "S107 I106",
        False,
        edit_manifest(lambda listed: listed[0].update(size=-1)),
    ),
    "manifest_short_hash": (
        "S107 I106",
        False,
        edit_manifest(lambda listed: listed[0].update(sha256="0")),
    ),
    "manifest_other_hash": (
        "I101 I106",
        False,
        edit_manifest(lambda listed: listed[0].update(sha256="0" * 64)),
    ),
    "manifest_no_json": ("S104 I106", False, replace_content("MANIFEST.json", b"\0")),
    "manifest_ambiguous": (
        "S105 I106",
        False,
        replace_content("MANIFEST.json", b'{"files": [], "files": []}'),
    ),
}
