  // Tooltips of the marks of charts, by pointer, keyboard and finger.
  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  // The row behind a mark as [title, value, interval] of each column, formatted as in its table.
  function describeRow(table, row) {
    const { text, interval } = window.wattmark;
    return table.columns
      .filter((column) => !column.hidden && text(column, row) !== "")
      .map((column) => [column.title, text(column, row) + (column.unit ? ` ${column.unit}` : ""), interval(column, row), row[column.note_key] ?? ""]);
  }

  const listReasons = (row) => [row.doubt, row.implausible, row.withheld].filter(Boolean);

  function formatTooltip(table, row) {
    const lines = describeRow(table, row).map(([title, ...values]) => {
      const cell = values.filter(Boolean).map(escaped).join("<br>");
      return `<tr><th>${escaped(title)}</th><td>${cell}</td></tr>`;
    });
    return `<table>${lines.join("")}</table>${listReasons(row).map((reason) => `<p>${escaped(reason)}</p>`).join("")}`;
  }

  const tip = document.createElement("div");
  tip.id = "vg-tooltip-element";
  document.body.append(tip);
  document.addEventListener("scroll", () => tip.classList.remove("visible"), { passive: true });

  // Shows the tooltip beside the pointer and inside the screen. Vega calls this without a row to hide it.
  function showTooltip(table, event, row) {
    tip.classList.toggle("visible", Boolean(row));
    if (!row) return;
    tip.innerHTML = formatTooltip(table, row);
    const { width, height } = tip.getBoundingClientRect();
    const place = (pointer, size, end) => Math.max(4, pointer + 12 + size <= end ? pointer + 12 : Math.min(pointer - 12 - size, end - size - 4));
    const { clientWidth, clientHeight } = document.documentElement;
    tip.style.left = `${place(event.clientX, width, clientWidth)}px`;
    tip.style.top = `${place(event.clientY, height, clientHeight)}px`;
  }

  const listMarks = (live) => [...live.querySelectorAll("path")].filter((mark) => mark.__data__?.tooltip);

  // Vega gives roles to groups that have no accessible names, and does so again when the width changes.
  function removeRoles(live) {
    for (const part of live.querySelectorAll("[role^=graphics]")) part.removeAttribute("role");
  }

  // Tab reaches one mark of each chart, the arrow keys reach the others. A mark with the focus shows its tooltip.
  function labelMarks(live, table) {
    removeRoles(live);
    listMarks(live).forEach((mark, n) => {
      mark.tabIndex = n ? -1 : 0;
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", describeRow(table, mark.__data__.tooltip).map((line) => line.filter(Boolean).join(" ")).join("; "));
    });
  }

  const REACH_PX = 24; // a finger reaches a mark from this distance

  function enableKeyboardAndTouch(live) {
    live.parentElement.setAttribute("role", "group"); // it is no longer a single image
    const center = (mark) => {
      const { x, y, width, height } = mark.getBoundingClientRect();
      return { clientX: x + width / 2, clientY: y + height / 2 };
    };
    // Vega shows a tooltip at pointermove and hides it at mouseout.
    const point = (mark, type) => mark.dispatchEvent(new PointerEvent(type, { bubbles: true, ...center(mark) }));
    const isMark = (target) => target.__data__?.tooltip && target.hasAttribute("aria-label");
    live.addEventListener("focusin", ({ target }) => isMark(target) && point(target, "pointermove"));
    live.addEventListener("focusout", ({ target }) => isMark(target) && point(target, "mouseout"));
    live.addEventListener("keydown", (event) => {
      const mark = event.target;
      if (!isMark(mark)) return;
      if (event.key === "Escape") point(mark, "mouseout");
      const marks = listMarks(live);
      const next = marks[marks.indexOf(mark) + ({ ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key] ?? 0)];
      if (!next || next === mark) return;
      event.preventDefault();
      mark.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    live.addEventListener("click", ({ clientX, clientY }) => {
      const distance = (mark) => Math.hypot(center(mark).clientX - clientX, center(mark).clientY - clientY);
      const nearest = listMarks(live).sort((first, second) => distance(first) - distance(second))[0];
      if (nearest && distance(nearest) <= REACH_PX) nearest.focus({ preventScroll: true });
    });
  }
