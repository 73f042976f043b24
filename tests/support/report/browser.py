"""What the tests of the page in a browser read from it and do in it."""

from typing import Any

TIMEOUT_MS = 180_000
"""Where two cores run several tests, a click that draws charts takes up to half a minute."""
CHOICES = (
    ("board", "model", "H100"),
    ("precision", "precision", "tf32"),
    ("precision", "precision", "fp8"),
    ("variant", "variant", "baseline"),
    ("standing", "standing", "open"),
    ("provenance", "provenance", "published"),
    ("cap", "cap_w", "400"),
    ("batch", "batch", "64"),
    ("accelerators", "count", "2"),
)
"""Choices of the control bar that leave results of submissions/: label, column and value."""
RATE, JOULES = "items_per_s_per_accelerator", "joules_per_item"


def open_address(page: Any, address: str) -> None:
    """Open the address of a report in a page of the browser, and wait for its script."""
    page.goto(address, timeout=TIMEOUT_MS)
    wait_for_script(page)


def wait_for_script(page: Any) -> None:
    """Wait until the script of the page has read the tables."""
    page.wait_for_function("() => window.wattmark", timeout=TIMEOUT_MS)


def download(page: Any, button: Any) -> Any:
    """Press a button by keyboard and return the download. A chart that is drawn while the mouse
    button is down can move the page, so that the browser sends no click."""
    with page.expect_download() as saved:
        button.press("Enter")
    return saved.value


def read_address(page: Any) -> str:
    """The address that the page now has. `page.url` follows it late on a busy machine."""
    address: str = page.evaluate("() => location.href")
    return address


def read_rows(page: Any, id: str) -> list[dict[str, Any]]:
    """The rows of a table as the page now has them."""
    rows: list[dict[str, Any]] = page.evaluate("id => window.wattmark.objects(id)", id)
    return rows


def draw_figure(page: Any, id: str) -> Any:
    """The figure of that id once its chart has been drawn."""
    figure = page.locator(f"figure#{id}")
    figure.scroll_into_view_if_needed()
    page.wait_for_function("figure => figure.dataset.drawn === 'yes'", arg=figure.element_handle())
    return figure


def open_table(page: Any, id: str) -> None:
    """Unfold the table of that id with all of its columns."""
    page.evaluate(
        """id => {
          const place = document.getElementById(id);
          const details = place.matches("details") ? place : place.querySelector("details.more");
          if (!details) return;
          details.open = true;
          wattmark.unfold(details);
        }""",
        id,
    )


def read_column(page: Any, id: str, title: str) -> list[str]:
    """The visible cells of a column. Unfolds its table."""
    open_table(page, id)
    found: list[str] = page.evaluate(
        """([id, key]) => {
          const table = document.querySelector(`table[data-table="${id}"]`);
          const n = [...table.tHead.rows[0].cells].findIndex((head) => head.dataset.key === key);
          return [...table.tBodies[0].rows].filter((row) => !row.hidden)
            .map((row) => row.cells[n].textContent);
        }""",
        [id, title],
    )
    return found


def choose(page: Any, label: str, value: str) -> None:
    """Choose a value in the control bar."""
    page.get_by_label(label, exact=True).select_option(value)


def read_count(page: Any) -> str:
    """How many results the control bar leaves."""
    return str(page.locator("#control-bar output").text_content())
