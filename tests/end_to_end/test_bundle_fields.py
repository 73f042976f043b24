"""docs/bundle-fields.md and docs/bundle-format.md: every field is there, with what it means and its
unit."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from rules.bundle_format.records import (
    BATCH_COLUMNS,
    OPTIONAL_SAMPLE_COLUMNS,
    REQUEST_COLUMNS,
    SAMPLE_COLUMNS,
)
from rules.bundle_format.study_records import POINT_COLUMNS, STUDY_BATCH_COLUMNS

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "bundle_fields.py"))
UNITS = {
    "_ns": "ns",
    "_ms": "ms",
    "_s": "s",
    "_w": "W",
    "_mw": "mW",
    "_mj": "mJ",
    "_mhz": "MHz",
    "_bytes": "bytes",
    "_tokens": "tokens",
    "_per_s": "1/s",
    "_per_item": "J",
    "_sha256": "SHA-256",
}
"""By the end of a name; the longest that fits counts."""


def list_fields() -> list[tuple[str, str, dict[str, Any]]]:
    read_schema, list_fields = SCRIPT["read_schema"], SCRIPT["list_fields"]
    return [
        (name, field, field_name)
        for name in SCRIPT["FILES"]
        for field, field_name, _ in list_fields(read_schema(name), read_schema(name))
    ]


def test_committed_page_is_current() -> None:
    assert (ROOT / "docs" / "bundle-fields.md").read_text() == SCRIPT["render_page"](), (
        "run: python scripts/bundle_fields.py"
    )


def test_page_lists_every_field_or_an_object_that_has_it() -> None:
    """An object with fields of an earlier one refers to that one."""
    sections = dict(
        re.findall(
            r"^## (.*?)\n(.*?)(?=^## |\Z)", SCRIPT["render_page"](), re.MULTILINE | re.DOTALL
        )
    )
    for name, file in SCRIPT["FILES"].items():
        rows = dict(re.findall(r"^`(.+?)(?:\[\]/|/)?`(.*?) *$", sections[file], re.MULTILINE))
        referring = [field for field, text in rows.items() if re.search(r"\. As `.*[.:]$", text)]
        fields = [field for field, *_ in SCRIPT["list_rows"](name)]
        assert fields[0] == "format"
        assert not [
            field
            for field in fields[1:]
            if field not in rows
            and not any(field.startswith((f"{r}/", f"{r}[]/")) for r in referring)
        ]


def test_objects_refer_to_objects_with_equal_fields() -> None:
    page = SCRIPT["render_page"]()
    assert "\n`serving/tpot_s/`: " in page and "`serving/tpot_s/p50`" not in page
    assert re.search(r"^`serving/tpot_s/`: .* As `serving/ttft_s`\. *$", page, re.MULTILINE)
    assert "As `power` of `result.json` without `sm_clock_mhz`." in page


def test_page_has_every_schema() -> None:
    assert {
        path.stem.rpartition("-")[0]
        for path in (ROOT / "rules" / "bundle_format" / "schemas").glob("*.json")
    } == SCRIPT["FILES"].keys()


def test_every_field_is_described() -> None:
    assert len(list_fields()) > 250
    assert [
        (name, field)
        for name, field, field_name in list_fields()
        if not field_name.get("description", "").strip()
    ] == []


def test_descriptions_name_the_units_that_names_have() -> None:
    bare = []
    for name, field, field_name in list_fields():
        fitting = [end for end in UNITS if field.split("/")[-1].endswith(end)]
        numeric = field_name.get("type") not in ("object", "boolean", "null")
        if (
            fitting
            and numeric
            and not re.search(
                rf"\b{re.escape(UNITS[max(fitting, key=len)])}\b", field_name["description"]
            )
        ):
            bare.append((name, field))
    assert bare == []


@pytest.mark.parametrize(
    "columns",
    [
        SAMPLE_COLUMNS + OPTIONAL_SAMPLE_COLUMNS,
        BATCH_COLUMNS,
        REQUEST_COLUMNS,
        POINT_COLUMNS,
        STUDY_BATCH_COLUMNS,
    ],
)
def test_format_names_every_column_in_order(columns: tuple[str, ...]) -> None:
    page = (ROOT / "docs" / "bundle-format.md").read_text()
    assert f"`{','.join(columns)}`" in page
    _, _, after = page.partition(f"`{','.join(columns)}`")
    cells = [
        line.split("|")[1]
        for line in re.split(r"\n##+ ", after)[0].splitlines()
        if line.startswith("| `")
    ]
    assert tuple(re.findall(r"`(\w+)`", "".join(cells))) == columns
