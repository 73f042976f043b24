"""Typed records of published figures (schema `published-1`)."""

from dataclasses import dataclass
from typing import ClassVar

from rules.json_record import JsonRecord, Parts


@dataclass(frozen=True)
class PublishedRow(JsonRecord):
    """A figure as a paper prints it."""

    workload: str
    accelerator: str
    cap_w: float
    """Per accelerator."""
    items_per_s_per_accelerator: float
    cap_enforced: bool
    table: str
    """The table of the paper that has the figure."""
    comparison: str | None
    """What may be compared with other results: `level`, `shape` or `none`. None means `level`."""
    caution: str | None


@dataclass(frozen=True)
class Paper(JsonRecord):
    """A paper and its figures."""

    PARTS: ClassVar[Parts] = {"rows": PublishedRow.from_json}

    standing: str
    title: str
    authors: str
    """Names, separated by commas."""
    year: int
    url: str
    notes: str
    accelerators_per_run: int | None
    rows: tuple[PublishedRow, ...]

    @property
    def link(self) -> str | None:
        """The address of the paper; None if it is not a web address.

        Only web addresses become links, because the file of a paper comes from strangers.
        """
        # A `javascript:` link would run code when a reader clicks on it.
        return self.url if self.url.startswith(("https://", "http://")) else None
