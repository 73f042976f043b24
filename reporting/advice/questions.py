"""What the runs leave open, and which run would decide it."""

from collections.abc import Iterator
from dataclasses import dataclass

from reporting.advice.advice import Advice
from reporting.advice.setting import format_sweep_command
from reporting.advice.subject import Subject
from reporting.sections.cells import find_boards
from reporting.words import format_watts, join_words
from rules.metrics.comparison import BOARD_SPREAD_PERCENT
from rules.metrics.figures import Estimate
from rules.metrics.node.racks import plan_rack
from rules.metrics.sweeps.best_settings import estimate_disadvantage
from rules.metrics.sweeps.filled_racks import compare_racks
from rules.metrics.sweeps.points import Point, get_cap_w
from rules.metrics.uncertainty.deciding_runs import MOST_RUNS, count_deciding_runs

FEW_RUNS = 3
"""Runs of each cap that a comparison between runs takes at least."""
NEAR_SHARE = 0.1
"""A measured cap this near to an interpolated peak, as a share of it, decides it already."""


@dataclass(frozen=True)
class OpenQuestion:
    """What is not certain."""

    text: str
    command: str | None = None
    """The run that would decide it; None where no run of wattmark does."""


def list_open_questions(advice: Advice) -> list[OpenQuestion]:
    """What the sweep leaves open, the gravest first."""
    subject = advice.subject
    if subject.reference is None:
        return [OpenQuestion(f"Nothing is compared: {subject.not_compared}.")]
    return [
        *_ask_scope(advice),
        *_ask_repeats(advice),
        *_ask_allowed_loss(advice),
        *_ask_spare(advice),
        *_ask_ties(advice),
        *_ask_edges(advice),
        *_ask_boards(advice),
    ]


def _ask_scope(advice: Advice) -> Iterator[OpenQuestion]:
    subject = advice.subject
    if subject.provenance == "simulated":
        yield OpenQuestion("Boards or work are simulated: this is no advice on real boards.")
    if subject.provenance == "published":
        yield OpenQuestion(
            "The paper prints no power and no interval, so nothing is told apart. A sweep of your "
            "own decides."
        )
    elif not subject.is_of_nodes and _has_node_meters(subject):
        yield OpenQuestion(
            "Node meters measured these runs, but their energy is not that of the runs alone (rule "
            "N113), or not known at every cap. A sweep on whole nodes decides."
        )
    elif not subject.is_of_nodes:
        yield OpenQuestion(
            "No node meter measured whole nodes. Power beside the boards hardly falls with the "
            "cap, so boards alone overstate savings. The same sweep with [[meter]] in system.toml "
            "decides (docs/node-power.md)."
        )
    if subject.unmetered_w:
        caps = join_words([format_watts(cap_w) for cap_w in subject.unmetered_w])
        yield OpenQuestion(
            f"No node meter measured {caps}.",
            format_sweep_command(subject.rows[0], list(subject.unmetered_w)),
        )
    if advice.wishes.rack_w is not None and subject.no_rack:
        yield OpenQuestion(f"No rack is planned: {subject.no_rack}.", _name_full_sweep(advice))
    if subject.is_short and advice.wishes.rack_w is not None:
        yield OpenQuestion(
            "The scored epochs are shorter than 60 s together, so the highest mean over 60 s is "
            "not known. Runs of the full length decide."
        )


def _has_node_meters(subject: Subject) -> bool:
    return any(row.provenance and row.provenance.run.node for row in subject.rows)


def _name_full_sweep(advice: Advice) -> str | None:
    """The sweep with all boards of the node; None where their number is not known."""
    provenance = advice.subject.rows[0].provenance
    installed = provenance.run.system.nodes[0].accelerators_installed if provenance else None
    if not installed or "used" not in advice.subject.no_rack:
        return None
    row = advice.subject.rows[0]
    caps_w = [get_cap_w(point) for point in advice.subject.points]
    words = format_sweep_command(row, caps_w).split(" --caps ")
    return f"{words[0].partition(' --gpus ')[0]} --gpus {installed} --caps {words[1]}"


def _ask_repeats(advice: Advice) -> Iterator[OpenQuestion]:
    subject = advice.subject
    spreads = [point.spread for point in subject.points]
    if subject.provenance == "published" or advice.chosen is None:
        return
    if any(spread is None or spread.basis == "epochs" for spread in spreads):
        caps_w = _list_contested_caps_w(advice)
        yield OpenQuestion(
            "No cap was repeated, so the intervals contain no difference between runs. Repeats of "
            f"{join_words([format_watts(cap_w) for cap_w in caps_w])} decide.",
            format_sweep_command(subject.rows[0], caps_w, FEW_RUNS),
        )


def _list_contested_caps_w(advice: Advice) -> list[float]:
    """The reference, the chosen cap, and those that are not told from it."""
    assert advice.chosen is not None and advice.subject.reference is not None
    points = [advice.subject.reference, advice.chosen.point, *(advice.chosen.ties or ())]
    return sorted({get_cap_w(point) for point in points})


def _ask_allowed_loss(advice: Advice) -> Iterator[OpenQuestion]:
    allowed_percent, allowed = advice.wishes.allowed_loss_percent, advice.allowed
    if allowed_percent is None or allowed is None or allowed.certain is not False:
        return
    cap_w = get_cap_w(allowed.point)
    yield OpenQuestion(
        f"The loss at {format_watts(cap_w)} may exceed {allowed_percent:g} %, by its interval.",
        format_sweep_command(advice.subject.rows[0], _with_reference_w(advice, cap_w), FEW_RUNS),
    )


def _with_reference_w(advice: Advice, cap_w: float) -> list[float]:
    assert advice.subject.reference is not None
    return sorted({cap_w, get_cap_w(advice.subject.reference)})


def _ask_spare(advice: Advice) -> Iterator[OpenQuestion]:
    """Whether the last node fits is open where the spare power is within the error of a node."""
    racks = advice.racks
    if racks is None or racks.best is None or advice.wishes.basis == "rated":
        return
    rack = racks.best.rack
    if rack.spare_w is None or rack.plan.nodes == 1:
        return
    spare_percent = 100 * max(0.0, rack.spare_w) / rack.node.planned_w
    error_percent, source = _find_error_percent(advice.subject)
    if spare_percent < error_percent:
        assert advice.wishes.rack_w is not None
        # Planned with that error, so many nodes fit.
        sure = plan_rack(
            advice.wishes.rack_w,
            advice.wishes.redundancy_percent,
            rack.node.planned_w * (1 + error_percent / 100),
        )
        yield OpenQuestion(
            f"{rack.plan.nodes} nodes fit only while each draws at most {spare_percent:.2g} % more "
            f"than planned, which is less than {source} of {error_percent:g} %. "
            f"With so much more, {sure.nodes} fit. A run on each node of the rack decides."
        )


def _find_error_percent(subject: Subject) -> tuple[float, str]:
    """How far the power of another node may be from the planned one, and what that is."""
    provenance = subject.rows[0].provenance
    if subject.is_of_nodes and provenance:
        meters = provenance.run.system.meters_of_record
        accuracies = [m.accuracy_percent for m in meters if m.accuracy_percent is not None]
        if accuracies and len(accuracies) == len(meters):
            return max(accuracies), "the accuracy of the meter"
    # Boards of one kind differ by this, and so at least do nodes.
    return BOARD_SPREAD_PERCENT, "the usual difference between boards"


def _ask_ties(advice: Advice) -> Iterator[OpenQuestion]:
    chosen = advice.chosen
    if chosen is None or not chosen.ties:
        return
    for tie in chosen.ties:
        spread = chosen.point.spread
        if spread is None or spread.basis == "epochs":
            # `_ask_repeats` names these caps.
            continue
        runs = min(chosen.point.n, tie.n)
        needed = count_deciding_runs(_estimate_difference(advice, tie), runs)
        caps = f"{format_watts(chosen.cap_w)} and {format_watts(get_cap_w(tie))}"
        if needed is None:
            yield OpenQuestion(
                f"{caps} are not told apart, nor would {MOST_RUNS} runs of each. Choose either."
            )
        else:
            yield OpenQuestion(
                f"{caps} are not told apart. About {needed} runs of each would do so, if their "
                "difference is as measured.",
                format_sweep_command(
                    advice.subject.rows[0], [chosen.cap_w, get_cap_w(tie)], needed
                ),
            )


def _estimate_difference(advice: Advice, tie: Point) -> Estimate:
    """How far a tied cap is from the chosen one in what decided."""
    racks, chosen, reference = advice.racks, advice.chosen, advice.subject.reference
    assert chosen is not None and reference is not None
    if racks and racks.best:
        other = next(rack for rack in racks.racks if rack.node.point.cap_w == tie.cap_w)
        return compare_racks(other, racks.best.rack)
    name = "energy" if advice.allowed else "gain minus extra time"
    metric = next(best.metric for best in advice.best_settings if best.metric.name == name)
    return estimate_disadvantage(metric, tie, chosen.point, reference)


def _ask_edges(advice: Advice) -> Iterator[OpenQuestion]:
    points, chosen = advice.subject.points, advice.chosen
    if chosen is None or len(points) < 2:
        return
    row, caps_w = advice.subject.rows[0], [get_cap_w(point) for point in points]
    is_measured = row.provenance is not None
    if chosen.cap_w == caps_w[0]:
        yield OpenQuestion(
            f"{format_watts(chosen.cap_w)} is the lowest cap of the sweep. A run at a lower one "
            "decides whether the best cap lies below."
        )
    peak = advice.interpolated
    if peak is None or not is_measured:
        return
    if all(abs(cap_w - peak.cap_w) > NEAR_SHARE * peak.cap_w for cap_w in caps_w):
        cap_w = 10.0 * round(peak.cap_w / 10)
        ends = peak.cap_ci95_w
        interval = f" (95 %: {ends[0]:.0f} to {ends[1]:.0f} W)" if ends else ""
        yield OpenQuestion(
            f"A parabola through three caps has least energy at {peak.cap_w:.0f} W{interval}, "
            f"where no run was made. A run at {format_watts(cap_w)} decides.",
            format_sweep_command(row, [cap_w]),
        )


def _ask_boards(advice: Advice) -> Iterator[OpenQuestion]:
    if advice.chosen is None or advice.subject.provenance == "published":
        return
    boards = {
        get_cap_w(point): find_boards([r for r in advice.subject.rows if r.cap_w == point.cap_w])
        for point in advice.subject.points
    }
    chosen_w = advice.chosen.cap_w
    others = [cap_w for cap_w, found in boards.items() if boards[chosen_w].isdisjoint(found)]
    if others:
        names = join_words([format_watts(cap_w) for cap_w in others])
        yield OpenQuestion(
            f"{names} ran on other boards than {format_watts(chosen_w)}. The intervals do not "
            "contain the difference between boards: run them on the same ones."
        )
