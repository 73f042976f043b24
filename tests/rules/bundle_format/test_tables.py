"""The tables of a bundle: what is read is what stands there, and parts of them are those rows and
no others."""

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import copy_evidence
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.bundle_format.csv_table import read_table
from rules.bundle_format.files import Refused, read_files
from rules.bundle_format.load import read_evidence
from rules.bundle_format.records import (
    BATCH_COLUMNS,
    OPTIONAL_SAMPLE_COLUMNS,
    REQUEST_COLUMNS,
    RUN,
    SAMPLE_COLUMNS,
    SAMPLES_FILE,
    TEXT_COLUMNS,
)
from rules.bundle_format.table import (
    Table,
    Text,
    expand_by_accelerator,
    find_offenders,
    format_rows,
    join_tables,
)
from rules.bundle_format.write import pack_samples, write
from rules.metrics.intervals import group_by_accelerator, group_by_epoch_and_rank
from rules.testing.frames import EvidenceFrames, frame_of

COLUMNS = {
    "samples.csv.gz": SAMPLE_COLUMNS,
    "batches.csv.gz": BATCH_COLUMNS,
    "requests.csv.gz": REQUEST_COLUMNS,
}


def make_table() -> Table:
    """Six rows of accelerators a and b, and c, which has a name and no row."""
    power = np.array([1.0, np.nan, 3.0, 4.0, 5.0, 6.0])
    return Table.of(
        {
            "read_ns": np.arange(6) * 10,
            "accelerator": Text(np.array([1, 1, 0, 1, 0, 0]), ("b", "a", "c")),
            "w": power,
        }
    )


def make_csv(name: str, rows: list[dict[str, str]], end: str = "\n") -> bytes:
    """A CSV file whose cells are 1, but for those given; the text columns hold the letter x."""
    columns = COLUMNS[name]
    lines = [
        ",".join(row.get(c, "x" if c in TEXT_COLUMNS else "1") for c in columns) for row in rows
    ]
    return ("\n".join([",".join(columns), *lines]) + end).encode()


# Parts of a table.


ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from([1.0, 2.0, np.nan]), st.booleans()), max_size=9
)


@settings(deadline=None)
@given(ROWS, st.permutations("abc"), st.booleans(), st.booleans(), st.data())
def test_part_of_a_table_has_those_rows_and_their_places_in_the_file(
    rows: list[tuple[str, float, bool]],
    names: list[str],
    rises: bool,
    has_others: bool,
    data: st.DataObject,
) -> None:
    """Against lists: a part of a part, by a mask and by indices. A name may have no row."""
    names = [name for name in names if has_others or name in {row[0] for row in rows}]
    codes = np.array([names.index(name) for name, _, _ in rows], np.int32)
    watts = np.array([watts for _, watts, _ in rows])
    whole = Table.of(
        {"n": np.arange(len(rows)), "w": watts, "accelerator": Text(codes, tuple(names))}
    )
    mask = np.array([is_chosen for _, _, is_chosen in rows], bool)
    numbers = data.draw(st.permutations(range(int(mask.sum()))))[: data.draw(st.integers(0, 9))]
    numbers = sorted(numbers) if rises else numbers
    part = whole.at(mask).at(np.array(numbers, np.int64))
    places = [[n for n in range(len(rows)) if mask[n]][number] for number in numbers]
    texts = [rows[place][0] for place in places]
    assert (
        part.places.tolist() == part.ints("n").tolist() == frame_of(part).index.tolist() == places
    )
    np.testing.assert_array_equal(part.floats("w"), [rows[place][1] for place in places])
    assert part.has_gaps("w") == any(np.isnan(rows[place][1]) for place in places)
    text = part.text("accelerator")
    assert (text.to_list(), text.distinct()) == (texts, list(dict.fromkeys(texts)))
    for name in "abcd":
        assert text.equals(name).tolist() == [name == other for other in texts]
    np.testing.assert_array_equal(
        expand_by_accelerator(part, {"a": 7.0, "c": 9.0}),
        [7.0 if t == "a" else np.nan for t in texts],
    )
    joined = join_tables([part, whole, part], ["n", "accelerator"])
    assert joined.ints("n").tolist() == [*places, *range(len(rows)), *places]
    assert joined.text("accelerator").to_list() == [*texts, *(name for name, _, _ in rows), *texts]
    for wrong in (np.array([n % 3 > 0 for n in places], bool), np.zeros(len(places), bool)):
        by_name: dict[str, list[int]] = {}
        for place, name in zip(places, texts, strict=True):
            if place % 3 > 0 and wrong.any():
                by_name.setdefault(name, []).append(place + 1)
        offenders = [(name, describe_rows(found), len(found)) for name, found in by_name.items()]
        assert not rises or list(find_offenders(part, wrong)) == offenders
    if places:
        assert format_rows(part, slice(None)) == describe_rows([place + 1 for place in places])


def describe_rows(rows: list[int]) -> str:
    return f"row {rows[0]}" if len(rows) == 1 else f"rows {min(rows)}-{max(rows)}"


@pytest.mark.parametrize("name", COLUMNS)
def test_table_without_rows(name: str) -> None:
    empty = read_table(name, make_csv(name, []))
    assert len(empty) == 0
    for column in COLUMNS[name]:
        if column in TEXT_COLUMNS:
            assert empty.text(column).distinct() == empty.text(column).to_list() == []
        else:
            assert len(empty.floats(column)) == 0
    assert list(frame_of(empty).columns) == list(COLUMNS[name])
    if name == "samples.csv.gz":
        assert group_by_accelerator(empty) == {}
        assert list(find_offenders(empty, np.zeros(0, dtype=bool))) == []
        assert len(expand_by_accelerator(empty, {"a": 1.0})) == 0
    if name == "batches.csv.gz":
        assert group_by_epoch_and_rank(empty) == {}


def test_samples_of_an_accelerator_that_has_only_a_name() -> None:
    assert {
        name: board_samples.places.tolist()
        for name, board_samples in group_by_accelerator(make_table()).items()
    } == {
        "b": [2, 4, 5],
        "a": [0, 1, 3],
    }


# As data frames.


@pytest.mark.parametrize("serving", [False, True])
def test_evidence_comes_back_from_tables_as_it_was(serving: bool) -> None:
    evidence = copy_evidence(serving)
    evidence.samples.loc[::7, "power_mw"] = np.nan
    evidence.samples.loc[::11, "power_state"] = ""
    evidence.samples["mem_temp_c"] = np.nan
    evidence_read = EvidenceFrames.of(evidence.evidence())
    pd.testing.assert_frame_equal(evidence_read.samples, evidence.samples, check_dtype=False)
    pd.testing.assert_frame_equal(evidence_read.batches, evidence.batches)
    assert [str(evidence_read.samples[c].dtype) for c in ("read_ns", "power_mw", "mem_temp_c")] == [
        "int64",
        "float64",
        "float64",
    ]
    if evidence.requests is not None and evidence_read.requests is not None:
        pd.testing.assert_frame_equal(evidence_read.requests, evidence.requests)


# As they are read.

TEXTS = {
    "the same throughout": ["GPU-1"] * 5,
    "another one in the middle": ["GPU-1", "GPU-1", "GPU-2", "GPU-1"],
    "another one at the end": ["GPU-1"] * 4 + ["GPU-2"],
    "another one at the beginning": ["GPU-2"] + ["GPU-1"] * 4,
    "in turn": ["GPU-1", "GPU-2"] * 3,
    "in turn, broken off": ["GPU-1", "GPU-2", "GPU-3", "GPU-1"],
    "in turn, but for the last": ["GPU-1", "GPU-2", "GPU-1", "GPU-3"],
    "in turn, one of them twice": ["GPU-1", "GPU-2", "GPU-2"] * 2,
    "in turn, more than are looked at": [f"GPU-{number:02}" for number in range(70)] * 2,
    "in turn, as many as are looked at": [f"GPU-{number:02}" for number in range(64)] * 2,
    "each once": [f"GPU-{number:02}" for number in range(70)],
    "the same letters, cut elsewhere": ["aa", "a", "aaa"],
    "as long in sum": ["ab", "a", "abc"],
    "as long in bytes": ["éé", "abcd", "日x"],
    "no letter of ASCII throughout": ["日本"] * 4,
    "one inside the other": ["a", "aa", "a"],
    "blanks around": [" a", "a ", "a"],
    "with quotes": ['"a,b"', '"a""b"', "a"],
    "with marks in their midst": ["it's", "#", "\\n", "nan", "NULL", "0x1f"],
}


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_text_is_read_as_others_read_it(texts: list[str]) -> None:
    raw = make_csv("samples.csv.gz", [{"accelerator": text} for text in texts])
    (header, *lines) = csv.reader(io.StringIO(raw.decode()), strict=True)
    read = read_table("samples.csv.gz", raw).text("accelerator")
    assert read.to_list() == [line[header.index("accelerator")] for line in lines]
    assert read.distinct() == list(dict.fromkeys(read.to_list()))


@pytest.mark.parametrize("text", ['"a"', '""', '"a b"'])
def test_text_that_is_quoted_without_need_is_refused(text: str) -> None:
    raw = make_csv("samples.csv.gz", [{"accelerator": "a"}, {"accelerator": text}])
    with pytest.raises(Refused) as refusal:
        read_table("samples.csv.gz", raw)
    assert refusal.value.problems[0].violation.pointer == "row 2"


@pytest.mark.parametrize("name", ["007", "-0", "00000000:17:00.0", "0"])
def test_text_may_look_like_a_number_with_leading_zeros(name: str) -> None:
    raw = make_csv("samples.csv.gz", [{"node": "a,b", "accelerator": name}] * 2)
    raw = raw.replace(b"a,b", b'"a,b"')
    assert read_table("samples.csv.gz", raw).text("accelerator").to_list() == [name] * 2


@pytest.mark.parametrize("states", [["", "", ""], ["", "P0", ""], ["P0", "", "P0"]])
def test_power_state_may_be_missing(states: list[str]) -> None:
    raw = make_csv("samples.csv.gz", [{"power_state": state} for state in states])
    assert read_table("samples.csv.gz", raw).text("power_state").to_list() == states


@pytest.mark.parametrize(
    "cells", [["", "5", ""], ["", "", ""], ["-7", "0", str(2**53)], ["", str(-(2**53)), ""]]
)
def test_number_that_may_be_missing(cells: list[str]) -> None:
    read = read_table(
        "samples.csv.gz", make_csv("samples.csv.gz", [{"power_mw": cell} for cell in cells])
    ).floats("power_mw")
    assert read.dtype == np.float64
    assert [None if np.isnan(value) else int(value) for value in read] == [
        int(cell) if cell else None for cell in cells
    ]


def test_header_alone_is_a_table_without_rows() -> None:
    assert len(read_table("batches.csv.gz", make_csv("batches.csv.gz", []))) == 0


@pytest.mark.parametrize("rows", [0, 2])
def test_table_that_is_cut_in_its_last_number_is_refused(rows: int) -> None:
    whole = make_csv("batches.csv.gz", [{"items": "12"}] * rows)
    with pytest.raises(Refused) as refused:
        read_table("batches.csv.gz", whole[:-2])
    assert refused.value.problems[0].violation.found == "no line break at the end"


@pytest.mark.parametrize("end", [" \n", "\t\n", "\x0b\n", " \t\n"])
def test_blank_behind_the_last_number_is_refused(end: str) -> None:
    with pytest.raises(Refused) as refused:
        read_table("batches.csv.gz", make_csv("batches.csv.gz", [{}, {}], end))
    assert refused.value.problems[0].violation.pointer == "row 2"


COMMITTED = sorted(Path(__file__).parents[3].glob("submissions/reference/*/*/result.json"))


@pytest.mark.parametrize("result", COMMITTED, ids=lambda path: path.parent.name)
def test_evidence_of_a_committed_bundle_is_written_again_with_the_same_content(
    result: Path, tmp_path: Path
) -> None:
    files = read_files(result.parent)
    evidence, problems = read_evidence(files)
    assert evidence is not None and problems == []
    from_frames = EvidenceFrames.of(evidence).evidence()
    for number, evidence_read in enumerate((evidence, from_frames)):
        write(evidence_read, tmp_path / str(number))
        contents = read_files(tmp_path / str(number)).contents
        assert contents.keys() == {n for n in files.contents if not n.startswith("signatures/")}
        for name in RUN.evidence_files:
            if name.endswith(".gz") and name in contents:
                assert gzip.decompress(contents[name]) == gzip.decompress(files.contents[name])
            elif name in contents:
                assert contents[name] == files.contents[name]


def test_a_cell_with_a_comma_or_a_quote_comes_back(tmp_path: Path) -> None:
    evidence = copy_evidence()
    evidence.samples.loc[3, "status"] = 'power failed, "code 5"'
    evidence.samples.loc[4, ["power_state", "power_mw"]] = ("", np.nan)
    write(evidence.evidence(), tmp_path / "bundle")
    evidence_read, problems = read_evidence(read_files(tmp_path / "bundle"))
    assert evidence_read is not None and problems == []
    assert evidence_read.samples.text("status").to_list()[3] == 'power failed, "code 5"'
    assert evidence_read.samples.text("power_state").to_list()[4] == ""
    assert np.isnan(evidence_read.samples.floats("power_mw")[4])


@pytest.mark.parametrize("has_values", [True, False])
def test_optional_columns_of_samples_are_written_if_they_have_values(has_values: bool) -> None:
    names = (*SAMPLE_COLUMNS, *OPTIONAL_SAMPLE_COLUMNS)
    stamp = str(2**53 + 1) if has_values else ""
    cells = {"node": "node0", "accelerator": "GPU-0", "status": "ok", "counter_ns": stamp}
    cells["mem_power_mw"] = ""
    row = ",".join(cells.get(name, "1") for name in names) + "\n"
    samples = read_table(SAMPLES_FILE, f"{','.join(names)}\n{row}".encode())
    text = gzip.decompress(pack_samples(samples)).decode()
    assert text.startswith(",".join(names if has_values else SAMPLE_COLUMNS) + "\n")
    # A stamp beyond 2**53 keeps its last digit.
    assert text.endswith(f",ok,,{stamp}\n" if has_values else ",ok\n")
    assert read_table(SAMPLES_FILE, text.encode()).columns.keys() == set(text.split()[0].split(","))


def test_one_optional_column_alone_is_refused() -> None:
    header = ",".join((*SAMPLE_COLUMNS, "counter_ns"))
    with pytest.raises(Refused) as refusal:
        read_table(SAMPLES_FILE, f"{header}\n".encode())
    assert "the header" in refusal.value.problems[0].violation.found
