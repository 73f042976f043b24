"""How far others confirm the runs of a setting."""

from collections.abc import Sequence
from pathlib import Path

from reporting.report_table import escape_invisible
from reporting.results_model import ResultRow
from reporting.sections.cells import name_setting
from reporting.sections.repeats import Setting, describe_trust
from reporting.sentences.choice import Choice
from reporting.words import count_nouns, format_change, join_words, limit_sentences
from rules.metrics.comparison import relative_percent


def list_reproducers(setting: Setting) -> list[str]:
    """The centers that reproduced a run of the setting, each once."""
    centers = [c for row in setting.rows if row.provenance for c in row.provenance.reproducers]
    return list(dict.fromkeys(centers))


def describe_reproduction(choice: Choice, rows: Sequence[ResultRow]) -> list[str]:
    """Whether the setting with the least energy is reproduced, its trust, and which of the settings
    that cannot be told apart from it are reproduced. `rows` are those of the workload."""
    best = _describe_centers(choice.best, rows, "The setting with the least energy")
    ties = [
        _describe_centers(
            setting, rows, f"{name_setting(setting.mean)}, which cannot be told apart,"
        )
        for setting in choice.ties
        if list_reproducers(setting)
    ]
    trust = f"Trust in it: {describe_trust(choice.best)}."
    return [best, trust, *limit_sentences(ties, "reproduced setting")]


def _describe_centers(setting: Setting, rows: Sequence[ResultRow], subject: str) -> str:
    centers = list_reproducers(setting)
    if not centers:
        return f"{subject} is not reproduced."
    parts = [_describe_center(center, setting, rows) for center in centers]
    return f"{subject} is reproduced by {count_nouns(len(centers), 'center')}: {'; '.join(parts)}."


def _describe_center(center: str, setting: Setting, rows: Sequence[ResultRow]) -> str:
    """The name of a center, and how far its reproduction is from the original. The report may lack
    the reproduction."""
    originals = {
        Path(*row.provenance.run.path.parts[-3:]).as_posix(): row
        for row in setting.rows
        if row.provenance
    }
    for row in rows:
        original = originals.get((row.provenance and row.provenance.original) or "")
        if row.center == center and original:
            return f"{escape_invisible(center)}{_compare_with_original(row, original)}"
    return escape_invisible(center)


def _compare_with_original(row: ResultRow, original: ResultRow) -> str:
    sites = {
        result.provenance.run.system_facts.site for result in (row, original) if result.provenance
    }
    changes = [
        f"{format_change(relative_percent(figure.value, original_figure.value))} {name}"
        for name, figure, original_figure in (
            (
                "throughput",
                row.items_per_s_per_accelerator,
                original.items_per_s_per_accelerator,
            ),
            ("energy per item", row.joules_per_item, original.joules_per_item),
        )
        if figure and original_figure
    ]
    ties = row.provenance.ties if row.provenance else ()
    facts = [*(["the stated site"] if len(sites) == 1 else []), *ties]
    site = f", which shares {join_words(facts)}" if facts else ""
    return f"{site} ({join_words(changes)})"
