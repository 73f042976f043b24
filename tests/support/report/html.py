"""A page of the report as elements and as tables, for the tests that read it."""

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any

from reporting.report_table import Column, ReportTable

VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text within, with runs of blanks and line ends as one blank; no-break spaces stay."""
        inside = "".join(c if isinstance(c, str) else c.text for c in self.children)
        return re.sub(r"[ \n]+", " ", inside).strip(" ")

    @property
    def main_text(self) -> str:
        """The text within but that of small print, such as an interval under a figure."""
        inside = [
            c if isinstance(c, str) else c.main_text
            for c in self.children
            if isinstance(c, str) or c.tag != "small"
        ]
        return re.sub(r"[ \n]+", " ", "".join(inside)).strip(" ")

    def find(self, tag: str, **attributes: str) -> Iterator["Element"]:
        """All descendants of that tag; `class_` asks for one class among several."""
        class_name = attributes.pop("class_", "")
        left = self.children[::-1]
        while left:
            child = left.pop()
            if isinstance(child, str):
                continue
            left += child.children[::-1]
            if (
                child.tag == tag
                and all(child.attributes.get(k) == v for k, v in attributes.items())
                and (not class_name or class_name in child.attributes.get("class", "").split())
            ):
                yield child


CELLS = {"td", "th"}
ROW_GROUPS = {"thead", "tbody"}
LISTS = {"ul", "ol"}
ENDED_BY = (
    {"td": CELLS, "th": CELLS}
    | {tag: {*CELLS, "tr"} for tag in ("tr", *ROW_GROUPS)}
    | {tag: {"li"} for tag in ("li", *LISTS)}
)
"""What a tag ends where it begins, or a group of rows or a list where it ends. The page leaves
these end tags out, as HTML has it."""


class Tree(HTMLParser):
    """Builds elements from HTML; the page closes every element that it opens, but for the rows and
    cells of tables and the items of lists."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open = [Element("", {})]
        self.feed(restore_folds(html))
        assert len(self.open) == 1, f"not closed: {[e.tag for e in self.open[1:]]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ROW_GROUPS | LISTS:
            self._end(tag)
        element = Element(tag, {k: v or "" for k, v in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {k: v or "" for k, v in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag in ROW_GROUPS | LISTS:
            self._end(tag)
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def _end(self, tag: str) -> None:
        while self.open[-1].tag in ENDED_BY.get(tag, set()):
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def restore_folds(html: str) -> str:
    """The HTML of a page with the content of its folds where it belongs."""
    stored = re.search(r'<script type="text/plain" id="folds">([^<]*)</script>', html)
    if stored is None:
        return html
    folds = _decompress(stored[1])
    return re.sub(
        r'(<noscript data-fold=")(\d+)(">)', lambda found: found[0] + folds[int(found[2])], html
    )


Report = Callable[..., tuple[Element, str]]
"""Runs bench-report on some paths and returns the parsed page and its text."""


@dataclass
class Line:
    """One row of a table: its element, its cells by key of the column, and the values behind
    them."""

    element: Element
    cells: dict[str, Element]
    values: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def text(self, key: str) -> str:
        return self.cells[key].main_text


def read_embedded(page: Element, id: str) -> Any:
    """The JSON of the page's script element of that id, with what it holds once put back wherever
    it belongs."""
    text = _read_script(page, id)
    if id == "about":
        return json.loads(text)
    return unpack_tables(_decompress(text)) if id == "tables" else _decompress(text)


def _read_script(page: Element, id: str) -> str:
    (script,) = page.find("script", id=id)
    return "".join(c for c in script.children if isinstance(c, str))


def _decompress(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text)))


@lru_cache(maxsize=2)
def _read_records(script: str) -> list[Any]:
    """The records of the tables of a page, from the text of their script element. Callers share
    them, so they must not alter them."""
    return unpack_tables(_decompress(script))


def read_head(stored: Any, head: int) -> dict[str, Any]:
    """The columns of a table, and the keys that they add to a row."""
    columns = [stored["columns"][place] for place in stored["heads"][head]]
    names = {field.name for field in fields(Column)}
    keys = [
        key
        for column in columns
        for key in Column(**{k: v for k, v in column.items() if k in names}).keys
    ]
    return {"columns": columns, "keys": keys}


def unpack_tables(stored: Any) -> list[Any]:
    """The inverse of `reporting.page_data.share_cells`."""

    def restore(cells: list[Any]) -> list[Any]:
        column: list[Any] = []
        for cell in cells:
            if not isinstance(cell, list):
                column.append(cell)
            elif cell and cell[0] >= 0:
                column.append(stored["shared"][cell[0]])
            else:
                column += [column[-1]] * (-cell[0] if cell else 1)
        return column

    tables = [
        {
            **table,
            **read_head(stored, table["head"]),
            "rows": [list(row) for row in zip(*map(restore, table["cells"]), strict=True)],
        }
        for table in stored["tables"]
    ]
    left_out = ("head", "cells")
    return [{k: value for k, value in table.items() if k not in left_out} for table in tables]


def read_lines(page: Element, id: str) -> list[Line]:
    """The rows of the table of that id, each with the values that the page holds for charts and
    downloads."""
    (table,) = page.find("table", **{"data-table": id})
    (record,) = [t for t in _read_records(_read_script(page, "tables")) if t["id"] == id]
    keys = [head.attributes["data-key"] for head in table.find("th", scope="col")]
    (body,) = table.find("tbody")
    lines = []
    for row, values in zip(body.find("tr"), record["rows"], strict=True):
        cells = [c for c in row.children if isinstance(c, Element)]
        lines.append(
            Line(
                row,
                dict(zip(keys, cells, strict=True)),
                dict(zip(record["keys"], values, strict=True)),
            )
        )
    return lines


def list_table_ids(page: Element) -> list[str]:
    return [
        table.attributes["data-table"]
        for table in page.find("table")
        if "data-table" in table.attributes
    ]


def read_tables(page: Element) -> list[ReportTable]:
    """The tables of a page, made anew from its JSON."""
    return parse_tables(_read_records(_read_script(page, "tables")))


def parse_tables(records: Iterable[Mapping[str, Any]]) -> list[ReportTable]:
    """The tables of report.json or of a page."""
    column_fields = {field.name for field in fields(Column)}
    report_tables = []
    for record in records:
        columns = tuple(
            Column(**{key: value for key, value in c.items() if key in column_fields})
            for c in record["columns"]
        )
        rows = tuple(dict(zip(record["keys"], row, strict=True)) for row in record["rows"])
        report_tables.append(
            ReportTable(record["id"], record["title"], columns, rows, record["about"])
        )
    return report_tables
