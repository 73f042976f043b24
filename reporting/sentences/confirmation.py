"""How far others confirm the runs of a setting."""

from collections.abc import Sequence

from reporting.report_table import escape_invisible
from reporting.sections.cells import name_setting
from reporting.sections.repeats import Setting
from reporting.sentences.choice import Choice
from reporting.sentences.words import count_nouns, join_words, limit_sentences


def describe_trust(setting: Setting) -> str:
    """`not reviewed, accepted, reproduced by 1`; of several runs, `of 4 runs, 0 reviewed, 3
    accepted, 1 reproduced`. Empty for a published figure."""
    provenances = [row.provenance for row in setting.rows if row.provenance]
    if len(provenances) < 2:
        return provenances[0].trust if provenances else ""
    counts = (
        (sum(bool(p.reviewers) for p in provenances), "reviewed"),
        (sum(bool(p.accepted) for p in provenances), "accepted"),
        (sum(bool(p.reproducers) for p in provenances), "reproduced"),
    )
    return f"of {len(provenances)} runs, " + ", ".join(f"{n} {state}" for n, state in counts)


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
