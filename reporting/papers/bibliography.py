"""The publications of a report as BibTeX, and the keys to cite them by."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reporting.collect import Collected
from reporting.paper import Paper, cite, keep_web_address
from reporting.papers.latex import FONT_SIZE, MAX_CELL_LETTERS, escape_breakable, shorten
from reporting.report_table import escape_invisible
from reporting.study_record import PublicationOrigin
from rules.studies.trends.records import TrendsStudy

_PLAIN_NAME = re.compile(r"[^\W\d_]+([ .\-][^\W\d_]*)*")
"""A name that BibTeX may abbreviate: letters, blanks, full stops and hyphens."""
_LONGEST_WORD = 100.0
"""In pt. Longer words of titles and names may break."""
_UNSAFE_IN_URL = re.compile(r"[^!#-;=?-\[\]_a-z~]")
"""What `\\url` cannot take as it is."""


@dataclass(frozen=True)
class Publication:
    """A publication that a row or a note names."""

    id: str
    authors: str
    """Names, separated by commas."""
    title: str
    year: int
    url: str | None
    """None if it is not a web address."""


def list_publications(collected: Collected) -> list[Publication]:
    """The publications with figures in the report."""
    sources: list[Paper | PublicationOrigin | TrendsStudy] = [*collected.papers]
    sources += [s.origin for s in collected.studies if isinstance(s.origin, PublicationOrigin)]
    sources += [collected.trends] if collected.trends else []
    return [
        Publication(s.id, s.authors, s.title, s.year, keep_web_address(s.url or ""))
        for s in sources
    ]


@dataclass(frozen=True)
class Bibliography:
    """The publications of a report by their keys, and the keys by the text that names them, such as
    `Mayr et al. 2026`."""

    publications: Mapping[str, Publication]
    keys: Mapping[str, Sequence[str]]

    @classmethod
    def from_publications(cls, publications: Iterable[Publication]) -> "Bibliography":
        """Assign a key to each publication: the letters and digits of its id."""
        by_key: dict[str, Publication] = {}
        keys: dict[str, list[str]] = {}
        for publication in dict.fromkeys(publications):
            key = stem = re.sub(r"[^a-z0-9]+", "", publication.id.lower()) or "source"
            while key in by_key:
                key = f"{stem}-{len(by_key)}"
            by_key[key] = publication
            name = escape_invisible(cite(publication.authors, publication.year))
            keys.setdefault(name, []).append(key)
        return cls(by_key, keys)

    def names_source(self, text: str) -> bool:
        """Whether the text names a publication."""
        return any(name in text for name in self.keys)

    def add_citations(self, text: str, width: float, font_size: float) -> str:
        """The text as LaTeX for lines of `width` in pt, with a `\\cite` after the first naming of
        each publication."""
        names = sorted((name for name in self.keys if name in text), key=text.index)
        latex = ""
        for name in names:
            if name not in text:
                continue
            before, _, text = text.partition(name)
            latex += _escape_part(before + name, width, font_size)
            latex += f"~\\cite{{{','.join(self.keys[name])}}}"
        return latex + _escape_part(text, width, font_size)


def _escape_part(text: str, width: float, font_size: float) -> str:
    """As `escape_breakable`, with the blanks at both ends."""
    start, end = (" " if blank else "" for blank in (text[:1] == " ", text[-1:] == " "))
    latex = escape_breakable(text, width, font_size)
    return f"{start}{latex}{end}" if latex else start


def to_bibtex(bibliography: Bibliography) -> str:
    """The publications as a file for BibTeX with the style IEEEtran. It is ASCII."""
    return "".join(
        _format_entry(key, publication) for key, publication in bibliography.publications.items()
    )


def _format_entry(key: str, publication: Publication) -> str:
    url = publication.url
    fields = {
        "author": " and ".join(map(_format_name, publication.authors.split(","))),
        "title": f"{{{_format_text(publication.title)}}}",
        "year": str(publication.year),
        **({"howpublished": f"\\url{{{_UNSAFE_IN_URL.sub(_encode, url)}}}"} if url else {}),
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@misc{{{key},\n{lines}}}\n\n"


def _format_name(name: str) -> str:
    latex = _format_text(name)
    # BibTeX would split other names, such as `A and B`, into parts.
    is_plain = _PLAIN_NAME.fullmatch(name.strip()) and "and" not in name.casefold().split()
    return latex if is_plain and "\\allowbreak" not in latex else f"{{{latex}}}"


def _format_text(text: str) -> str:
    text = shorten(escape_invisible(text.strip()), MAX_CELL_LETTERS)
    return escape_breakable(text, _LONGEST_WORD, FONT_SIZE)


def _encode(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())
