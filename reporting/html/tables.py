"""Tables as HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from markupsafe import Markup, escape

from reporting.page_model import PageModel
from reporting.report_table import (
    Column,
    ReportTable,
    TableRow,
    escape_invisible,
    find_doubt,
    format_interval,
    format_value,
)
from rules.finding import Finding

UNKNOWN = "\u2013"
_COLUMNS_WITH_N = ("items_per_s_per_accelerator", "fastest_rate", "value")
"""Columns that show the n of their interval. It is the same for the other columns of the row."""
_MAX_FULL_REPEATS = 5
"""How often one finding is printed in full; after that, a link to the first is shown."""
_LAZY_ROWS = 100
"""Tables with more rows than this are laid out lazily."""


class TableMarkup:
    """Renders the tables of one page. With a `page`, rows link to the evidence of their bundle on
    the same page."""

    def __init__(self, page: PageModel | None = None) -> None:
        evidence = page.find("evidence") if page else None
        evidence_rows = evidence.rows if evidence else ()
        bundles = [str(row["bundle"]) for row in evidence_rows]
        self.evidence_anchors = {bundle: f"e{n}" for n, bundle in enumerate(bundles, start=1)}
        self.notes = {
            caution: (f"{section.workload.id}-caution-{n}", "§" * (n + 1))
            for section in (page.sections if page else ())
            for n, caution in enumerate(section.cautions)
        }
        submitted_rows = page.collected.rows if page else ()
        self.findings: Mapping[str, Sequence[Finding]] = {
            bundle: row.provenance.findings
            for bundle, row in zip(
                bundles, (r for r in submitted_rows if r.provenance), strict=True
            )
            if row.provenance
        }

        self.finding_anchors: dict[Finding, list[str]] = {}

    def render(self, table: ReportTable) -> Markup:
        """The table without controls; the script of the page adds them."""
        # Hidden columns are for charts and downloads.
        columns = [column for column in table.columns if not column.hidden]
        return self._render_columns(table, columns, "data-table")

    def render_compact(self, table: ReportTable) -> Markup:
        """The table with its compact columns only; empty if it has none."""
        columns = [column for column in table.columns if column.key in table.compact_keys]
        return self._render_columns(table, columns, "data-compact") if columns else Markup("")

    def _render_columns(
        self, table: ReportTable, columns: Sequence[Column], id_attribute: str
    ) -> Markup:
        compact = " compact" if id_attribute == "data-compact" else ""
        # The script adds the tooltips of compact tables.
        heads = "".join(
            self._render_head(replace(column, about="") if compact else column)
            for column in columns
        )
        # A table and its compact form stand together. Only the compact one links to the bundles.
        has_bundle_links = table.id.endswith("-results") and bool(compact or not table.compact_keys)
        body = "".join(
            self._render_row(table, row, columns, has_bundle_links) for row in table.rows
        )
        # The browser lays out rows when the reader scrolls to them, and reserves 40 px each before.
        lazy_layout = (
            f' long" style="contain-intrinsic-size: auto {40 * len(table.rows)}px'
            if len(table.rows) > _LAZY_ROWS
            else ""
        )
        return Markup(
            # With a label and a tabindex, readers without a mouse can scroll a wide table.
            f'<div class="scroll{compact}{lazy_layout}" role="region" '
            f'aria-label="{escape(table.title)}" tabindex="0">'
            f'<table {id_attribute}="{escape(table.id)}" '
            f'class="{_number_column_classes(columns)}"><caption>{escape(table.title)}</caption>'
            f"<thead><tr>{heads}</thead><tbody>{body}</tbody></table></div>"
        )

    def _render_head(self, column: Column) -> str:
        unit = f" <small>{escape(column.unit)}</small>" if column.unit else ""
        about = f' title="{escape(column.about)}"' if column.about else ""
        return (
            f'<th scope="col"{about} data-key="{escape(column.key)}">{escape(column.title)}{unit}'
        )

    def _render_row(
        self,
        table: ReportTable,
        row: TableRow,
        columns: Sequence[Column],
        has_bundle_links: bool,
    ) -> str:
        classes = [str(row.get("standing") or ""), "implausible" if row.get("implausible") else ""]
        classes.append("unenforced" if row.get("doubt") else "")
        anchor = (
            f" id={self.evidence_anchors[str(row['bundle'])]}" if table.id == "evidence" else ""
        )
        first, *rest = columns
        head = self._render_cell(first, row, has_bundle_links)
        # In a table without a column of evidence, the name of the row links to it.
        if row.get("bundle") and not any(map(_has_links, columns)):
            head = f"<a href=#{self.evidence_anchors[str(row['bundle'])]}>{head}</a>"
        # HTML needs no end tags of cells and rows. Without them a page of many runs is a twelfth
        # shorter.
        cells = [f"<th scope=row>{head}"]
        cells += [
            f"<td{_EVIDENCE_CLASS if _has_links(column) else ''}>"
            f"{self._render_cell(column, row, has_bundle_links)}"
            for column in rest
        ]
        class_names = " ".join(filter(None, classes))
        class_attribute = (
            (
                f' class="{escape(class_names)}"'
                if " " in class_names
                else f" class={escape(class_names)}"
            )
            if class_names
            else ""
        )
        return f"<tr{class_attribute}{anchor}>{''.join(cells)}"

    def _render_cell(self, column: Column, row: TableRow, has_bundle_links: bool) -> str:
        if column.form == "evidence":
            return self._render_evidence(column, row, brief=not has_bundle_links)
        if column.form == "findings":
            return self._render_findings(column, row)
        value = format_value(column, row)
        if not value:
            return UNKNOWN
        # `Markup.format` takes ten times as long, and a page of many runs has 100 000 cells.
        html = str(escape(value))
        if reason := find_doubt(column, row):
            html = f'<span title="{escape(reason)}">({html})</span>'
        # Values that were not measured are in italics.
        if row.get(f"{column.key}_kind") in ("assumed", "bound"):
            html = f"<i>{html}</i>"
        interval = format_interval(column, row)
        # The n is the same for all columns of a row, so only some columns show it.
        if column.key not in _COLUMNS_WITH_N:
            interval = interval.partition(",")[0]
        for line in (interval, row.get(column.note_key)):
            html += f"<small>{escape(line)}</small>" if line else ""
        return html

    def _render_evidence(self, column: Column, row: TableRow, brief: bool) -> str:
        """Links to the bundle and to its evidence on the page, or to the paper, with the reasons
        why the row is excluded from comparison.

        A `brief` cell has no link to the bundle, because the compact table of results has it for
        every row.
        """
        parts = []
        bundles = str(row["bundle"]).split() if row.get("bundle") else []
        value = format_value(column, row)
        if len(bundles) == 1:
            anchor = self.evidence_anchors[bundles[0]]
            if not brief:
                parts.append(f'<a href="{escape(bundles[0])}">bundle</a>')
            # The value is `signer; findings`. A brief cell leaves the signer out.
            findings = value.partition("; ")[2] if brief else value
            parts.append(f"<a href=#{anchor}>{escape(findings or value)}</a>")
        elif bundles:
            numbered_links = (
                f'<a class=short href="#{self.evidence_anchors[bundle]}">{n}</a>'
                for n, bundle in enumerate(bundles, start=1)
            )
            parts.append(f"{escape(value)}: {', '.join(numbered_links)}")
        # A row without a bundle is a published figure, and its source is a paper.
        elif row.get("url"):
            parts.append(f'<a href="{escape(row["url"])}">{escape(value)}</a>')
        else:
            parts.append(str(escape(value)))
        # The note itself is below the table, once for all rows.
        if row.get("caution"):
            note_link = Markup('<a class="mark" href="#{}" aria-label="see the note">{}</a>')
            parts.append(note_link.format(*self.notes[str(row["caution"])]))
        reasons = [
            reason for key in ("implausible", "doubt", "withheld") if (reason := row.get(key))
        ]
        parts += [f'<span class="reason">✕ {escape(reason)}</span>' for reason in reasons]
        return " ".join(parts)

    def _render_findings(self, column: Column, row: TableRow) -> str:
        """The findings of a bundle in a `details` element, beside the link to the bundle."""
        bundle = str(row["bundle"])
        html = Markup('<a href="{}">bundle</a> ').format(bundle)
        findings = self.findings[bundle]
        if not findings:
            return html + escape(format_value(column, row))
        items = Markup("").join(
            self._render_item(f, self.evidence_anchors[bundle]) for f in findings
        )
        details = Markup("<details><summary>{}</summary><ul>{}</ul></details>")
        return html + details.format(format_value(column, row), items)

    def _render_item(self, finding: Finding, anchor: str) -> Markup:
        """A finding in full, or a link to an earlier equal one if it was printed several times
        already. Many bundles of a round often have the same finding."""
        anchors = self.finding_anchors.setdefault(finding, [])
        anchors.append(anchor)
        if len(anchors) <= _MAX_FULL_REPEATS:
            return format_finding(finding)
        return Markup("<li>{}: <a href=#{}>as above</a>").format(
            _format_finding_head(finding), anchors[0]
        )


def format_finding(finding: Finding) -> Markup:
    """A finding as a list item."""
    return Markup("<li>{}: found {}, expected {}. {}").format(
        _format_finding_head(finding),
        *map(escape_invisible, (finding.found, finding.expected, finding.message)),
    )


def _format_finding_head(finding: Finding) -> Markup:
    location = f"{finding.file} {finding.pointer}".strip()
    waiver = f" (waived by {finding.waived})" if finding.waived else ""
    return Markup("<b class={0}>{0} {1}</b>{2} {3}").format(
        *map(escape_invisible, (finding.severity, finding.rule, waiver, location))
    )


_EVIDENCE_CLASS = " class=e"
"""Short and without quotes, because thousands of cells have it."""


def _has_links(column: Column) -> bool:
    return column.form in ("evidence", "findings")


def _number_column_classes(columns: Sequence[Column]) -> str:
    """The columns with numbers and dates as classes of the table, such as `n3 n5`. A class on each
    cell would make a sixth of a large page."""
    return " ".join(
        f"n{n}"
        for n, column in enumerate(columns, start=1)
        if column.form in ("date", "number", "count", "signed")
    )
