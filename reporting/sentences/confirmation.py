"""How far others confirm the runs of a setting."""

from collections.abc import Sequence

from reporting.report_table import escape_invisible
from reporting.sections.cells import name_setting
from reporting.sections.repeats import Setting, describe_trust
from reporting.sentences.choice import Choice
from reporting.sentences.words import count_nouns, join_words, limit_sentences


def list_reproducers(setting: Setting) -> list[str]:
    """The centers that reproduced a run of the setting, each once."""
    centers = [c for row in setting.rows if row.provenance for c in row.provenance.reproducers]
    return [escape_invisible(center) for center in dict.fromkeys(centers)]


def describe_reproduction(choice: Choice) -> list[str]:
    """Whether the setting with the least energy is reproduced, and which of those that cannot be
    told apart from it are."""
    sentences = [_describe_centers(choice.best, "The setting with the least energy")]
    reproduced_ties = [setting for setting in choice.ties if list_reproducers(setting)]
    sentences += limit_sentences(
        [
            _describe_centers(setting, f"{name_setting(setting.mean)}, which cannot be told apart,")
            for setting in reproduced_ties
        ],
        "reproduced setting",
    )
    return [*sentences, f"Trust: {describe_trust(choice.best)}."]


def _describe_centers(setting: Setting, subject: str) -> str:
    centers: Sequence[str] = list_reproducers(setting)
    if not centers:
        return f"{subject} is not reproduced."
    return (
        f"{subject} is reproduced by {count_nouns(len(centers), 'center')}: {join_words(centers)}."
    )
