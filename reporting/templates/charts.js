// Replaces the static picture of a chart by an interactive one when the reader scrolls to it. The static picture stays if that fails,
// in print, and without JavaScript.
"use strict";
(() => {
  const config = CHART_CONFIG;

  // The specs of all charts by the ids of their figures.
  let specsById = null;
  function loadSpecs() {
    specsById ??= window.wattmark.decompress("charts").then(JSON.parse);
    return specsById;
  }

PARTS

  // Adds the libraries to the page when the first chart is drawn. The policy of the page names the hash of their text.
  let vega = null;
  function loadVega() {
    vega ??= window.wattmark.decompress("vega").then((libraries) => {
      document.head.append(create("script", {}, libraries));
      return window.vegaEmbed;
    });
    return vega;
  }

  // The rows of a table that the reader sees, as copies without Vega's own symbol: it takes rows that have the symbol for unchanged.
  // Labels refer to rows by their number in the whole table (ROW_NUMBER in style.py).
  function selectRows(id) {
    const { objects, visible } = window.wattmark;
    const shown = visible && new Set(visible(id));
    return objects(id).flatMap((row, n) => (!shown || shown.has(row) ? [Object.fromEntries([...Object.entries(row), ["row_number", n]])] : []));
  }

  const numberRows = (rows) => rows.map((row) => row.row_number).join();
  const charts = new Map(); // the charts drawn so far, by their figures

  // Draws a chart again, with the rows that the reader now sees and axes that end a little beyond them.
  async function redraw(chart) {
    const rows = selectRows(chart.id);
    chart.shown = numberRows(rows);
    await chart.view.data(chart.id, rows).runAsync();
    const fitted = rows.length === window.wattmark.objects(chart.id).length ? chart.spec : fitAxes(chart.spec, listDrawnRows(chart));
    if (JSON.stringify(fitted) !== JSON.stringify(chart.drawnSpec)) await embed(chart, fitted, rows);
    labelMarks(chart.live, window.wattmark.tables[chart.id]);
    chart.updateTable();
  }

  // Draws the spec of a chart in the place of its view.
  async function embed(chart, spec, rows) {
    const { id, live, figure } = chart;
    chart.view?.finalize();
    const { view } = await (await loadVega())(live, { ...spec, datasets: { ...spec.datasets, [id]: rows } }, {
      config,
      ast: true,
      actions: false,
      renderer: "svg",
      tooltip: (_, event, __, row) => showTooltip(window.wattmark.tables[id], event, row),
    });
    Object.assign(chart, { view, drawnSpec: spec });
    keepSelections(view, spec, figure);
  }

  // Vega takes a container that is as wide as the plot between the axes for one of unchanged width. Another width between the two helps.
  async function fitWidth({ view, live }) {
    await view.runAsync(); // the answer of Vega to the new width
    const width = live.clientWidth;
    if (!width || matchMedia("print").matches || Number(live.querySelector("svg").getAttribute("width")) === width) return;
    await view.width(width + 1).runAsync();
    await view.width(width).runAsync();
  }

  async function draw(figure) {
    const id = figure.dataset.table;
    const table = window.wattmark.tables[id];
    figure.dataset.drawn = "begun";
    const plot = figure.querySelector(".plot");
    const staticPicture = plot.firstElementChild;
    const live = document.createElement("div");
    live.className = "live";
    plot.append(live);
    try {
      const [, specs] = await Promise.all([loadVega(), loadSpecs()]);
      const spec = specs[figure.id];
      const rows = selectRows(id);
      const drawnRows = JSON.stringify(rows); // Vega adds fields to its rows
      const chart = { figure, id, live, spec, shown: numberRows(rows), updateTable() {} };
      await embed(chart, spec, rows);
      labelMarks(live, table);
      new MutationObserver(() => removeRoles(live)).observe(live, { subtree: true, attributeFilter: ["role"] });
      enableKeyboardAndTouch(live);
      // The small hills repeat charts of the sections below, which have these views.
      if (!figure.id.endsWith("-hill-small")) addViews(chart);
      charts.set(figure, chart);
      new ResizeObserver(() => fitWidth(chart)).observe(live);
      (window.wattmark.redraws[id] ??= []).push(() => redraw(chart));
      // The reader may have changed a choice while Vega drew.
      if (JSON.stringify(selectRows(id)) !== drawnRows || rows.length < window.wattmark.objects(id).length) await redraw(chart);
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
      const chart = charts.get(target);
      if (!chart) draw(target);
      else if (chart.shown !== numberRows(selectRows(chart.id))) redraw(chart);
    }
  }, { rootMargin: "200px" });
  document.addEventListener("wattmark:filter", () => {
    for (const figure of charts.keys()) observer.observe(figure);
  });
  // On paper, a chart is half as wide as the text. A narrower chart keeps its letters larger.
  const PRINTED_PX = 500;
  addEventListener("beforeprint", () => {
    for (const { view, live } of charts.values()) if (live.clientWidth > PRINTED_PX) view.width(PRINTED_PX).run();
  });
  addEventListener("afterprint", () => charts.forEach(fitWidth));
  const observe = (container) => { for (const figure of container.querySelectorAll("figure.chart:not([data-drawn])")) observer.observe(figure); };
  document.addEventListener("wattmark:unfold", ({ detail }) => observe(detail));
})();
