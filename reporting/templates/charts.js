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

  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  // The row behind a mark as [title, value, interval] of each column, formatted as in its table.
  function describeRow(table, row) {
    const { text, interval } = window.wattmark;
    return table.columns
      .filter((column) => !column.hidden && text(column, row) !== "")
      .map((column) => [column.title, text(column, row) + (column.unit ? ` ${column.unit}` : ""), interval(column, row)]);
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

  // Keeps what the reader selects in a chart in the address, and restores it from there.
  function keepSelections(view, spec, figure) {
    const { chosen, choose, panels } = window.wattmark;
    for (const { name, value, bind } of spec.params ?? []) {
      if (!bind) continue;
      const key = `${figure.id}.${name}`;
      const isKnown = (selected) => (bind.options ?? ["1"]).includes(selected);
      const read = (selected) => (value === false ? true : selected);
      const restore = () => view.signal(name, isKnown(chosen.get(key)) ? read(chosen.get(key)) : value).run();
      panels.push({ restore });
      restore();
      view.addSignalListener(name, (_, current) => choose(key, current === value ? "" : current === true ? "1" : current));
    }
  }

  function create(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  // The drawn rows of a chart, each once, in the order of the table.
  function listDrawnRows({ id, live }) {
    const numbers = new Set(listMarks(live).map((mark) => mark.__data__.tooltip.row_number));
    return window.wattmark.objects(id).filter((_, n) => numbers.has(n));
  }

  // A table of the drawn rows with the columns that the chart draws.
  function createTable(chart) {
    const { tables, text, interval } = window.wattmark;
    const words = new Set(JSON.stringify(chart.spec).match(/\w+/g));
    const columns = tables[chart.id].columns.filter(({ key, hidden, form }) => key !== "line" && words.has(key) && (!hidden || form !== "text"));
    const head = create("tr", {}, ...["result", ...columns.map((column) => column.title + (column.unit ? `, ${column.unit}` : "")), "note"]
      .map((title) => create("th", { scope: "col" }, title)));
    const lines = listDrawnRows(chart).map((row) => create("tr", {},
      create("th", { scope: "row" }, row.line ?? row.name ?? ""),
      ...columns.map((column) => create("td", {}, [text(column, row), interval(column, row)].filter(Boolean).join("; "))),
      create("td", {}, listReasons(row).join(" "))));
    return create("table", {}, create("thead", {}, head), create("tbody", {}, ...lines));
  }

  const saveText = (chart, end, type, content) => window.wattmark.save(`${chart.figure.id}.${end}`, type, content);

  async function saveSvg(chart) {
    saveText(chart, "svg", "image/svg+xml", (await chart.view.toSVG()).replaceAll("currentColor", "#000"));
  }

  // In twice the size of the screen, on white.
  async function savePng(chart) {
    const picture = await chart.view.toCanvas(2);
    const canvas = Object.assign(document.createElement("canvas"), { width: picture.width, height: picture.height });
    const context = canvas.getContext("2d");
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(picture, 0, 0);
    canvas.toBlob((content) => saveText(chart, "png", "image/png", content));
  }

  function saveCsv(chart) {
    const { keys } = window.wattmark.tables[chart.id];
    saveText(chart, "csv", "text/csv", window.wattmark.writeCsv(keys, listDrawnRows(chart).map((row) => keys.map((key) => row[key]))));
  }

  // Opens the print dialogue with this figure alone, on a page of its size. The browser then writes vectors.
  function printFigure({ figure, live }) {
    const { width } = live.getBoundingClientRect();
    const alone = create("div", { id: "figure-alone", style: `width: ${Math.ceil(width)}px` });
    alone.append(...[figure.querySelector("h3, h4"), live.querySelector("svg"), figure.querySelector("figcaption")].filter(Boolean).map((part) => part.cloneNode(true)));
    document.body.append(alone);
    const size = create("style", {}, `@page { size: ${Math.ceil(width) + 32}px ${Math.ceil(alone.getBoundingClientRect().height) + 32}px; margin: 0; }`);
    document.head.append(size);
    document.body.classList.add("prints-figure");
    addEventListener("afterprint", () => {
      document.body.classList.remove("prints-figure");
      alone.remove();
      size.remove();
    }, { once: true });
    print();
  }

  // Adds the tabs Chart, Table and Download to a figure.
  function addViews(chart) {
    const { figure } = chart;
    const plot = figure.querySelector(".plot");
    const rows = create("div", { class: "scroll rows", tabindex: "0", "aria-label": "drawn rows" });
    const saves = create("div", { class: "saves" });
    for (const [name, act] of [["SVG", saveSvg], ["PNG", savePng], ["PDF (print)", printFigure], ["CSV", saveCsv]]) {
      const button = create("button", { type: "button" }, name);
      button.addEventListener("click", () => act(chart));
      saves.append(button);
    }
    const views = [["Chart", plot], ["Table", create("div", { role: "tabpanel", hidden: "" }, rows)], ["Download", create("div", { role: "tabpanel", hidden: "" }, saves)]];
    const tabs = views.map(([name], n) => create("button", { type: "button", role: "tab", "aria-selected": String(!n), tabindex: n ? "-1" : "0" }, name));
    function select(selected) {
      views.forEach(([, panel], n) => {
        panel.hidden = n !== selected;
        tabs[n].setAttribute("aria-selected", String(n === selected));
        tabs[n].tabIndex = n === selected ? 0 : -1;
      });
      chart.updateTable();
    }
    chart.updateTable = () => rows.replaceChildren(...(views[1][1].hidden ? [] : [createTable(chart)]));
    const list = create("div", { class: "views", role: "tablist", "aria-label": `views of ${figure.querySelector("h3, h4")?.textContent ?? figure.id}` }, ...tabs);
    list.addEventListener("click", ({ target }) => tabs.includes(target) && select(tabs.indexOf(target)));
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = (tabs.indexOf(event.target) + step + tabs.length) % tabs.length;
      select(next);
      tabs[next].focus();
    });
    plot.before(list);
    plot.after(views[1][1], views[2][1]);
  }

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

  // Draws a chart again, with the rows that the reader now sees.
  async function redraw(chart) {
    const rows = selectRows(chart.id);
    chart.shown = numberRows(rows);
    await chart.view.data(chart.id, rows).runAsync();
    labelMarks(chart.live, window.wattmark.tables[chart.id]);
    chart.updateTable();
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
      const [vegaEmbed, specs] = await Promise.all([loadVega(), loadSpecs()]);
      const spec = specs[figure.id];
      const rows = selectRows(id);
      const drawnRows = JSON.stringify(rows); // Vega adds fields to its rows
      const { view } = await vegaEmbed(live, { ...spec, datasets: { ...spec.datasets, [id]: rows } }, {
        config,
        ast: true,
        actions: false,
        renderer: "svg",
        tooltip: (_, event, __, row) => showTooltip(table, event, row),
      });
      keepSelections(view, spec, figure);
      labelMarks(live, table);
      new MutationObserver(() => removeRoles(live)).observe(live, { subtree: true, attributeFilter: ["role"] });
      enableKeyboardAndTouch(live);
      const chart = { figure, id, view, live, spec, shown: numberRows(rows), updateTable() {} };
      // The small hills repeat charts of the sections below, which have these views.
      if (!figure.id.endsWith("-hill-small")) addViews(chart);
      charts.set(figure, chart);
      (window.wattmark.redraws[id] ??= []).push(() => redraw(chart));
      // The reader may have changed a choice while Vega drew.
      if (JSON.stringify(selectRows(id)) !== drawnRows) await redraw(chart);
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
  const observe = (container) => { for (const figure of container.querySelectorAll("figure.chart:not([data-drawn])")) observer.observe(figure); };
  document.addEventListener("wattmark:unfold", ({ detail }) => observe(detail));
})();
