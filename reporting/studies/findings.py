"""What the page of studies says in sentences: which models reach an accuracy with the least energy,
and what each chart shows."""

from collections.abc import Iterator, Mapping, Sequence

from reporting.charts.encoding import name_board
from reporting.report_table import NO_BREAK, format_number
from rules.studies.figures import SetupFigures, SetupFront, keep_sound
from rules.studies.metrics.fits import Coefficient
from rules.studies.metrics.fronts import mean_accuracy_pct
from rules.studies.results import ModelResult, Setup

GOAL_PCT = 85.0
"""The accuracy, in %, that the page asks for at first."""
_ALTERNATIVES = 2
"""How many models of the next least energy a sentence names."""


def describe_cheapest(setup: Setup, results: Sequence[ModelResult], goal_pct: float) -> str:
    """Which models of a setup reach an accuracy on ImageNet with the least energy.

    `describeCheapest` in `templates/study/answer.js` gives the same sentences for the choices of
    the reader.
    """
    reaching = [
        (result.best.joules_per_image, accuracy_pct, result)
        for result in keep_sound(results)
        if (accuracy_pct := mean_accuracy_pct(result)) is not None and accuracy_pct >= goal_pct
    ]
    reaching.sort(key=lambda entry: entry[:2])
    place = describe_place(setup)
    if not reaching:
        return f"On {place}, no model has {goal_pct:g}{NO_BREAK}% accuracy."
    (joules, accuracy_pct, result), *others = reaching[: 1 + _ALTERNATIVES]
    low, high = result.best.joules_ci95 or (None, None)
    interval = (
        ""
        if low is None or high is None
        else f" (95{NO_BREAK}% within this measurement: "
        f"{format_number(low * 1e3)}\u2013{format_number(high * 1e3)})"
    )
    sentence = (
        f"On {place}, {goal_pct:g}{NO_BREAK}% accuracy takes at least "
        f"{format_number(joules * 1e3)}{NO_BREAK}mJ per image{interval}: "
        f"{_name_model(result)}, {format_number(accuracy_pct)}{NO_BREAK}%."
    )
    if not others:
        return sentence
    nexts = " and ".join(
        f"{_name_model(other)}, {format_number(other_j * 1e3)}{NO_BREAK}mJ"
        for other_j, _, other in others
    )
    return f"{sentence} The next are {nexts}." if len(others) > 1 else f"{sentence} Next: {nexts}."


def describe_place(setup: Setup) -> str:
    """Where a setup was measured, such as `H200 at 700 W (cudagraph, bf16)`."""
    cap = "" if setup.cap_w is None else f" at {setup.cap_w:g}{NO_BREAK}W"
    provenance = "" if setup.provenance == "measured" else f", {setup.provenance}"
    return f"{name_board(setup.board)}{cap} ({setup.engine}, {setup.precision}{provenance})"


def _name_model(result: ModelResult) -> str:
    return f"{'.'.join(filter(None, (result.architecture, result.tag)))}@{result.size}"


def describe_charts(figures: SetupFigures, front: SetupFront) -> Mapping[str, str]:
    """The titles of the charts of a setup that state a finding, by the id of the chart. A chart
    without a finding keeps its neutral title."""
    return dict(_list_titles(figures, front))


def _list_titles(figures: SetupFigures, front: SetupFront) -> Iterator[tuple[str, str]]:
    if len(front.decades) > 2:
        ten, hundred = (format_number(d.accuracy_pct, 3) for d in front.decades[1:3])
        yield (
            "study-scatter",
            f"Ten times the least energy buys {ten}{NO_BREAK}% accuracy, a hundred times "
            f"{hundred}{NO_BREAK}%",
        )
    if (fit := figures.fit) is not None:
        yield "study-size", _describe_fit(fit.activations, fit.flops)
    if (slope := figures.size_exponent) is not None and slope.ci95 is not None:
        low, high = slope.ci95
        yield (
            "study-input-energy",
            f"Energy is proportional to pixels (exponent {slope.value:.2f} of the side)"
            if low <= 2 <= high
            else f"Energy grows with the side of the input to the power of {slope.value:.2f}",
        )
    if figures.naive:
        comparison = figures.naive[-1]  # the one of the plot: over the highest peak
        factor, smallest, largest = (
            format_number(value, 2)
            for value in (comparison.factor.value, comparison.smallest, comparison.largest)
        )
        yield (
            "study-naive",
            f"Models take {factor} times the naive estimate, from {smallest} to {largest} times",
        )


def _describe_fit(activations: Coefficient, flops: Coefficient) -> str:
    exponents = f"{activations.value:.2f} against {flops.value:.2f}"
    if activations.ci95[0] > flops.ci95[1]:
        return f"Energy follows activations more than FLOPs (exponents {exponents})"
    if activations.ci95[1] < flops.ci95[0]:
        exponents = f"{flops.value:.2f} against {activations.value:.2f}"
        return f"Energy follows FLOPs more than activations (exponents {exponents})"
    return f"Energy follows activations and FLOPs (exponents {exponents})"
