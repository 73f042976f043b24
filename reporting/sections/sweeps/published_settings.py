"""The best settings that papers print, beside what follows from their other figures."""

from collections.abc import Iterable, Iterator

from reporting.paper import Paper, PublishedGain
from reporting.report_table import Column, ReportTable
from reporting.sections.cells import Cells
from reporting.sections.section import Section
from rules.metrics.sweeps.best_settings import Metric
from rules.metrics.sweeps.gains import EDS_K
from rules.metrics.sweeps.published_gains import (
    PrintedComparison,
    RecomputedGain,
    leave_out_rest_of_node,
    recompute_gain,
)


def build_published_settings_table(papers: Iterable[Paper]) -> ReportTable | None:
    """The best settings that papers print, each beside the gain that follows from other printed
    figures; None without any."""
    columns = (
        Column("what", "node"),
        Column("metric", "metric"),
        Column("cap_w", "best cap", "W per accelerator", "count"),
        Column("reference_cap_w", "reference", "W per accelerator", "count"),
        Column("gain", "printed gain", "% or points", "number", kinds=True),
        Column(
            "recomputed",
            "recomputed",
            "% or points",
            "signed",
            interval=True,
            about="from the printed times and gain \u2212 extra time, with the range that their "
            "rounding allows",
        ),
        Column("note", "note"),
        Column("source", "source", form="evidence"),
        Column("place", "place in the source"),
        Column("url", "address of the source", hidden=True),
        Column("standing", "standing", hidden=True),
        Column("model", "board", hidden=True),
    )
    papers = [paper for paper in papers if paper.gains]
    cells = [
        _make_published_cells(paper, gain, _find_printed(paper, gain))
        for paper in papers
        for gain in paper.gains or ()
    ]
    about = " ".join(sentence for paper in papers for sentence in _describe_boards_only(paper))
    title = "Published best settings"
    return ReportTable("published-settings", title, columns, tuple(cells), about) if cells else None


def _find_printed(paper: Paper, gain: PublishedGain) -> PrintedComparison | None:
    """The printed figures from which a gain follows; None if the paper lacks one of them."""
    seconds = {
        (work.accelerators, work.cap_w): work.seconds
        for work in paper.fixed_work or ()
        if not work.derived
    }
    at = seconds.get((gain.accelerators, gain.cap_w))
    at_reference = seconds.get((gain.accelerators, gain.reference_cap_w))
    points = {
        (g.accelerators, g.cap_w): g.gain_percent
        for g in paper.gains or ()
        if g.metric == "gain minus extra time"
    }
    difference_points = points.get((gain.accelerators, gain.cap_w))
    if at is None or at_reference is None or difference_points is None:
        return None
    return PrintedComparison(at, at_reference, difference_points)


def _make_published_cells(
    paper: Paper, gain: PublishedGain, printed: PrintedComparison | None
) -> Cells:
    metric = Metric(gain.metric, gain.k)
    recomputed: RecomputedGain | None = None
    if printed and gain.metric != "gain minus extra time":
        recomputed = recompute_gain(metric, printed, (gain.k,) if gain.k else EDS_K)
    return {
        "what": f"{gain.accelerators} \u00d7 {gain.accelerator}",
        "metric": metric.label,
        "cap_w": gain.cap_w,
        "reference_cap_w": gain.reference_cap_w,
        "gain": gain.gain_percent,
        "gain_kind": "printed",
        "recomputed": recomputed.value if recomputed else None,
        "recomputed_low": recomputed.low if recomputed else None,
        "recomputed_high": recomputed.high if recomputed else None,
        "recomputed_n": 1 if recomputed else None,
        "note": "; ".join(_list_published_notes(gain, recomputed)) or None,
        "source": paper.citation,
        "place": gain.place,
        "url": paper.link,
        "standing": paper.standing,
        "model": gain.accelerator,
    }


def _list_published_notes(gain: PublishedGain, recomputed: RecomputedGain | None) -> Iterator[str]:
    if recomputed is not None:
        agrees = recomputed.allows(gain.gain_percent)
        yield "the printed figure is in the range" if agrees else "contradicts the printed times"
    elif gain.metric != "gain minus extra time":
        yield "cannot be recomputed: the paper prints no time for it"
    if gain.rounded:
        yield "approximate in the paper"
    if gain.caution:
        yield gain.caution.rstrip(".")


def _describe_boards_only(paper: Paper) -> Iterator[str]:
    """What the gain of a node says of the power beside its boards."""
    for gain in paper.gains or ():
        printed = _find_printed(paper, gain)
        if gain.metric != "gain minus extra time" or printed is None or gain.cap_w is None:
            continue
        boards = leave_out_rest_of_node(
            printed, gain.accelerators, gain.cap_w, gain.reference_cap_w
        )
        yield (
            f"Energy is that of the whole node. If the boards of {paper.citation} draw their caps, "
            f"the gain at {gain.cap_w:g} W implies {boards.rest_of_node_w:.0f} W beside them all "
            f"the time. The boards alone would show an energy gain of "
            f"{boards.energy_gain_percent:.1f} %, and {boards.gain_minus_extra_time_points:.1f} "
            f"instead of {gain.gain_percent:.1f} points of gain \u2212 extra time: figures of "
            "boards alone overstate savings."
        )


SECTION = Section(
    name="published-settings",
    place=160,
    build=lambda page: [build_published_settings_table(page.papers)],
    is_across=True,
)
