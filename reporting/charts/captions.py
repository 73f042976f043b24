"""Captions and alternative texts that several charts share."""

from reporting.charts.style import Data

HOLLOW = "Hollow points off the line: the cap is not known to have held."
WITHHELD = "Hollow points on a line: the result is not compared; the table gives the reason."
CROSSED = (
    "Crossed hollow points: the figure is above the peak of the board; the table gives the reason."
)
PUBLISHED = "Faint points on dashed lines: published figures."


def explain_marks(data: Data) -> str:
    """The meaning of those marks that occur in the rows."""
    notes = (
        (HOLLOW, any(row["doubt"] for row in data)),
        (WITHHELD, any(row.get("withheld") for row in data)),
        (CROSSED, any(row["implausible"] for row in data)),
        (PUBLISHED, any(row["standing"] == "published" for row in data)),
    )
    return " ".join(text for text, applies in notes if applies)


def count_points(data: Data) -> str:
    lines = len({row["line"] for row in data})
    return (
        f"{len(data)} points on {lines} line{'s' if lines > 1 else ''}. The table has the same "
        "values."
    )
