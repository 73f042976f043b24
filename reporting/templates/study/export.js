  // The views of a figure, Chart and Table, and its downloads: SVG, PNG, PDF by the print dialogue, and CSV.
  const EXPORTED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-size", "font-weight", "font-family", "text-anchor", "paint-order"];
  const PNG_SCALE = 2;
  const EXPORT_TITLE_PX = 26;
  const TABLE_ROWS = 200; // rows that the table of a figure shows; the CSV has all

  // `read()` gives the rows that are drawn. `columns`: [key, value of a row].
  function addViews(figure, columns, read) {
    const area = figure.querySelector(".plot");
    const tableArea = element("div", { className: "scroll", tabIndex: 0, hidden: true });
    tableArea.setAttribute("role", "region");
    tableArea.setAttribute("aria-label", `${figure.querySelector(".title").textContent}, as a table`);
    area.after(tableArea);
    const title = () => figure.querySelector(".title").textContent;
    const views = ["Chart", "Table"].map((name) => element("button", { type: "button", textContent: name, ariaPressed: String(name === "Chart") }));
    const show = (isTable) => {
      views.forEach((button, n) => { button.ariaPressed = String((n === 1) === isTable); });
      [area.hidden, tableArea.hidden] = [isTable, !isTable];
      if (isTable) tableArea.replaceChildren(buildTable(title(), columns, read()));
    };
    views.forEach((button, n) => button.addEventListener("click", () => show(n === 1)));
    const downloads = {
      SVG: () => save(`${figure.id}.svg`, "image/svg+xml", exportSvg(area, title())),
      PNG: () => exportPng(area, title()).then((blob) => save(`${figure.id}.png`, "image/png", blob)),
      "PDF (print)": () => printAlone([...figure.querySelectorAll(".title, .keys, .plot, figcaption")], area.getBoundingClientRect().width),
      CSV: () => save(`${figure.id}.csv`, "text/csv", writeCsv(columns.map(([key]) => key), read().map((row) => columns.map(([, value]) => value(row) ?? null)))),
    };
    const buttons = Object.entries(downloads).map(([name, action]) => {
      const button = element("button", { type: "button", textContent: name });
      button.setAttribute("aria-label", `download ${title()} as ${name}`);
      button.addEventListener("click", action);
      return button;
    });
    figure.querySelector(".title").after(element("div", { className: "tools views" }, ...views, element("span", { textContent: "Download:" }), ...buttons));
    return () => { if (!tableArea.hidden) show(true); };
  }

  function buildTable(title, columns, rows) {
    const cell = (value) => (value === null || value === undefined || value === "" ? "–" : typeof value === "number" ? formatCell(value) : String(value));
    const head = element("tr", {}, ...columns.map(([key]) => element("th", { scope: "col", textContent: key.replaceAll("_", " ") })));
    const lines = rows.slice(0, TABLE_ROWS).map((row) => element("tr", {}, ...columns.map(([, value], n) => element(n ? "td" : "th", { ...(n ? {} : { scope: "row" }), textContent: cell(value(row)) }))));
    const caption = rows.length > TABLE_ROWS ? `${title}: the first ${TABLE_ROWS} of ${rows.length} rows; the CSV has all` : title;
    const table = element("table", {}, element("caption", { className: rows.length > TABLE_ROWS ? "said" : "", textContent: caption }), element("thead", {}, head), element("tbody", {}, ...lines));
    labelCells(table);
    return table;
  }
  const formatCell = (value) => (Number.isInteger(value) ? grouped(String(value)) : number(value));

  // The size of the drawing, and the elements that a picture of it has.
  function readDrawing(area) {
    const svg = area.querySelector("svg.drawn");
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const frame = svg.querySelector("clipPath rect");
    const background = getComputedStyle(area.closest("figure")).backgroundColor;
    return { svg, width, height, frame, background };
  }

  // The picture as a file of its own: colours and letters are attributes, because style sheets stay in the page.
  function exportSvg(area, title) {
    const { svg, width, height, background } = readDrawing(area);
    const copy = svg.cloneNode(true);
    const sources = svg.querySelectorAll("path, text");
    copy.querySelectorAll("path, text").forEach((node, n) => {
      const style = getComputedStyle(sources[n]);
      for (const name of EXPORTED) node.setAttribute(name, style.getPropertyValue(name));
      for (const name of ["class", "style", "tabindex", "role", "aria-label"]) node.removeAttribute(name);
    });
    [...copy.querySelectorAll("path, text")].filter((node, n) => sources[n].matches(".cursor")).forEach((node) => node.remove());
    for (const node of [copy, ...copy.querySelectorAll("g")]) node.removeAttribute("class");
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height + EXPORT_TITLE_PX);
    copy.setAttribute("viewBox", `0 ${-EXPORT_TITLE_PX} ${width} ${height + EXPORT_TITLE_PX}`);
    const { color, fontFamily } = getComputedStyle(area);
    copy.prepend(svgElement("title", {}, title), svgElement("rect", { y: -EXPORT_TITLE_PX, width, height: height + EXPORT_TITLE_PX, fill: background }), svgElement("text", { x: 8, y: -8, fill: color, "font-family": fontFamily, "font-size": 14, "font-weight": 650 }, title));
    return new XMLSerializer().serializeToString(copy);
  }

  // Drawn on a canvas, because the policy of the page lets no picture be loaded.
  function exportPng(area, title) {
    const { svg, width, height, frame, background } = readDrawing(area);
    const canvas = element("canvas", { width: width * PNG_SCALE, height: (height + EXPORT_TITLE_PX) * PNG_SCALE });
    const context = canvas.getContext("2d");
    context.scale(PNG_SCALE, PNG_SCALE);
    context.fillStyle = background;
    context.fillRect(0, 0, width, height + EXPORT_TITLE_PX);
    const { color, fontFamily } = getComputedStyle(area);
    context.fillStyle = color;
    context.font = `650 14px ${fontFamily}`;
    context.fillText(title, 8, EXPORT_TITLE_PX - 8);
    context.translate(0, EXPORT_TITLE_PX);
    for (const node of svg.querySelectorAll("path:not(.cursor), text")) {
      context.save();
      if (node.closest("[clip-path]")) {
        context.beginPath();
        context.rect(...["x", "y", "width", "height"].map((name) => Number(frame.getAttribute(name))));
        context.clip();
      }
      paintNode(context, node);
      context.restore();
    }
    return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  }

  function paintNode(context, node) {
    const style = getComputedStyle(node);
    const alpha = Number(style.opacity);
    context.lineWidth = parseFloat(style.strokeWidth);
    context.lineJoin = style.strokeLinejoin;
    context.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(",").map(parseFloat));
    context.strokeStyle = style.stroke;
    context.fillStyle = style.fill;
    const isText = node.tagName === "text";
    const path = isText ? null : new Path2D(node.getAttribute("d"));
    const paint = {
      fill: () => { context.globalAlpha = alpha * Number(style.fillOpacity); if (isText) context.fillText(node.textContent, 0, 0); else context.fill(path); },
      stroke: () => { context.globalAlpha = alpha; if (isText) context.strokeText(node.textContent, 0, 0); else context.stroke(path); },
    };
    if (isText) {
      const matrix = node.transform.baseVal.consolidate()?.matrix;
      if (matrix) context.transform(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f);
      context.translate(Number(node.getAttribute("x") ?? 0), Number(node.getAttribute("y") ?? 0) + Number(node.getAttribute("dy") ?? 0));
      context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      context.textAlign = { start: "left", middle: "center", end: "right" }[style.textAnchor];
    }
    const order = isText ? ["stroke", "fill"] : ["fill", "stroke"];
    for (const kind of order) if (style[kind] !== "none") paint[kind]();
  }
