  // What the reader selects in a chart, and the tabs Chart, Table and Download of its figure.
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
      view.addSignalListener(name, (_, current) => {
        choose(key, current === value ? "" : current === true ? "1" : current);
        // The title states a finding on what the chart shows at first.
        figure.toggleAttribute("data-reader-selected", current !== value);
        document.dispatchEvent(new CustomEvent("wattmark:select", { detail: figure }));
      });
      restore();
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

  // The columns behind fields that a chart computes.
  const COMPUTED = { efficiency: ["items_per_joule", "node_items_per_joule_assumed"] };

  // Round numbers between the ends of a logarithmic axis, as _list_log_ticks in reporting/charts/style.py.
  function listLogTicks(low, high) {
    const ticks = [];
    const steps = high / low > 3e4 ? [1] : [1, 2, 3, 5, 7];
    for (let d = Math.floor(Math.log10(low)); d <= Math.ceil(Math.log10(high)); d++) ticks.push(...steps.map((m) => m * 10 ** d).filter((tick) => tick >= low && tick <= high));
    if (ticks.length >= 3) return ticks;
    const unit = 10 ** Math.floor(Math.log10((high - low) / 3));
    const step = Math.max(...[1, 2, 5].map((m) => m * unit).filter((size) => size * 3 <= high - low));
    return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, n) => (Math.ceil(low / step) + n) * step);
  }

  // The channels of a spec on one axis that has a domain and need not begin at zero.
  function listChannels(part, name) {
    if (!part || typeof part !== "object") return [];
    return Object.entries(part).flatMap(([key, value]) => (key === name && value?.field
      ? value.scale?.domain?.every?.(Number.isFinite) && (value.scale.type === "log" || value.scale.zero === false) ? [value] : []
      : listChannels(value, name)));
  }

  // The spec with axes that end a little beyond the rows, as make_log_axis and make_linear_axis in reporting/charts/style.py. All layers
  // share an axis.
  function fitAxes(spec, rows) {
    const fitted = structuredClone(spec);
    for (const name of ["x", "y"]) {
      const channels = listChannels(fitted, name);
      const keys = new Set(channels.flatMap(({ field }) => COMPUTED[field] ?? [field, `${field}_low`, `${field}_high`]));
      const values = rows.flatMap((row) => [...keys].map((key) => row[key])).filter(Number.isFinite);
      if (!values.length) continue;
      const [least, most] = [Math.min(...values), Math.max(...values)];
      const margin = 0.06 * (most - least || Math.abs(most) || 1);
      for (const { scale, axis } of channels) {
        scale.domain = scale.type === "log" ? [least / 1.25, most * 1.25] : [least - margin, most + margin];
        if (axis?.values) axis.values = listLogTicks(...scale.domain);
      }
    }
    return fitted;
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
    const table = create("table", {}, create("thead", {}, head), create("tbody", {}, ...lines));
    window.wattmark.labelCells(table);
    return table;
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

  function printFigure({ figure, live }) {
    const parts = [figure.querySelector("h3, h4"), live.querySelector("svg"), figure.querySelector("figcaption")];
    window.wattmark.printAlone(parts, live.getBoundingClientRect().width);
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
