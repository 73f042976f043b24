"""The answers at the top of the page: for each workload, which setting takes the least energy, how
certain that is, and how its boards compare."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reporting.quantities import describe_provenance
from reporting.report_table import escape_invisible
from reporting.results_model import ResultRow
from reporting.sections.cells import COMPARED_STANDINGS, name_load, name_variant
from reporting.sections.repeats import JOULES, ReportSpread, Setting
from reporting.sentences.choice import Choice, choose_setting, get_joules
from reporting.words import (
    count_nouns,
    format_amount,
    format_cap,
    format_percent,
    format_value_with_unit,
    format_watts,
    name_items,
)
from rules.workloads import Workload

NO_RESULT = "No result may be compared."
MEANING = (
    "Certain: the 99 % interval of the difference excludes zero. Likely: only that of 95 % does. "
    "±: another run on another board of the same kind, at 95 %. Standing: closed, the workload as "
    "the rules define it; open, a variation such as FP8; published, in a paper. Scope: energy of "
    "the accelerators alone or of whole nodes."
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
    workload: Workload, rows: Sequence[ResultRow], spread: ReportSpread, names_caps: bool = False
) -> WorkloadAnswer:
    """The answer from the rows of a workload of all standings. It names the cap of the best setting
    unless `describe_meaning` states one for all."""
    choices = [
        choice
        for standing in COMPARED_STANDINGS
        if (choice := choose_setting(rows, standing, spread))
    ]
    measured = [choice for choice in choices if choice.best.runs]
    sentences: list[str] = []
    if measured:
        choice = measured[0]
        compared = find_rival(choice)
        sentences = [
            _describe_least(choice, compared, workload, names_caps),
            *compare_boards(choice, workload, compared),
        ]
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


def _describe_least(
    choice: Choice, rival: Setting | None, workload: Workload, names_caps: bool
) -> str:
    """The best setting against its rival."""
    best = choice.best
    prefix = "" if best.mean.standing == "closed" else "No closed result. Open: "
    has_other_load = rival is not None and _have_other_loads(best, rival)
    conditions = [name_load(best.mean)] if has_other_load else []
    end = f"at {_format_rate(best, workload)}"
    if names_caps:
        cap_w = best.mean.cap_w
        conditions += ["no cap" if cap_w is None else f"a cap of {format_watts(cap_w)}"]
    if conditions:
        end += f" with {' and '.join(conditions)}"
    if rival is None:
        amount = format_amount(get_joules(best), f"J/{workload.item}")
        return (
            f"{prefix}{name_briefly(best)} is the only compared setting: "
            f"{amount.text_with_interval}, {end}."
        )
    return (
        f"{prefix}{name_briefly(best)} takes {_compare_energy(best, rival, workload)} "
        f"than {name_briefly(rival, best)}, {end}."
    )


def find_rival(choice: Choice) -> Setting | None:
    """The setting of least energy that the best one is compared with: of another variant if there
    is one, and of these on the same kind and number of boards. None without another setting."""
    best = choice.best.mean

    def get_distance(setting: Setting) -> tuple[bool, bool, bool]:
        row = setting.mean
        return row.variant == best.variant, row.model != best.model, row.count != best.count

    return min(choice.others, key=get_distance, default=None)


def _compare_energy(setting: Setting, rival: Setting, workload: Workload | None) -> str:
    """`10 % less energy per image (certain)`; without a workload `10 % less (certain)`."""
    difference = setting.compare(rival, JOULES)
    assert difference is not None
    direction = "less" if difference.percent < 0 else "more"
    energy = f" energy per {workload.item_name}" if workload else ""
    return f"{format_percent(difference.percent)} {direction}{energy} ({difference.certainty})"


def _have_other_loads(setting: Setting, rival: Setting) -> bool:
    return setting.mean.batch_size != rival.mean.batch_size


def compare_boards(
    choice: Choice, workload: Workload, compared: Setting | None = None
) -> list[str]:
    """The kind of board of the best setting against each other one, by the variant of least energy
    that both have on as many boards at one cap. The pair of the best setting and `compared` is left
    out."""
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
        f"{own.mean.variant}, at {_format_rate(own, workload, other)} against "
        f"{_format_rate(other, workload, own)}."
        for model, (own, other) in pairs.items()
        if not (own is best and other is compared)
    ]


def _get_board_key(setting: Setting) -> tuple[object, ...]:
    """What settings on two kinds of boards must share to be compared."""
    return setting.mean.variant, setting.mean.precision, setting.mean.count, setting.mean.cap_w


def _compare_open(best: Setting, closed: Setting, workload: Workload) -> list[str]:
    """The best open setting, if it takes less energy than the best closed one."""
    difference = best.compare(closed, JOULES)
    if difference is None or difference.percent >= 0:
        return []
    return [
        f"Open: {name_briefly(best, closed)} takes {_compare_energy(best, closed, None)} "
        f"than the best closed setting, at {_format_rate(best, workload)}."
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


def _format_rate(setting: Setting, workload: Workload, beside: Setting | None = None) -> str:
    """Per accelerator, which the words say where there are several. With the load if that of the
    setting beside it is another one."""
    each = " per accelerator" if (setting.mean.count or 1) > 1 else ""
    load = (
        f" with {name_load(setting.mean)}" if beside and _have_other_loads(setting, beside) else ""
    )
    return format_value_with_unit(
        setting.mean.items_per_s_per_accelerator.value, f"{name_items(workload)}/s{each}{load}"
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
        name_load(row) if row.batch_size != other.batch_size else "",
        "" if row.cap_w == other.cap_w else format_cap(row.cap_w),
    ]
    return escape_invisible(", ".join(filter(None, parts)) or f"{row.system}, {variant}")


def list_caps_w(rows: Iterable[ResultRow]) -> set[float | None]:
    """The caps of all compared runs; None is that of runs without a cap."""
    return {
        row.cap_w
        for row in rows
        if row.may_win
        and row.standing in COMPARED_STANDINGS
        and describe_provenance(row) == "measured"
    }


def describe_meaning(rows: Iterable[ResultRow]) -> str:
    """What the words of the answers mean, and the cap if all compared runs share it."""
    caps_w = list_caps_w(rows)
    if len(caps_w) != 1:
        return MEANING
    (cap_w,) = caps_w
    cap = "no cap" if cap_w is None else f"a cap of {format_watts(cap_w)}"
    return f"{MEANING} All compared runs have {cap}."
