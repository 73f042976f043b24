"""The answers at the top of the page: for each workload, which setting takes the least energy, how
certain that is, and how its boards compare."""

from collections.abc import Sequence
from dataclasses import dataclass

from reporting.report_table import escape_invisible
from reporting.results_model import ResultRow
from reporting.sections.cells import COMPARED_STANDINGS, name_variant
from reporting.sections.repeats import JOULES, ReportSpread, Setting
from reporting.sentences.choice import Choice, choose_setting, get_joules
from reporting.sentences.words import (
    capitalize,
    count_nouns,
    format_amount,
    format_cap,
    format_percent,
    format_value_with_unit,
    format_watts,
    name_batch,
    name_items,
)
from rules.workloads import Workload

NO_RESULT = "No result may be compared."
MEANING = (
    "Certain: the 99 % interval of the difference excludes zero. Likely: only that of 95 % does. "
    "±: what another run on another board of the same kind gives, at 95 %. Closed: the workload as "
    "the rules define it. Open: a variation of it, such as FP8. Scope: energy of the accelerators "
    "alone, or of whole nodes."
)
"""What the words of the answers mean, where they stand."""


@dataclass(frozen=True)
class WorkloadAnswer:
    """The answer for one workload."""

    workload: str
    title: str
    text: str
    runs: int
    """The number of closed runs that may win, which orders the answers."""


def build_answer(
    workload: Workload, rows: Sequence[ResultRow], spread: ReportSpread
) -> WorkloadAnswer:
    """The answer from the rows of a workload of all standings."""
    choices = [
        choice
        for standing in COMPARED_STANDINGS
        if (choice := choose_setting(rows, standing, spread))
    ]
    measured = [choice for choice in choices if choice.best.runs]
    sentences = [_describe_least(choice, workload) for choice in measured[:1]]
    if measured:
        sentences += _compare_boards(measured[0], workload)
    if len(measured) > 1:
        sentences += _compare_open(measured[1].best, measured[0].best, workload)
    if not measured:
        sentences = [_describe_unmeasured(choices, rows, workload)]
    return WorkloadAnswer(
        workload.id,
        workload.title,
        " ".join(sentences),
        sum(row.standing == "closed" and row.may_win for row in rows),
    )


def _describe_least(choice: Choice, workload: Workload) -> str:
    """The setting of least energy against its rival: the next one of another variant on the same
    number of boards, else the next one."""
    best = choice.best
    rate = _format_rate(best, workload)
    prefix = "" if best.mean.standing == "closed" else "No closed result. Open: "
    if not choice.others:
        amount = format_amount(get_joules(best), f"J/{workload.item}")
        return (
            f"{prefix}{name_briefly(best, workload)} is the only compared setting: "
            f"{amount.text_with_interval}, at {rate} {_name_cap(best)}."
        )
    rival = find_rival(choice)
    return f"{prefix}{compare_energy(best, rival, workload)}, at {rate} {_name_cap(best)}."


def find_rival(choice: Choice) -> Setting:
    """The setting that the best one is compared with, of at least one other."""
    best = choice.best.mean

    def get_distance(setting: Setting) -> tuple[bool, bool, bool]:
        row = setting.mean
        return row.variant == best.variant, row.model != best.model, row.count != best.count

    return min(choice.others, key=get_distance)


def compare_energy(setting: Setting, rival: Setting, workload: Workload) -> str:
    """`H200, s2d (…), takes 10 % less energy per image than tuned (compiled) (certain)`."""
    difference = setting.compare(rival, JOULES)
    assert difference is not None
    direction = "less" if difference.percent < 0 else "more"
    return (
        f"{name_briefly(setting, workload)}, takes {format_percent(difference.percent)} "
        f"{direction} energy per {workload.item_name} than "
        f"{name_briefly(rival, workload, setting)} ({difference.certainty})"
    )


def _compare_boards(choice: Choice, workload: Workload) -> list[str]:
    """The best setting against the best of the same variant on each other kind of board."""
    best = choice.best
    others: dict[str, Setting] = {}
    for setting in (best, *choice.others):
        row = setting.mean
        if row.model != best.mean.model:
            others.setdefault(row.model, setting)
    sentences = []
    for other in others.values():
        same_variant = (
            s
            for s in (best, *choice.others)
            if s.mean.model == best.mean.model
            and (s.mean.variant, s.mean.count) == (other.mean.variant, other.mean.count)
        )
        own = next(same_variant, None)
        if own is None:
            continue
        own_rate, rate = (_format_rate(s, workload) for s in (own, other))
        comparison = compare_energy(own, other, workload)
        sentences.append(f"{comparison}, at {own_rate} against {rate}.")
    return sentences


def _compare_open(best: Setting, closed: Setting, workload: Workload) -> list[str]:
    """The best open setting, if it takes less energy than the best closed one."""
    if get_joules(best).value >= get_joules(closed).value:
        return []
    return [f"Open: {compare_energy(best, closed, workload)}, at {_format_rate(best, workload)}."]


def _describe_unmeasured(
    choices: Sequence[Choice], rows: Sequence[ResultRow], workload: Workload
) -> str:
    demo_runs = sum(row.standing == "demo" for row in rows)
    none_measured = (
        f"No measured result: {count_nouns(demo_runs, 'demo run')}, which nothing is compared with."
        if demo_runs
        else "No measured result."
    )
    if not choices:
        return f"{none_measured} {NO_RESULT}"
    best = choices[0].best
    amount = format_amount(get_joules(best), f"J/{workload.item}")
    return (
        f"{none_measured} Published: {name_briefly(best, workload)} "
        f"{format_cap(best.mean.cap_w)} takes the least energy per {workload.item_name}, "
        f"{amount.text}, with power assumed equal to the cap."
    )


def _name_cap(setting: Setting) -> str:
    cap_w = setting.mean.cap_w
    return "without a cap" if cap_w is None else f"with a cap of {format_watts(cap_w)}"


def _format_rate(setting: Setting, workload: Workload) -> str:
    """Per accelerator, which the words say where there are several."""
    each = " per accelerator" if (setting.mean.count or 1) > 1 else ""
    return format_value_with_unit(
        setting.mean.items_per_s_per_accelerator.value, f"{name_items(workload)}/s{each}"
    )


def name_briefly(setting: Setting, workload: Workload, beside: Setting | None = None) -> str:
    """Board and variant with a few words on it: `H200, tuned (compiled, bf16)`. Beside another
    setting, only what differs."""
    row = setting.mean
    board = f"{row.count} \u00d7 {row.model}" if (row.count or 1) > 1 else row.model
    if row.provenance is None:
        return f"{escape_invisible(board)} ({escape_invisible(row.system)})"
    variant = name_variant(row)
    if beside is None:
        return escape_invisible(f"{board}, {variant}")
    other = beside.mean
    parts = []
    if (row.model, row.count) != (other.model, other.count):
        parts.append(board)
    if name_variant(other) != variant:
        parts.append(variant)
    if row.batch_size != other.batch_size and row.variant == other.variant:
        parts.append(name_batch(row, workload))
    if row.cap_w != other.cap_w:
        parts.append(format_cap(row.cap_w))
    return escape_invisible(", ".join(parts) or f"{row.system}, {variant}")


def join_answers(answers: Sequence[WorkloadAnswer]) -> str:
    """The first answer, for readers without the page; the sentence on none without any."""
    return f"{answers[0].title}: {capitalize(answers[0].text)}" if answers else NO_RESULT
