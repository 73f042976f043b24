"""Access to the page: labels and contrast of all charts, targets, headings, roles, the Tab key from
the first stop, and touch."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import CHROMIUM, QUIET, find_chromium, open_page
from support.report.browser import TIMEOUT_MS, draw_figure, read_rows

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")
pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once

LEAST_CONTRAST = 3
"""Of graphics and large text (WCAG 2.2, section 1.4.11)."""
LEAST_TARGET_PX = 23.9


@pytest.fixture(scope="module")
def drawn_page(browser: Any, whole_report: Path) -> Iterator[Any]:
    """The page with all parts unfolded and all charts drawn. Tables keep two rows, because their
    rows are alike."""
    with open_page(browser, whole_report / "report.html") as page:
        page.evaluate("""() => {
          const isClosed = (details) => !details.open;
          for (;;) { // unfolded parts have folded parts
            const closed = [...document.querySelectorAll("details")].filter(isClosed);
            if (!closed.length) break;
            for (const details of closed) {
              details.open = true;
              wattmark.unfold(details);
            }
          }
          for (const row of document.querySelectorAll("tbody tr:nth-child(n + 3)")) row.remove();
        }""")
        page.evaluate("""async () => {
          for (const figure of document.querySelectorAll("figure.chart")) {
            figure.scrollIntoView();
            while (figure.dataset.drawn !== "yes") await new Promise(requestAnimationFrame);
          }
        }""")
        yield page


def set_width(page: Any, width: int) -> None:
    """Set the width, and wait until the charts have it."""
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function("""() => [...document.querySelectorAll("figure.chart .live")]
      .every((live) => Math.abs(live.clientWidth - live.querySelector("svg").clientWidth) < 9)""")


def test_labels_of_all_charts_overlap_no_label_no_point_and_no_bar(drawn_page: Any) -> None:
    for width in (1440, 390):
        set_width(drawn_page, width)
        charts = drawn_page.evaluate(_FIND_OVERLAPS)
        assert len(charts) == drawn_page.locator("figure.chart").count() > 40
        labels = sum(chart["labels"] for chart in charts)
        assert labels > 500
        assert [pair for chart in charts for pair in chart["overlaps"]] == [], f"at {width} px"
        # A crowded point has no place off all lines.
        crossed = [label for chart in charts for label in chart["crossed"]]
        assert len(crossed) < 0.04 * labels, f"at {width} px"
        assert [label for label in crossed if not label["isReadable"]] == []


MAX_LABEL_PX = 8
"""Farther from its mark, a label needs a leader."""


def test_labels_of_the_small_charts_are_beside_their_marks_or_have_a_leader(
    drawn_page: Any,
) -> None:
    for width in (1440, 390):
        set_width(drawn_page, width)
        labels = drawn_page.evaluate(_MEASURE_LABELS)
        names = {label["name"] for label in labels}
        for id in drawn_page.evaluate(_RESULT_IDS):
            rows = read_rows(drawn_page, id)
            has_measured = any(row["standing"] != "published" for row in rows)
            peaks = [
                row
                for row in rows
                if row["peak"] and not (has_measured and row["standing"] == "published")
            ]
            chart = id.replace("-results", "-hill-small")
            for row in peaks:
                assert f"{chart}: {row['model']} \u00b7 {row['cap_w']}" in names
        far = [label for label in labels if label["distance"] > MAX_LABEL_PX]
        assert [label for label in far if not label["leader"]] == [], f"at {width} px"
        for label in labels:
            if label["leader"]:
                assert max(label["leader"]) <= 5, "from the mark to the label"


_RESULT_IDS = "Object.keys(wattmark.tables).filter((id) => id.endsWith('-results'))"

# The distance of each label from the edge of its mark, and those of the ends of its leader from the
# mark and the label.
_MEASURE_LABELS = """() => [...document.querySelectorAll("figure[id$='-hill-small']")]
.flatMap((figure) => {
  const list = (parts) => [...figure.querySelectorAll(`.live .role-mark${parts}`)];
  const readRow = (node) => node.__data__.datum.row_number;
  const isShown = (node) => node.getAttribute("opacity") !== "0" && node.textContent.trim();
  const separate = (first, second) => Math.hypot(
    Math.max(0, first.left - second.right, second.left - first.right),
    Math.max(0, first.top - second.bottom, second.top - first.bottom));
  const box = (node) => node.getBoundingClientRect();
  const marks = new Map(list(".mark-symbol path[aria-label]")
    .map((mark) => [readRow(mark), box(mark)]));
  const leaders = new Map(list(".mark-rule line").map((line) => [readRow(line), box(line)]));
  return list(".mark-text text").filter(isShown).map((node) => {
    // Letters leave a fifth of the box of their line free, above and below.
    const { left, right, top, bottom, height } = box(node);
    const letters = { left, right, top: top + height / 5, bottom: bottom - height / 5 };
    const mark = marks.get(readRow(node));
    const leader = leaders.get(readRow(node));
    return { name: `${figure.id}: ${node.textContent}`, distance: separate(letters, mark),
      leader: leader ? [separate(leader, mark), separate(leader, letters)] : null };
  });
})"""

# Letters leave a fifth of the boxes of their lines free, above and below.
_FIND_OVERLAPS = """() => {
// The labels that a line crosses, and whether they are in front of it with an edge of the colour of
// the card.
const findCrossed = (figure, labels) => {
  const lines = [...figure.querySelectorAll(".live .role-mark.mark-line path")];
  const steps = lines.flatMap((line) => {
    const toScreen = line.getScreenCTM();
    const count = Math.ceil(line.getTotalLength() / 3);
    return Array.from({ length: count }, (_, n) => {
      const { x, y } = line.getPointAtLength(n * 3).matrixTransform(toScreen);
      return { x, y, line };
    });
  });
  const card = getComputedStyle(figure).backgroundColor;
  return labels.flatMap(({ left, right, top, bottom, text, node }) => {
    const step = steps.find(({ x, y }) => left < x && x < right && top < y && y < bottom);
    if (!step) return [];
    const { stroke, paintOrder } = getComputedStyle(node);
    const isBehind = step.line.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_PRECEDING;
    const isReadable = !isBehind && stroke === card && paintOrder.startsWith("stroke");
    return [{ label: `${figure.id}: ${text}`, isReadable }];
  });
};
return [...document.querySelectorAll("figure.chart")].map((figure) => {
  const box = (node, cut) => {
    const { left, right, top, bottom, height } = node.getBoundingClientRect();
    return { left, right, top: top + height * cut, bottom: bottom - height * cut,
      text: node.textContent || "mark", node };
  };
  const overlap = (first, second) =>
    Math.min(first.right, second.right) - Math.max(first.left, second.left) > .5 &&
    Math.min(first.bottom, second.bottom) - Math.max(first.top, second.top) > .5;
  const isShown = (node) => node.getAttribute("opacity") !== "0" && node.textContent.trim()
    && node.textContent !== "simulated"; // behind the marks
  const labels = [...figure.querySelectorAll(".live svg text")].filter(isShown)
    .map((node) => box(node, .2));
  // Fainter bars are bands behind marks.
  const isBar = (node) => Number(node.getAttribute("opacity") ?? 1) > .2;
  // Invisible points only show tooltips.
  const isDrawn = (node) => node.getAttribute("opacity") !== "0";
  const symbols = [...figure.querySelectorAll(".live .role-mark.mark-symbol path[aria-label]")];
  const points = [...symbols.filter(isDrawn),
    ...[...figure.querySelectorAll(".live .role-mark:is(.mark-rect, .mark-rule) *")].filter(isBar)]
    .map((node) => box(node, 0));
  const overlaps = labels.flatMap((label, n) => [...labels.slice(0, n), ...points]
    .filter((other) => overlap(label, other))
    .map((other) => `${figure.id}: ${label.text} on ${other.text}`));
  return { labels: labels.length, overlaps, crossed: findCrossed(figure, labels) };
});
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_of_all_charts_stand_out_from_their_card(drawn_page: Any, theme: str) -> None:
    drawn_page.emulate_media(color_scheme=theme)
    marks = drawn_page.evaluate(_LIST_CONTRASTS)
    assert len({mark["figure"] for mark in marks}) > 40
    faint = {
        f"{mark['figure']} {mark['kind']} {mark['contrast']:.2f}"
        for mark in marks
        if mark["contrast"] < LEAST_CONTRAST
    }
    assert faint == set()


# The higher contrast of fill and stroke of each mark, with its opacity and those of its groups.
# Areas and bars fainter than 0.2 are bands behind marks.
_LIST_CONTRASTS = """() => {
  const read = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (parts) => {
    const [red, green, blue] = parts.map((part) => part / 255)
      .map((part) => (part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4));
    return .2126 * red + .7152 * green + .0722 * blue;
  };
  const compare = (first, second) => {
    const [low, high] = [light(first), light(second)].sort((a, b) => a - b);
    return (high + .05) / (low + .05);
  };
  return [...document.querySelectorAll("figure.chart")].flatMap((figure) => {
    const card = read(getComputedStyle(figure).backgroundColor);
    const marks = figure.querySelectorAll(".live .role-mark :is(path, line, rect, text)");
    return [...marks].flatMap((mark) => {
      const style = getComputedStyle(mark);
      let opacity = Number(style.opacity);
      for (let node = mark.parentNode; node !== figure; node = node.parentNode) {
        opacity *= Number(getComputedStyle(node).opacity);
      }
      const paints = [[style.fill, style.fillOpacity]];
      if (mark.tagName !== "text") paints.push([style.stroke, style.strokeOpacity]); // its edge
      const contrasts = paints.filter(([colour]) => colour !== "none").map(([colour, share]) => {
        const alpha = opacity * Number(share) * (read(colour)[3] ?? 1);
        const mixed = card.slice(0, 3).map((p, n) => alpha * read(colour)[n] + (1 - alpha) * p);
        return alpha < .2 ? null : compare(mixed, card);
      }).filter((contrast) => contrast !== null);
      const kind = mark.closest(".role-mark").getAttribute("class");
      return contrasts.length
        ? [{ figure: figure.id, kind, contrast: Math.max(...contrasts) }] : [];
    });
  });
}"""


def test_targets_are_large_enough_for_a_finger_on_a_phone(drawn_page: Any) -> None:
    set_width(drawn_page, 390)
    small = drawn_page.evaluate(
        """least => [...document.querySelectorAll("button, select, input, summary, a")]
          // Links in a sentence are as high as its lines.
          .filter((node) => node.tagName !== "A" || !node.closest("p, li, dd, figcaption, small"))
          .map((node) => node.closest("label") ?? node)
          .filter((node) => node.checkVisibility({ visibilityProperty: true }))
          .filter((node) => {
            const { width, height } = node.getBoundingClientRect();
            return Math.min(width, height) < least;
          })
          .map((node) => node.outerHTML.slice(0, 90))""",
        LEAST_TARGET_PX,
    )
    assert small == []


def test_headings_skip_no_level(drawn_page: Any) -> None:
    levels = drawn_page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((h) => Number(h.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1 and len(levels) > 60
    assert all(level <= above + 1 for above, level in pairwise(levels))


def test_each_chart_is_one_stop_of_the_tab_key_and_each_of_its_marks_has_a_label(
    drawn_page: Any,
) -> None:
    charts = drawn_page.evaluate("""() => [...document.querySelectorAll("figure.chart .live")]
      .map((live) => ({
        id: live.closest("figure").id,
        marks: [...live.querySelectorAll("path")].filter((mark) => mark.__data__?.tooltip).length,
        labels: live.querySelectorAll("path[role=img][aria-label*=' ']").length,
        stops: live.querySelectorAll("[tabindex='0']").length,
      }))""")
    assert len(charts) > 40
    assert [c for c in charts if not (c["labels"] == c["marks"] > 0 and c["stops"] == 1)] == []


def test_groups_of_a_chart_have_no_role_after_a_change_of_the_width(page: Any) -> None:
    figure = draw_figure(page, "resnet50-train-hill-small")
    width_px = figure.locator(".live svg").get_attribute("width")
    page.set_viewport_size({"width": 390, "height": 900})
    sync_api.expect(figure.locator(".live svg")).not_to_have_attribute("width", width_px)
    assert figure.locator(".live [role=img]").count() > 20
    # They have no accessible names, which axe reports as serious (`svg-img-alt`).
    assert figure.locator(".live [role^=graphics]").count() == 0


def test_keyboard_skips_to_the_answer_and_stops_at_visible_elements_only(page: Any) -> None:
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the answer")
    sync_api.expect(skip).to_be_focused()
    sync_api.expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    stops = []
    for _ in range(60):
        page.keyboard.press("Tab")
        stops.append(
            page.evaluate("""() => {
              const node = document.activeElement;
              const { width, height, top, bottom } = node.getBoundingClientRect();
              const isShown = node.checkVisibility({
                visibilityProperty: true, opacityProperty: true,
              });
              const closed = node.closest("details:not([open])");
              return {
                html: node.outerHTML.slice(0, 90),
                place: node.closest("header, nav, form, figure, section")?.tagName,
                isFolded: closed !== null && node.parentNode !== closed,
                isSeen: isShown && width > 0 && height > 0 && bottom > 0 && top < innerHeight,
              };
            }""")
        )
    assert "HEADER" not in {stop["place"] for stop in stops}, "the header is skipped"
    assert {"NAV", "FORM", "FIGURE", "SECTION"} <= {stop["place"] for stop in stops}
    assert [stop for stop in stops if stop["isFolded"] or not stop["isSeen"]] == []


@pytest.fixture
def phone(browser: Any) -> Iterator[Any]:
    """A page on a phone, in a full Chromium. The pointer of chromium-headless-shell moves to the
    corner of the page after each tap."""
    # Only one playwright can run at a time, so this browser is launched by that of `browser`.
    full_chromium = browser.browser_type.launch(
        executable_path=find_chromium(*CHROMIUM), args=QUIET, timeout=300_000
    )
    screen = {"width": 390, "height": 844}
    yield full_chromium.new_context(viewport=screen, has_touch=True, is_mobile=True).new_page()
    full_chromium.close()


def test_tapped_mark_shows_its_tooltip_inside_the_screen_of_a_phone(
    phone: Any, whole_report: Path
) -> None:
    phone.goto((whole_report / "report.html").as_uri(), timeout=TIMEOUT_MS)
    tip = phone.locator("#vg-tooltip-element")
    for kind in ("efficiency", "caps", "saving"):
        figure = draw_figure(phone, f"resnet50-train-results-{kind}")
        marks = figure.locator(".live path[aria-label]")
        for mark in (marks.first, marks.last):
            mark.scroll_into_view_if_needed()
            box = mark.bounding_box()
            phone.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            sync_api.expect(tip).to_be_visible()
            shown = tip.bounding_box()
            assert shown["x"] >= 0 and shown["x"] + shown["width"] <= 390
            assert shown["y"] >= 0 and shown["y"] + shown["height"] <= 844
