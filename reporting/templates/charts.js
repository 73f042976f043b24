// Draws a chart again, interactive, when it is scrolled to. The static picture stays where that fails, on paper, and without scripts.
"use strict";
(() => {
  const config = CHART_CONFIG;
  const { specs, shared } = JSON.parse(document.getElementById("charts").textContent);

  // The inverse of charts/compact.py: what several specs have in common is stored once.
  function whole(value) {
    if (Array.isArray(value)) return value.map(whole);
    if (value === null || typeof value !== "object") return value;
    if ("$" in value) return whole(shared[value.$]);
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, whole(inner)]));
  }

  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  // The row under the pointer, in the words and figures of its table.
  function tooltip(table, row) {
    const { text, interval } = window.wattmark;
    const lines = table.columns
      .filter((column) => !column.hidden && text(column, row) !== "")
      .map((column) => {
        const unit = column.unit ? ` ${column.unit}` : "";
        const between = interval(column, row);
        return `<tr><th>${escaped(column.title)}</th><td>${escaped(text(column, row) + unit)}${between ? `<br>${escaped(between)}` : ""}</td></tr>`;
      });
    const why = [row.doubt, row.implausible].filter(Boolean).map((reason) => `<p>${escaped(reason)}</p>`);
    return `<table>${lines.join("")}</table>${why.join("")}`;
  }

  // The switch for the power of the node is kept in the address, and restored from it.
  function keepSwitch(view, key) {
    const { chosen, choose, panels } = window.wattmark;
    const restore = () => view.signal("node", chosen.has(key)).run();
    panels.push({ restore });
    restore();
    view.addSignalListener("node", (_, on) => choose(key, on ? "1" : ""));
  }

  async function draw(figure) {
    if (!specs[figure.id]) return;
    const spec = whole(specs[figure.id]);
    const id = figure.dataset.table;
    figure.dataset.drawn = "begun";
    const plot = figure.querySelector(".plot");
    const still = plot.firstElementChild;
    const live = document.createElement("div");
    live.className = "live";
    plot.append(live);
    try {
      const datasets = { ...spec.datasets, [id]: window.wattmark.objects(id) };
      const { view } = await window.vegaEmbed(live, { ...spec, datasets }, {
        config,
        ast: true,
        actions: false,
        renderer: "svg",
        tooltip: { disableDefaultStyle: true, formatTooltip: (row) => tooltip(window.wattmark.tables[id], row) },
      });
      if (spec.params?.some((param) => param.name === "node")) keepSwitch(view, `${figure.id}.node`);
      still.remove();
      figure.dataset.drawn = "yes";
    } catch (error) {
      live.remove();
      figure.dataset.drawn = "failed";
      console.error(`${figure.id}: ${error.message}`);
    }
  }

  const near = new IntersectionObserver((seen) => {
    for (const entry of seen) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "200px" });
  for (const figure of document.querySelectorAll("figure.chart")) near.observe(figure);
})();
