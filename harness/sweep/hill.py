"""The chart that a sweep prints at its end: efficiency over the values of an axis."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from harness.sweep.axis import CAP, Axis
from harness.sweep.plan import Entry
from rules.metrics.sweeps.points import Point
from rules.workloads import pluralize_item

WIDTH = 80
MIN_POINTS = 3
"""Fewer points have no shape to show."""
EIGHTHS = " ▏▎▍▌▋▊▉"
"""The last character of a bar, by its length in eighths of a character."""
MAXIMUM = " max"


def print_hills(
    axes: Sequence[Axis], points: Mapping[Entry, Point], title: str, item: str, console: Console
) -> None:
    """Print items per J of each point as bars over the first axis, in at most 80 columns: one chart
    for each setting of the other axes that has three points or more."""
    axis, *other_axes = axes
    hills: dict[tuple[str, ...], dict[str, Point]] = {}
    for entry, point in points.items():
        setting = tuple(other.label(getattr(entry, other.field)) for other in other_axes)
        value = point.cap_w if axis.name == CAP.name else getattr(entry, axis.field)
        hills.setdefault(setting, {})[axis.label(value)] = point
    for setting, hill in hills.items():
        if len(hill) < MIN_POINTS:
            continue
        # As in the sentence on the peak, only a cap that is known to have held can be the best.
        candidates = [
            point
            for point in hill.values()
            if point.comparable
            or (axis.name != CAP.name and point.plausible and point.enforced is None)
        ]
        best = max(candidates, key=lambda point: point.items_per_joule, default=None)
        console.print(f"{', '.join((title, *setting))}, {pluralize_item(item)}/J:")
        for line in _draw(hill, best if len(candidates) > 1 else None, console):
            console.print(line, soft_wrap=True)


def _draw(hill: Mapping[str, Point], best: Point | None, console: Console) -> list[Text]:
    """Return one line per point: label, bar and items per J. The bars begin at zero. The bar of a
    cap that was not enforced has another character."""
    plain = not console.is_terminal or console.options.ascii_only
    full, unenforced = ("#", ".") if plain else ("█", "░")
    labels = [f"({label})" if p.enforced is False else label for label, p in hill.items()]
    values = [f"{point.items_per_joule:.4g}" for point in hill.values()]
    label_width, value_width = max(map(len, labels)), max(map(len, values))
    frame = label_width + value_width + len(MAXIMUM) + 4
    bar_width = max(1, min(WIDTH, console.width) - frame)
    highest = max(point.items_per_joule for point in hill.values())
    lines = []
    for label, value, point in zip(labels, values, hill.values(), strict=True):
        length, eighths = divmod(round(8 * bar_width * point.items_per_joule / highest), 8)
        if point.enforced is False:
            bar = unenforced * length
        else:
            bar = full * length + ("" if plain else EIGHTHS[eighths].strip())
        line = Text(f"{label:>{label_width}}  ")
        line.append(f"{bar:<{bar_width}}", "green" if point is best else "")
        line.append(f"  {value:>{value_width}}{MAXIMUM if point is best else ''}")
        lines.append(line)
    return lines
