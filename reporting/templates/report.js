// Sorting, filtering, downloads and the panels of the page. The rows of each table are in the JSON of the page: row n of the JSON is
// line n of the HTML table.
"use strict";
(async () => {
  const about = JSON.parse(document.getElementById("about").textContent);
  // Text that the page holds compressed (zlib, base64).
  async function decompress(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  }

  // The inverse of share_cells in page_data.py. A value that several cells hold is stored once: [n] stands for shared[n], [] for the
  // value above, and [-n] for n cells with [].
  const stored = JSON.parse(await decompress("tables"));
  const columnDefaults = { unit: "", form: "text", digits: 4, about: "", interval: false, kinds: false, hidden: false, note_key: "" };
  // As Column.keys in reporting/report_table.py.
  const listKeys = ({ key, interval, kinds }) => [key, ...(interval ? [`${key}_low`, `${key}_high`, `${key}_n`] : []), ...(kinds ? [`${key}_kind`] : [])];
  function restoreColumn(cells) {
    const column = [];
    for (const cell of cells) {
      if (!Array.isArray(cell)) column.push(cell);
      else if (cell[0] >= 0) column.push(stored.shared[cell[0]]);
      else column.push(...Array(-(cell[0] ?? -1)).fill(column.at(-1)));
    }
    return column;
  }
  for (const table of stored.tables) {
    table.nodes = stored.nodes[table.id] ?? {}; // cells of whole nodes by the number of the row
    table.columns = stored.heads[table.head].map((place) => ({ ...columnDefaults, ...stored.columns[place] }));
    table.keys = table.columns.flatMap(listKeys);
    const columns = table.cells.map(restoreColumn);
    table.rows = (columns[0] ?? []).map((_, n) => columns.map((column) => column[n]));
  }
  const TABLES = "table[data-table], table[data-compact]";
  const MAX_ROWS = 200; // rows of a table in the document: sorting a thousand is slow
  const MAX_COMPACT_ROWS = 10; // while the reader has asked for no more columns and filtered no rows
  const MAX_PHONE_ROWS = 2;
  const phone = matchMedia("(max-width: 44rem)");
  const tables = Object.fromEntries(stored.tables.map((t) => [t.id, t]));
  const objectsByTable = {};
  const views = {};
  const redraws = {}; // functions that draw the charts of a table again
  const followers = []; // functions that compute cells again after a choice in the control bar
  const NO_BREAK = "\u202f";

  // The rows of a table as objects, created once: panels change them, and sorting and downloads use the changed values.
  function objects(id) {
    const { keys, rows } = tables[id];
    objectsByTable[id] ??= rows.map((row) => Object.fromEntries(row.map((value, n) => [keys[n], value])));
    return objectsByTable[id];
  }

  // Formats what a reader recomputes, and marks of charts, as reporting/report_table.py formats cells.
  const grouped = (digits) => digits.replace(/\B(?=(\d{3})+(?!\d))/g, NO_BREAK);
  // A number with all of its digits.
  function groupDigits(value) {
    const [whole, ...part] = String(value).split(".");
    return [grouped(whole), ...part].join(".");
  }
  function fixed(value, decimals) {
    const [whole, part] = Math.abs(value).toFixed(decimals).split(".");
    return (value < 0 ? "\u2212" : "") + grouped(whole) + (part ? `.${part}` : "");
  }
  function number(value, digits = 4) {
    if (value === 0) return "0";
    return fixed(value, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
  }
  const plain = (column, value) => (column.form === "signed" ? fixed(Math.round(value * 100) / 100 + 0, 2) : number(value, column.digits));
  function text(column, row) {
    const value = row[column.key];
    if (value === null || value === undefined) return "";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value === "string") return value.replaceAll(" \u00d7 ", `${NO_BREAK}\u00d7${NO_BREAK}`);
    const kind = row[`${column.key}_kind`];
    if (kind === "printed") return groupDigits(value);
    if (kind === "assumed") return `≈${NO_BREAK}${number(value, column.digits)}`;
    if (kind === "bound") return `≥${NO_BREAK}${number(value, 3)}`;
    return column.form === "count" ? number(value, 1) : plain(column, value);
  }
  function interval(column, row) {
    const [low, high, n] = ["low", "high", "n"].map((end) => row[`${column.key}_${end}`]);
    if (!column.interval || typeof low !== "number" || typeof high !== "number") return "";
    const ends = [low, high].map((end) => plain(column, end));
    // Between numbers with a sign, a dash would look like a minus.
    return `${ends.join(column.form === "signed" || low < 0 ? " to " : "–")}, n${NO_BREAK}=${NO_BREAK}${n}`;
  }

  // A cell as reporting/html/tables.py renders it.
  const COLUMNS_WITH_N = ["items_per_s_per_accelerator", "fastest_rate", "value"];
  function renderCell(column, row) {
    const value = text(column, row);
    if (!value) return ["–"];
    const isDoubtful = ["number", "signed"].includes(column.form) && !/_(w|mhz)$/.test(column.key) && (row.implausible || row.doubt);
    const marked = isDoubtful ? element("span", { title: row.implausible || row.doubt, textContent: `(${value})` }) : value;
    const isAssumed = ["assumed", "bound"].includes(row[`${column.key}_kind`]);
    const ends = COLUMNS_WITH_N.includes(column.key) ? interval(column, row) : interval(column, row).split(",")[0];
    const lines = [ends, row[column.note_key]].filter(Boolean);
    return [isAssumed ? element("i", {}, marked) : marked, ...lines.map((line) => element("small", { textContent: line }))];
  }

  // The choices of the reader. They are kept in the address after #, so that a link restores filters, sorting and assumptions.
  const chosen = new URLSearchParams();
  function choose(key, value) {
    if (value === "" || value === null || value === undefined) chosen.delete(key);
    else chosen.set(key, value);
    const hash = chosen.toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) name in node && name !== "list" ? (node[name] = value) : node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  function save(name, type, content) {
    const address = URL.createObjectURL(new Blob([content], { type }));
    const link = element("a", { href: address, download: name });
    link.click();
    // On a busy machine the browser reads the data seconds after the click.
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }

  function writeCsv(keys, rows) {
    const cell = (value) => {
      if (value === null || value === undefined) return "";
      if (typeof value !== "string") return String(value);
      // As in report_table.py: a row is one line, and no text is a formula.
      const line = value.replace(/[\t\r\n]/g, (blank) => ({ "\t": "\\t", "\r": "\\r", "\n": "\\n" })[blank]);
      const safe = line.replace(/(^|;)(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/g, "$1'");
      return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    return [keys, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");
  }

  // A table for JSON, with some of its rows in their order.
  const describeTable = ({ nodes, ...table }, rows) => ({ ...table, rows: rows.map((row) => table.keys.map((key) => row[key])) });

  function saveReport(name, getRows) {
    const current = Object.values(tables).map((table) => describeTable(table, getRows(table.id)));
    save(name, "application/json", JSON.stringify({ ...about, tables: current }, null, 1));
  }

  const collator = new Intl.Collator("en", { numeric: true });
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b)));

  // The view of a table: which rows are shown, in which order. It exists before its table elements do, because these may be folded.
  // `attach` adds a table element: with all columns, or with the compact ones. A row is hidden if one of the functions in `hides`
  // returns true; `order` replaces the default order of the rows.
  function createView(id) {
    const table = tables[id];
    const rows = objects(id);
    const attached = []; // body, lines, heads and columns of each table element
    const changedKeys = new Set(); // columns whose cells differ from those in the file
    const wordsOfRows = []; // filled by the first search
    const view = { id, table, rows, hides: [], order: null, showAll: false, apply, updateCells, attach };
    view.listRows = () => listPlaces().map((place) => rows[place]);
    view.hasLine = (anchor) => attached.some(({ lines }) => lines.some((line) => line.id === anchor));
    const count = element("output");
    const more = element("button", { type: "button" });
    more.addEventListener("click", () => { view.showAll = true; apply(); });
    const searchBox = element("input", { type: "search", placeholder: "search rows" });
    searchBox.setAttribute("aria-label", `search rows of ${table.title}`);

    // The places of the rows that are left, in the order in which they are shown.
    function listPlaces() {
      const isFound = searchBox.value.trim() ? parseQuery(searchBox.value) : null;
      const sort = chosen.get(`${id}.sort`) ?? "";
      const key = sort.replace(/^-/, "");
      const places = (view.order ?? rows.map((_, place) => place)).filter((place) => matches(rows[place])
        && !view.hides.some((hides) => hides(rows[place], place))
        && (!isFound || isFound(wordsOfRows[place] ??= collectWords(table, rows[place]))));
      if (!key) return places;
      const sign = sort.startsWith("-") ? -1 : 1;
      const isEmpty = (value) => value === null || value === undefined;
      return places.sort((a, b) => {
        const [x, y] = [rows[a][key], rows[b][key]];
        return isEmpty(x) || isEmpty(y) ? isEmpty(x) - isEmpty(y) : sign * compare(x, y);
      });
    }

    function apply() {
      if (!attached.length) return;
      const places = listPlaces();
      const isCompact = places.length === rows.length && attached.every((part) => part.isCompact);
      const maxRows = isCompact ? (phone.matches ? MAX_PHONE_ROWS : MAX_COMPACT_ROWS) : MAX_ROWS;
      const displayed = view.showAll ? places : places.slice(0, maxRows);
      const sort = chosen.get(`${id}.sort`) ?? "";
      for (const { body, lines, heads } of attached) {
        const shown = displayed.map((place) => lines[place]);
        if (shown.length !== body.rows.length || shown.some((line, n) => line !== body.rows[n])) body.replaceChildren(...shown);
        for (const head of heads) head.ariaSort = { [head.dataset.key]: "ascending", [`-${head.dataset.key}`]: "descending" }[sort] ?? null;
      }
      more.hidden = displayed.length === places.length;
      more.textContent = `show all ${grouped(String(places.length))}`;
      const isWhole = places.length === rows.length;
      for (const button of saveAllButtons) button.hidden = isWhole;
      const rest = isWhole ? "" : `${grouped(String(places.length))} of `;
      const reason = searchBox.value.trim() ? "; a search finds whole words and whole numbers" : "; none matches the choices";
      count.value = `${rest}${grouped(String(rows.length))} row${rows.length === 1 ? "" : "s"}${more.hidden ? "" : `, first ${maxRows} shown`}${places.length ? "" : reason}`;
    }

    // Updates the cells of the given columns in one row.
    function updateCells(place, keys) {
      for (const key of keys) changedKeys.add(key);
      delete wordsOfRows[place];
      for (const { lines, columns } of attached) updateLine(lines[place], columns, rows[place], keys);
    }

    function updateLine(line, columns, row, keys) {
      columns.forEach((column, n) => {
        if (keys.includes(column.key)) line.cells[n].replaceChildren(...renderCell(column, row));
      });
    }

    // A button that saves rows of the table as a file: those that are shown, or all.
    function createSaveButton(suffix, isAll) {
      const button = element("button", { type: "button", textContent: isAll ? `all rows as ${suffix}` : suffix });
      button.setAttribute("aria-label", `download ${isAll ? "all" : "shown"} rows of ${table.title} as ${suffix}`);
      button.addEventListener("click", () => {
        const content = describeTable(table, isAll ? rows : view.listRows());
        if (suffix === "CSV") save(`${id}.csv`, "text/csv", writeCsv(content.keys, content.rows));
        else save(`${id}.json`, "application/json", JSON.stringify(content, null, 1));
      });
      return button;
    }

    searchBox.addEventListener("input", () => { choose(`${id}.find`, searchBox.value); apply(); });
    const saveAllButtons = ["CSV", "JSON"].map((suffix) => createSaveButton(suffix, true));
    const saveButtons = ["CSV", "JSON"].map((suffix) => createSaveButton(suffix, false));
    const tools = element("div", { className: "tools" }, ...(rows.length > 4 ? [searchBox] : []), count, more, element("span", {}, ...saveButtons, ...saveAllButtons));
    view.tools = tools;
    view.restore = () => {
      searchBox.value = chosen.get(`${id}.find`) ?? "";
    };

    function attach(tableElement) {
      const heads = [...tableElement.tHead.rows[0].cells];
      const columns = heads.map((head) => table.columns.find((column) => column.key === head.dataset.key));
      columns.forEach(({ about: tooltip }, n) => { heads[n].title = tooltip; });
      const [body] = tableElement.tBodies;
      const lines = [...body.rows];
      for (const head of heads) {
        const button = element("button", { type: "button" }, ...head.childNodes);
        head.replaceChildren(button);
        button.addEventListener("click", () => {
          const { key } = head.dataset;
          const isNumeric = rows.some((row) => typeof row[key] === "number");
          const sortCycle = isNumeric ? [`-${key}`, key, ""] : [key, `-${key}`, ""];
          choose(`${id}.sort`, sortCycle[(sortCycle.indexOf(chosen.get(`${id}.sort`)) + 1) % 3]);
          apply();
        });
      }
      if (!attached.length) tableElement.closest(".scroll").before(tools);
      attached.push({ body, lines, heads, columns, isCompact: "compact" in tableElement.dataset });
      labelCells(tableElement, columns);
      lines.forEach((line, place) => updateLine(line, columns, rows[place], [...changedKeys]));
      view.restore();
      apply();
    }
    return view;
  }

  // The content of the folds of this page, if it is stored apart from them (`store_folds` in html/document.py).
  const folds = document.getElementById("folds") ? JSON.parse(await decompress("folds")) : [];
  const readFold = (noscript) => folds[noscript.dataset.fold] ?? noscript.textContent;

  // Turns the folded content of an element into elements. It is text until then, which saves time and memory, because readers open
  // few tables.
  function unfold(container) {
    for (const noscript of container.querySelectorAll(":scope > noscript")) {
      const template = element("template", { innerHTML: readFold(noscript) });
      const tableElements = template.content.querySelectorAll(TABLES);
      noscript.replaceWith(template.content);
      tableElements.forEach(attach);
    }
    document.dispatchEvent(new CustomEvent("wattmark:unfold", { detail: container }));
  }

  function attach(tableElement) {
    views[tableElement.dataset.table ?? tableElement.dataset.compact].attach(tableElement);
  }

  // Returns the element with an id, or null. Unfolds the table that holds it.
  function find(id) {
    const marks = [`id=${id}>`, `id=${id} `, `id="${id}"`];
    for (const noscript of document.querySelectorAll("noscript")) {
      if (document.getElementById(id)) break;
      if (marks.some((mark) => readFold(noscript).includes(mark))) unfold(noscript.parentElement);
    }
    if (!document.getElementById(id)) Object.values(views).filter((view) => view.hasLine(id)).forEach(showAllRows);
    return document.getElementById(id);
  }

PARTS
  function restore() {
    const hash = location.hash.slice(1);
    if (!hash.includes("=")) return hash;
    for (const key of [...chosen.keys()]) chosen.delete(key);
    for (const [key, value] of new URLSearchParams(hash)) chosen.set(key, value);
    control.restore();
    for (const panel of panels) panel.restore();
    for (const view of Object.values(views)) view.restore();
    control.update();
    return chosen.get("at");
  }

  function showAllRows(view) {
    if (view.showAll) return;
    view.showAll = true;
    view.apply();
  }

  function goTo(at) {
    const target = at && find(at);
    if (!target) return;
    for (let up = target; up; up = up.parentElement) {
      if (up.tagName !== "DETAILS") continue;
      unfold(up);
      up.open = true;
    }
    const folded = target.tagName === "TR" && target.querySelector("details");
    if (folded) folded.open = true;
    target.scrollIntoView();
  }

  for (const id of Object.keys(tables)) views[id] = createView(id);
  document.querySelectorAll(TABLES).forEach(attach);
  document.querySelectorAll("details[open]").forEach(unfold);
  phone.addEventListener("change", () => Object.values(views).forEach((view) => view.apply()));
  addEventListener("toggle", ({ target }) => { if (target.open && target.matches("details")) unfold(target); }, true);
  const panels = createPanels();
  const control = createControl();
  window.wattmark = { tables, views, objects, visible, text, interval, chosen, choose, panels, redraws, unfold, save, writeCsv, decompress, printAlone, labelCells };
  const downloads = document.querySelector("[data-everything]");
  for (const [label, name, getRows] of [
    ["Shown rows of all tables as JSON", "wattmark-selection.json", (id) => views[id].listRows()],
    ["All tables as JSON", "wattmark-report.json", objects],
  ]) {
    const button = element("button", { type: "button", textContent: label });
    button.addEventListener("click", () => saveReport(name, getRows));
    downloads.append(button);
  }
  downloads.hidden = false;
  for (const panel of panels) panel.restore();
  if (!location.hash.includes("=")) control.update();
  goTo(restore());
  // The drawing script can now draw the charts outside folded parts.
  document.dispatchEvent(new CustomEvent("wattmark:unfold", { detail: document }));
  // The place that the reader sees, for the address: the last section, table or chart that begins in the upper third of the screen. The
  // small charts at the top stand side by side, so none of them is a place.
  const PLACES = "main section[id], .shown[id], details[id], figure.chart[id]:not(.hills *)";
  function keepPlace() {
    const isSeen = ({ top, bottom }) => bottom > 0 && top < innerHeight;
    const current = document.getElementById(chosen.get("at"));
    if (!chosen.size || (current && isSeen(current.getBoundingClientRect()))) return;
    const begun = [...document.querySelectorAll(PLACES)].filter((place) => {
      const { top, height } = place.getBoundingClientRect();
      return height > 0 && top < innerHeight / 3;
    });
    choose("at", begun.at(-1)?.id);
  }
  let scrollTimer = null;
  addEventListener("scroll", () => {
    clearTimeout(scrollTimer);
    scrollTimer = setTimeout(keepPlace, 200);
  }, { passive: true });
  const printAll = element("button", { type: "button", textContent: "Print with appendix" });
  printAll.addEventListener("click", () => {
    document.documentElement.classList.add("appendix");
    for (const details of document.querySelectorAll("details")) unfold(details);
    Object.values(views).forEach(showAllRows);
    print();
  });
  addEventListener("afterprint", () => document.documentElement.classList.remove("appendix"));
  downloads.append(printAll);
  // A link to a place of the page keeps what was chosen.
  addEventListener("hashchange", () => {
    const at = restore();
    if (at && !location.hash.includes("=") && chosen.size) choose("at", at);
    goTo(at);
  });
})();
