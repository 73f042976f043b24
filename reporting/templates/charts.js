// Replaces the static picture of a chart by an interactive one when the reader scrolls to it. The static picture stays if that fails,
// in print, and without JavaScript.
"use strict";
(() => {
  const config = CHART_CONFIG;
  const { specs, shared } = JSON.parse(document.getElementById("charts").textContent);

  // The inverse of share_spec_values in page_data.py: a value that several specs share is stored once.
  function expand(value) {
    if (Array.isArray(value)) return value.map(expand);
    if (value === null || typeof value !== "object") return value;
    if ("$" in value) return expand(shared[value.$]);
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, expand(inner)]));
  }

  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  // The row behind a mark as [title, value, interval] of each column, formatted as in its table.
  function describeRow(table, row) {
    const { text, interval } = window.wattmark;
    return table.columns
      .filter((column) => !column.hidden && text(column, row) !== "")
      .map((column) => [column.title, text(column, row) + (column.unit ? ` ${column.unit}` : ""), interval(column, row)]);
  }

  function tooltip(table, row) {
    const lines = describeRow(table, row).map(([title, ...values]) => {
      const cell = values.filter(Boolean).map(escaped).join("<br>");
      return `<tr><th>${escaped(title)}</th><td>${cell}</td></tr>`;
    });
    const reasons = [row.doubt, row.implausible, row.withheld].filter(Boolean).map((reason) => `<p>${escaped(reason)}</p>`);
    return `<table>${lines.join("")}</table>${reasons.join("")}`;
  }

  // Tab reaches one mark of each chart, the arrow keys reach the others. A mark with the focus shows its tooltip.
  // Vega shows a tooltip at pointermove and hides it at mouseout.
  function enableKeyboard(live, table) {
    live.parentElement.setAttribute("role", "group"); // it is no longer a single image
    for (const part of live.querySelectorAll("[role^=graphics]")) part.removeAttribute("role"); // they have no accessible names
    const marks = [...live.querySelectorAll("path")].filter((mark) => mark.__data__?.tooltip);
    const point = (mark, type) => {
      const { x, y, width, height } = mark.getBoundingClientRect();
      mark.dispatchEvent(new PointerEvent(type, { bubbles: true, clientX: x + width / 2, clientY: y + height / 2 }));
    };
    marks.forEach((mark, n) => {
      mark.tabIndex = n ? -1 : 0;
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", describeRow(table, mark.__data__.tooltip).map((line) => line.filter(Boolean).join(" ")).join("; "));
      mark.addEventListener("focus", () => point(mark, "pointermove"));
      mark.addEventListener("blur", () => point(mark, "mouseout"));
      mark.addEventListener("keydown", (event) => {
        if (event.key === "Escape") point(mark, "mouseout");
        const next = marks[n + ({ ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key] ?? 0)];
        if (!next || next === mark) return;
        event.preventDefault();
        mark.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      });
    });
  }

  // Keeps the switch for node power in the address and restores it from there.
  function keepSwitch(view, key) {
    const { chosen, choose, panels } = window.wattmark;
    const restore = () => view.signal("node", chosen.has(key)).run();
    panels.push({ restore });
    restore();
    view.addSignalListener("node", (_, on) => choose(key, on ? "1" : ""));
  }

  // Adds the libraries to the page when the first chart is drawn. They are embedded compressed (zlib), and the policy of the page
  // names the hash of their text.
  let vega = null;
  function loadVega() {
    vega ??= (async () => {
      const bytes = Uint8Array.from(atob(document.getElementById("vega").textContent), (c) => c.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      const script = document.createElement("script");
      script.textContent = await new Response(stream).text();
      document.head.append(script);
      return window.vegaEmbed;
    })();
    return vega;
  }

  // The rows of a table that the reader sees, as copies without Vega's own symbol: it takes rows that have the symbol for unchanged.
  // Labels refer to rows by their number in the whole table (ROW_NUMBER in style.py).
  function rowsOf(id) {
    const { objects, visible } = window.wattmark;
    const shown = visible && new Set(visible(id));
    return objects(id).flatMap((row, n) => (!shown || shown.has(row) ? [Object.fromEntries([...Object.entries(row), ["row_number", n]])] : []));
  }

  const redrawOf = new Map(); // for each drawn figure, the function that draws it again

  async function draw(figure) {
    if (!specs[figure.id]) return;
    const spec = expand(specs[figure.id]);
    const id = figure.dataset.table;
    figure.dataset.drawn = "begun";
    const plot = figure.querySelector(".plot");
    const staticPicture = plot.firstElementChild;
    const live = document.createElement("div");
    live.className = "live";
    plot.append(live);
    try {
      const datasets = { ...spec.datasets, [id]: rowsOf(id) };
      const vegaEmbed = await loadVega();
      const { view } = await vegaEmbed(live, { ...spec, datasets }, {
        config,
        ast: true,
        actions: false,
        renderer: "svg",
        tooltip: { disableDefaultStyle: true, formatTooltip: (row) => tooltip(window.wattmark.tables[id], row) },
      });
      if (spec.params?.some((param) => param.name === "node")) keepSwitch(view, `${figure.id}.node`);
      const redraw = async () => {
        await view.data(id, rowsOf(id)).runAsync();
        enableKeyboard(live, window.wattmark.tables[id]);
      };
      redrawOf.set(figure, redraw);
      (window.wattmark.redraws[id] ??= []).push(redraw);
      enableKeyboard(live, window.wattmark.tables[id]);
      staticPicture.remove();
      figure.dataset.drawn = "yes";
    } catch (error) {
      live.remove();
      figure.dataset.drawn = "failed";
      console.error(`${figure.id}: ${error.message}`);
    }
  }

  // Charts are drawn when they come near the screen, and drawn again there after a choice in the control bar.
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      if (redrawOf.has(target)) redrawOf.get(target)();
      else draw(target);
    }
  }, { rootMargin: "200px" });
  document.addEventListener("wattmark:filter", () => {
    for (const figure of redrawOf.keys()) observer.observe(figure);
  });
  const observe = (container) => { for (const figure of container.querySelectorAll("figure.chart:not([data-drawn])")) observer.observe(figure); };
  observe(document);
  document.addEventListener("wattmark:unfold", ({ detail }) => observe(detail));
})();
