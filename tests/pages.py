"""A page of the report as elements, for the tests that read it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

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

    def find(self, tag: str, **attributes: str) -> Iterator["Element"]:
        """All descendants of that tag; `class_` asks for one class among several."""
        for child in self.children:
            if isinstance(child, Element):
                wanted = {k: v for k, v in attributes.items() if k != "class_"}
                classes = child.attributes.get("class", "").split()
                if (
                    child.tag == tag
                    and all(child.attributes.get(k) == v for k, v in wanted.items())
                    and attributes.get("class_", "") in ["", *classes]
                ):
                    yield child
                yield from child.find(tag, **attributes)


class Tree(HTMLParser):
    """Builds elements from well-formed HTML; the page closes every element that it opens."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open = [Element("", {})]
        self.feed(html)
        assert len(self.open) == 1, f"not closed: {[e.tag for e in self.open[1:]]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {k: v or "" for k, v in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {k: v or "" for k, v in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


Report = Callable[..., tuple[Element, str]]
"""Runs bench-report on some paths and returns the parsed page and its text."""


def rows(page: Element, standing: str) -> list[Element]:
    return list(page.find("tr", class_=standing))


def values(row: Element) -> list[float]:
    """The exact values behind the figures of a row, in the order of the columns."""
    return [float(data.attributes["value"]) for data in row.find("data")]
