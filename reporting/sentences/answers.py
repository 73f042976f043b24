"""The answers at the top of the page: for each workload, which setting takes the least energy, how
certain that is, and how its boards compare."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reporting.report_table import escape_invisible
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    COMPARED_STANDINGS,
    describe_provenance,
    name_load,
    name_variant,
)
from reporting.sections.repeats import JOULES, ReportSpread, Setting
from reporting.sentences.choice import Choice, choose_setting, get_joules
from reporting.sentences.words import (
    count_nouns,
    format_amount,
    format_cap,
    format_percent,
    format_value_with_unit,
    format_watts,
    name_items,
)
from rules.metrics.uncertainty.between_runs import Certainty
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
    # Without another variant, the first sentence compares the boards.
    if measured and _has_other_variant(measured[0]):
        sentences += compare_boards(measured[0], workload)
    if len(measured) > 1:
        sentences += _compare_open(measured[1].best, measured[0].best, workload)
    if not measured:
        sentences = [_describe_unmeasured(choices, rows, workload)]
    return WorkloadAnswer(
        workload.id,
        workload.title,
        " ".join(sentences),
        sum(
            row.standing == "closed" and row.may_win and describe_provenance(row) != "simulated"
            for row in rows
        ),
    )


def _has_other_variant(choice: Choice) -> bool:
    return any(other.mean.variant != choice.best.mean.variant for other in choice.others)


def _describe_least(choice: Choice, workload: Workload) -> str:
    """The setting of least energy against its rival."""
    best = choice.best
    prefix = "" if best.mean.standing == "closed" else "No closed result. Open: "
    # A cap that all settings share is stated once, with the meaning of the answers.
    caps_w = {setting.mean.cap_w for setting in (best, *choice.others)}
    end = f"at {_format_rate(best, workload)}"
    if len(caps_w) > 1:
        cap_w = best.mean.cap_w
        end += " without a cap" if cap_w is None else f" with a cap of {format_watts(cap_w)}"
    if not choice.others:
        amount = format_amount(get_joules(best), f"J/{workload.item}")
        return (
            f"{prefix}{name_briefly(best)} is the only compared setting: "
            f"{amount.text_with_interval}, {end}."
        )
    rival = find_rival(choice)
    return (
        f"{prefix}{name_briefly(best)} takes {_compare_energy(best, rival, workload)} "
        f"than {name_briefly(rival, best)} ({_state_certainty(best, rival)}), {end}."
    )


def find_rival(choice: Choice) -> Setting:
    """The setting that the best one is compared with, of at least one other: the one of least
    energy of another variant, on the same kind and number of boards if there is one."""
    best = choice.best.mean

    def get_distance(setting: Setting) -> tuple[bool, bool, bool]:
        row = setting.mean
        return row.variant == best.variant, row.model != best.model, row.count != best.count

    return min(choice.others, key=get_distance)


def _compare_energy(setting: Setting, rival: Setting, workload: Workload | None) -> str:
    """`10 % less energy per image`; without a workload `10 % less`."""
    difference = setting.compare(rival, JOULES)
    assert difference is not None
    direction = "less" if difference.percent < 0 else "more"
    energy = f" energy per {workload.item_name}" if workload else ""
    return f"{format_percent(difference.percent)} {direction}{energy}"


def _state_certainty(setting: Setting, rival: Setting) -> Certainty:
    difference = setting.compare(rival, JOULES)
    assert difference is not None
    return difference.certainty


def compare_boards(choice: Choice, workload: Workload) -> list[str]:
    """The kind of board of the best setting against each other one, by the variant of least energy
    that both have on as many boards at one cap."""
    best = choice.best
    own_settings: dict[tuple[object, ...], Setting] = {}
    for setting in (best, *choice.others):
        if setting.mean.model == best.mean.model:
            own_settings.setdefault(_get_board_key(setting), setting)
    pairs: dict[str, tuple[Setting, Setting]] = {}
    for other in choice.others:
        own = own_settings.get(_get_board_key(other))
        if own is not None and other.mean.model != best.mean.model:
            pairs.setdefault(other.mean.model, (own, other))
    return [
        f"{best.mean.model} takes {_compare_energy(own, other, None)} than {model}, both "
        f"{own.mean.variant} ({_state_certainty(own, other)}), at "
        f"{_format_rate(own, workload)} against {_format_rate(other, workload)}."
        for model, (own, other) in pairs.items()
    ]


def _get_board_key(setting: Setting) -> tuple[object, ...]:
    """What settings on two kinds of boards must share to be compared."""
    return setting.mean.variant, setting.mean.precision, setting.mean.count, setting.mean.cap_w


def _compare_open(best: Setting, closed: Setting, workload: Workload) -> list[str]:
    """The best open setting, if it takes less energy than the best closed one."""
    if get_joules(best).value >= get_joules(closed).value:
        return []
    return [
        f"Open: {name_briefly(best, closed)} takes {_compare_energy(best, closed, None)} "
        f"than the best closed setting ({_state_certainty(best, closed)}), at "
        f"{_format_rate(best, workload)}."
    ]


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
        f"{none_measured} Published: {name_briefly(best)} "
        f"{format_cap(best.mean.cap_w)} takes the least energy per {workload.item_name}, "
        f"{amount.text}, with power assumed equal to the cap."
    )


def _format_rate(setting: Setting, workload: Workload) -> str:
    """Per accelerator, which the words say where there are several."""
    each = " per accelerator" if (setting.mean.count or 1) > 1 else ""
    return format_value_with_unit(
        setting.mean.items_per_s_per_accelerator.value, f"{name_items(workload)}/s{each}"
    )


def name_briefly(setting: Setting, beside: Setting | None = None) -> str:
    """Board and variant with a few words on it: `H200 with tuned (compiled)`. Beside another
    setting, only what differs."""
    row = setting.mean
    board = f"{row.count} \u00d7 {row.model}" if (row.count or 1) > 1 else row.model
    if row.provenance is None:
        return f"{escape_invisible(board)} ({escape_invisible(row.system)})"
    variant = name_variant(row)
    if beside is None:
        return escape_invisible(f"{board} with {variant}")
    other = beside.mean
    is_same_variant = name_variant(other) == variant
    parts = [
        "" if (row.model, row.count) == (other.model, other.count) else board,
        "" if is_same_variant else variant,
        name_load(row) if row.batch_size != other.batch_size and is_same_variant else "",
        "" if row.cap_w == other.cap_w else format_cap(row.cap_w),
    ]
    return escape_invisible(", ".join(filter(None, parts)) or f"{row.system}, {variant}")


def describe_meaning(rows: Iterable[ResultRow]) -> str:
    """What the words of the answers mean, and the cap if all compared runs share it."""
    caps_w = {
        row.cap_w for row in rows if row.provenance and row.may_win and row.standing != "demo"
    }
    if len(caps_w) != 1:
        return MEANING
    (cap_w,) = caps_w
    cap = "no cap" if cap_w is None else f"a cap of {format_watts(cap_w)}"
    return f"{MEANING} All compared runs have {cap}."
