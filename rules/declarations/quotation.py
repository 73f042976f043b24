"""Passages of a publication, quoted."""

from dataclasses import dataclass

from rules.declarations.record import JsonRecord


@dataclass(frozen=True)
class Quotation(JsonRecord):
    """A sentence or a table cell of a publication, or a line of the code or the data that its
    authors released. An objection to a published row needs one: without it nobody can check what
    the objection rests on."""

    text: str
    """As the source has it."""
    file: str
    """The document: the identifier of the paper, or repository, commit and path."""
    place: str
    """Where in the document, such as `section 5` or `line 397`."""

    def __str__(self) -> str:
        return f"\u201c{self.text}\u201d ({self.file}, {self.place})"
