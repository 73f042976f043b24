"""Advice as text for a terminal of 80 columns."""

import textwrap
from collections.abc import Callable, Iterator, Sequence

from checker.printable import printable
from reporting.advice.advice import Advice, Racks
from reporting.advice.questions import list_open_questions
from reporting.advice.setting import list_setting_lines
from reporting.report_table import NO_BREAK, format_half_width, format_number, format_signed
from reporting.words import count_nouns, format_watts, join_words
from rules.metrics.comparison import kwh_per_year
from rules.metrics.figures import Estimate
from rules.metrics.sweeps.allowed_loss import estimate_loss_percent
from rules.metrics.sweeps.best_settings import BestSetting
from rules.metrics.sweeps.gains import compare
from rules.metrics.sweeps.points import Point, get_cap_w
from rules.workloads import pluralize_item, workloads

INDENT = "  "


def format_advice(advice: Advice, width: int) -> str:
    """The advice on one sweep, in lines of at most `width` columns where words allow it."""
    return "\n".join(_list_lines(advice, width))


def _list_lines(advice: Advice, width: int) -> Iterator[str]:
    subject = advice.subject
    title = f"{workloads()[subject.workload].title}, {subject.standing}: {subject.name}"
    yield from _wrap(printable(title), width)
    boards = "1 board" if subject.boards == 1 else f"{subject.boards} boards"
    yield from _wrap(f"Energy is that of {subject.scope}. Throughput is that of {boards}.", width)
    if subject.reference is not None:
        yield ""
        yield from _format_caps(advice)
        yield ""
        yield from _format_best(advice.best_settings)
        yield from _format_allowed(advice, width)
    if advice.racks:
        yield ""
        yield from _format_racks(advice, advice.racks, width)
    if advice.chosen:
        yield ""
        yield from _format_chosen(advice, width)
    if questions := list_open_questions(advice):
        yield ""
        yield "Open"
        for question in questions:
            yield from _wrap(question.text, width, "- ")
            if question.command:
                yield from _wrap_command(question.command, width)


def _format_caps(advice: Advice) -> Iterator[str]:
    subject, reference = advice.subject, advice.subject.reference
    assert reference is not None
    workload = workloads()[subject.workload]
    item = workload.item
    rows = [
        (
            "cap W",
            f"{pluralize_item(item)}/s",
            f"J/{item}",
            "energy gain %",
            "loss %",
            "gain \u2212 extra time",
        )
    ]
    for point in subject.points:
        comparison = compare(point, reference)
        rows.append(
            (
                f"{get_cap_w(point):g}",
                format_number(point.items_per_s),
                format_number(point.joules_per_item),
                *(
                    ("reference", "", "")
                    if point == reference
                    else (
                        _format_estimate(comparison.energy_gain_percent),
                        _format_estimate(estimate_loss_percent(point, reference)),
                        _format_estimate(comparison.gain_minus_extra_time_points),
                    )
                ),
            )
        )
    yield from _format_columns(rows)
    yield f"{INDENT}\u00b1 is half of a 95 % interval. Loss is one of throughput."


def _format_best(best_settings: Sequence[BestSetting]) -> Iterator[str]:
    rows = [("best by", "cap W", "gain", "not told from")]
    for best in best_settings:
        unit = "points" if best.metric.name == "gain minus extra time" else "%"
        rows.append(
            (
                best.metric.label,
                f"{get_cap_w(best.point):g}",
                f"{_format_estimate(best.gain)} {unit}",
                _name_ties(best.point, best.not_told_apart),
            )
        )
    yield from _format_columns(rows, left=(0, 3))


def _name_ties(point: Point, not_told_apart: Sequence[Point] | None) -> str:
    if not_told_apart is None:
        return "unknown: no interval"
    others = [format_watts(get_cap_w(p)) for p in not_told_apart if p != point]
    return ", ".join(others) or "none"


def _format_allowed(advice: Advice, width: int) -> Iterator[str]:
    allowed_percent = advice.wishes.allowed_loss_percent
    if allowed_percent is None:
        return
    yield ""
    allowed = advice.allowed
    if allowed is None:
        yield from _wrap(f"No cap has at most {allowed_percent:g} % less throughput.", width)
        return
    certainty = {True: "", False: ", which may be more than allowed", None: ", without interval"}
    yield from _wrap(
        f"At most {allowed_percent:g} % less throughput: least energy at "
        f"{format_watts(get_cap_w(allowed.point))}, with a loss of "
        f"{_format_estimate(allowed.loss_percent)}{NO_BREAK}%{certainty[allowed.certain]}.",
        width,
    )


def _format_racks(advice: Advice, racks: Racks, width: int) -> Iterator[str]:
    wishes, item = advice.wishes, workloads()[advice.subject.workload].item
    assert wishes.rack_w is not None
    kept = f", {wishes.redundancy_percent:g} % kept free" if wishes.redundancy_percent else ""
    yield from _wrap(
        f"A rack of {format_number(wishes.rack_w / 1e3, 3)} kW{kept}, whole nodes planned by "
        f"{advice.subject.planned_by}:",
        width,
    )
    rows = [
        (
            "cap W",
            "node W",
            "nodes",
            f"{pluralize_item(item)}/s",
            "free %",
            "spare W",
            "MWh/yr",
            "EUR/yr",
        )
    ]
    for rack in racks.racks:
        kwh = kwh_per_year(rack.mean_w)
        rows.append(
            (
                f"{get_cap_w(rack.node.point):g}",
                format_number(rack.node.planned_w),
                str(rack.plan.nodes),
                _format_estimate(rack.items_per_s, format_number),
                f"{rack.plan.margin_percent:.1f}",
                "" if rack.spare_w is None else format_number(max(0.0, rack.spare_w), 3),
                format_number(kwh / 1e3),
                format_number(kwh * wishes.price_per_kwh),
            )
        )
    yield from _format_columns(rows)
    yield from _wrap(
        f"{INDENT}Spare is what each node may draw more before the rack holds one less. A year is "
        f"one of work all the time, at {wishes.price_per_kwh:g} EUR/kWh, without cooling.",
        width,
    )
    yield from _wrap(_describe_best_rack(racks, wishes.allowed_loss_percent), width)


def _describe_best_rack(racks: Racks, allowed_percent: float | None) -> str:
    if racks.best is None:
        return "No node fits the rack at a cap that is allowed."
    best, at_reference = racks.best.rack, racks.at_reference
    within = "" if allowed_percent is None else f" with a loss of at most {allowed_percent:g} %"
    text = (
        f"Most throughput{within}: {format_watts(get_cap_w(best.node.point))} with "
        f"{count_nouns(best.plan.nodes, 'node')}"
    )
    if at_reference and at_reference is not best and at_reference.plan.nodes:
        change = 100 * (best.items_per_s.mean / at_reference.items_per_s.mean - 1)
        text += (
            f", {format_signed(change)}{NO_BREAK}% more than at "
            f"{format_watts(get_cap_w(at_reference.node.point))}"
        )
    if racks.best.not_told_apart is None:
        return f"{text}. Nothing is told apart, for lack of intervals."
    others = [
        format_watts(get_cap_w(rack.node.point))
        for rack in racks.best.not_told_apart
        if rack is not best
    ]
    return f"{text}. Not told from it: {join_words(others) if others else 'none'}."


def _format_chosen(advice: Advice, width: int) -> Iterator[str]:
    chosen, subject = advice.chosen, advice.subject
    assert chosen is not None
    yield from _wrap(f"Set {format_watts(chosen.cap_w)}: {chosen.reason}.", width)
    row = next(row for row in subject.rows if row.cap_w == chosen.cap_w)
    lines = list_setting_lines(row, chosen.cap_w)
    yield from _format_columns([(line.where, line.command) for line in lines], left=(0, 1))
    if advice.racks is None and subject.reference is not None:
        yield from _wrap(_describe_year(advice, chosen.point), width)


def _describe_year(advice: Advice, point: Point) -> str:
    """Energy and cost of a year of work, and of equal work."""
    reference, price = advice.subject.reference, advice.wishes.price_per_kwh
    assert reference is not None
    costs = []
    for p in (point, reference):
        kwh = kwh_per_year(p.joules_per_item * p.items_per_s)
        costs.append(
            f"{format_number(kwh / 1e3)} MWh and {format_number(kwh * price)} EUR at "
            f"{format_watts(get_cap_w(p))}"
        )
    saved = 1 - point.joules_per_item / reference.joules_per_item
    return (
        f"A year of work all the time, at {price:g} EUR/kWh without cooling: "
        f"{join_words(list(dict.fromkeys(costs)))}. Equal work costs "
        f"{format_signed(100 * saved)}{NO_BREAK}% less."
    )


def _format_estimate(estimate: Estimate, form: Callable[[float], str] = format_signed) -> str:
    text = form(estimate.mean)
    if estimate.ci95 is None:
        return text
    return f"{text} \u00b1 {format_half_width(text, estimate.ci95)}"


def _format_columns(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> Iterator[str]:
    """Rows in columns, right-aligned unless their number is in `left`."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield f"{INDENT}{INDENT.join(cells)}".rstrip()


def _wrap(text: str, width: int, begin: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _wrap_command(command: str, width: int) -> Iterator[str]:
    """A command that a shell takes in several lines."""
    lines = textwrap.wrap(
        command,
        width - 2,
        initial_indent="    ",
        subsequent_indent="        ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines[:-1]:
        yield f"{line} \\"
    yield lines[-1]
