// Sorting, filtering, downloads and the panels of the page. Each table's rows are in the JSON of the page; line n of a table is row n.
"use strict";
(() => {
  const about = JSON.parse(document.getElementById("about").textContent);
  // A value that several cells hold is stored once: such a cell is a list of its place. An empty list stands for the value above it,
  // and a list of a number below zero for so many of them.
  const stored = JSON.parse(document.getElementById("tables").textContent);
  for (const table of stored.tables) {
    Object.assign(table, stored.heads[table.head]);
    const above = [];
    const whole = (cell, n) => (!Array.isArray(cell) ? cell : cell.length ? stored.shared[cell[0]] : above[n]);
    const unfolded = (row) => row.flatMap((cell) => (Array.isArray(cell) && cell[0] < 0 ? Array(-cell[0]).fill([]) : [cell]));
    table.rows = table.rows.map((row) => unfolded(row).map((cell, n) => (above[n] = whole(cell, n))));
  }
  const SOME = 200; // rows of a table that are laid out at once: a thousand make sorting slow
  const tables = Object.fromEntries(stored.tables.map((t) => [t.id, t]));
  const usual = { unit: "", form: "text", digits: 4, about: "", interval: false, kinds: false, hidden: false };
  for (const table of Object.values(tables)) table.columns = table.columns.map((column) => ({ ...usual, ...column }));
  const kept = {};
  const views = {};
  const NO_BREAK = "\u202f";

  // The rows of a table as objects, each made once: the panels alter them, and sorting and downloads see what they altered.
  function objects(id) {
    const { keys, rows } = tables[id];
    kept[id] ??= rows.map((row) => Object.fromEntries(row.map((value, n) => [keys[n], value])));
    return kept[id];
  }

  // The next four say a cell as reporting/report_table.py does.
  const grouped = (digits) => digits.replace(/\B(?=(\d{3})+(?!\d))/g, NO_BREAK);
  function fixed(value, decimals) {
    const [whole, part] = Math.abs(value).toFixed(decimals).split(".");
    return (value < 0 ? "\u2212" : "") + grouped(whole) + (part ? `.${part}` : "");
  }
  function number(value, digits = 4) {
    if (value === 0) return "0";
    return fixed(value, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
  }
  function text(column, row) {
    const value = row[column.key];
    if (value === null || value === undefined) return "";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value === "string") return value;
    const kind = row[`${column.key}_kind`];
    if (kind === "printed") return grouped(String(value).split(".")[0]) + (String(value).includes(".") ? `.${String(value).split(".")[1]}` : "");
    if (kind === "assumed") return `≈${NO_BREAK}${number(value, column.digits)}`;
    if (kind === "bound") return `≥${NO_BREAK}${number(value, 3)}`;
    if (column.form === "count") return number(value, 1);
    if (column.form === "signed") return fixed(Math.round(value * 100) / 100 + 0, 2);
    return number(value, column.digits);
  }
  function interval(column, row) {
    const [low, high, n] = ["low", "high", "n"].map((end) => row[`${column.key}_${end}`]);
    if (typeof low !== "number" || typeof high !== "number") return "";
    return `${number(low, column.digits)}–${number(high, column.digits)}, n${NO_BREAK}=${NO_BREAK}${n}`;
  }

  // What the reader chose, in the part of the address after #: it restores filters, sorting and assumptions.
  const chosen = new URLSearchParams();
  function choose(key, value) {
    if (value === "" || value === null || value === undefined) chosen.delete(key);
    else chosen.set(key, value);
    const hash = chosen.toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) name in made && name !== "list" ? (made[name] = value) : made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function save(name, type, content) {
    const address = URL.createObjectURL(new Blob([content], { type }));
    const link = element("a", { href: address, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  function csv(id) {
    const cell = (value) => {
      if (value === null || value === undefined) return "";
      if (typeof value !== "string") return String(value);
      const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
      return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    const { keys } = tables[id];
    return [keys, ...objects(id).map((row) => keys.map((key) => row[key]))].map((row) => row.map(cell).join(",") + "\r\n").join("");
  }

  function everything() {
    const current = Object.values(tables).map((t) => ({ ...t, rows: objects(t.id).map((row) => t.keys.map((key) => row[key])) }));
    return JSON.stringify({ ...about, tables: current }, null, 1);
  }

  const words = new Intl.Collator("en", { numeric: true });
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : words.compare(String(a), String(b)));

  // A table's sorting and filters. `hides` are further reasons to hide a row; `order` replaces the page's own order.
  function view(shown) {
    const id = shown.dataset.table;
    const table = tables[id];
    const rows = objects(id);
    const body = shown.tBodies[0];
    const lines = [...body.rows];
    const columns = table.columns.filter((column) => !column.hidden);
    const said = rows.map((row) => Object.values(row).filter((value) => typeof value === "string").join(" ").toLowerCase());
    const own = { id, table, rows, lines, columns, hides: [], order: null, whole: false, apply, say };
    const count = element("output");
    const more = element("button", { type: "button" });
    more.addEventListener("click", () => { own.whole = true; apply(); });
    const find = element("input", { type: "search", placeholder: "filter rows" });
    find.setAttribute("aria-label", `filter rows of ${table.title}`);
    const facets = ["standing", "model", "variant", "precision", "count"]
      .filter((key) => table.keys.includes(key))
      .map((key) => facet(key, table.columns.find((one) => one.key === key).title, (row) => row[key]))
      .concat(facet("status", "status", (row) => (row.doubt || row.implausible ? "excluded" : "compared")))
      .filter(Boolean);

    function facet(key, title, of) {
      const values = [...new Set(rows.map(of).filter((value) => value !== null))];
      if (values.length < 2 || values.length > 15) return null;
      const options = values.sort(compare).map((value) => element("option", { value, textContent: value }));
      const select = element("select", {}, element("option", { value: "", textContent: `${title}: all` }), ...options);
      select.setAttribute("aria-label", `${title} in ${table.title}`);
      select.addEventListener("change", () => { choose(`${id}.${key}`, select.value); apply(); });
      return { key, of, select };
    }

    function apply() {
      const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      const sort = chosen.get(`${id}.sort`) ?? "";
      const key = sort.replace(/^-/, "");
      const places = own.order ? [...own.order] : rows.map((_, place) => place);
      if (key) {
        const sign = sort.startsWith("-") ? -1 : 1;
        const empty = (value) => value === null || value === undefined;
        places.sort((a, b) => {
          const [x, y] = [rows[a][key], rows[b][key]];
          return empty(x) || empty(y) ? empty(x) - empty(y) : sign * compare(x, y);
        });
      }
      const left = places.filter((place) => wanted.every((word) => said[place].includes(word))
        && facets.every(({ of, select }) => !select.value || String(of(rows[place])) === select.value)
        && !own.hides.some((hides) => hides(rows[place], place)));
      const shownNow = own.whole ? left : left.slice(0, SOME);
      body.replaceChildren(...shownNow.map((place) => lines[place]));
      more.hidden = shownNow.length === left.length;
      more.textContent = `show all ${grouped(String(left.length))}`;
      const rest = left.length === rows.length ? "" : `${grouped(String(left.length))} of `;
      count.value = `${rest}${grouped(String(rows.length))} row${rows.length === 1 ? "" : "s"}${more.hidden ? "" : `, first ${SOME} shown`}`;
      for (const head of heads) head.ariaSort = head.dataset.key !== key || !key ? null : sort.startsWith("-") ? "descending" : "ascending";
    }

    // Writes the cells of some columns of a row anew.
    function say(place, keys) {
      columns.forEach((column, n) => {
        if (!keys.includes(column.key)) return;
        const value = text(column, rows[place]);
        const plain = rows[place][`${column.key}_kind`] === "assumed" ? element("i", { textContent: value }) : value;
        const between = interval(column, rows[place]);
        lines[place].cells[n].replaceChildren(value ? plain : "–", ...(between ? [element("small", { textContent: between })] : []));
      });
    }

    const heads = [...shown.tHead.rows[0].cells];
    for (const head of heads) {
      const button = element("button", { type: "button" }, ...head.childNodes);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const { key } = head.dataset;
        const falling = rows.some((row) => typeof row[key] === "number");
        const turns = falling ? [`-${key}`, key, ""] : [key, `-${key}`, ""];
        choose(`${id}.sort`, turns[(turns.indexOf(chosen.get(`${id}.sort`)) + 1) % 3]);
        apply();
      });
    }
    find.addEventListener("input", () => { choose(`${id}.find`, find.value); apply(); });
    const download = element("button", { type: "button", textContent: "CSV" });
    download.setAttribute("aria-label", `download ${table.title} as CSV`);
    download.addEventListener("click", () => save(`${id}.csv`, "text/csv", csv(id)));
    const tools = element("div", { className: "tools" }, ...(rows.length > 4 ? [find, ...facets.map((one) => one.select)] : []), count, more, download);
    shown.closest(".scroll").before(tools);
    own.tools = tools;
    own.restore = () => {
      find.value = chosen.get(`${id}.find`) ?? "";
      for (const { key, select } of facets) select.value = chosen.get(`${id}.${key}`) ?? "";
      apply();
    };
    return own;
  }
PANELS
  function restore() {
    const hash = location.hash.slice(1);
    if (!hash.includes("=")) return hash;
    for (const key of [...chosen.keys()]) chosen.delete(key);
    for (const [key, value] of new URLSearchParams(hash)) chosen.set(key, value);
    for (const own of panels) own.restore();
    for (const own of Object.values(views)) own.restore();
    return chosen.get("at");
  }

  function whole(own) {
    if (own.whole) return;
    own.whole = true;
    own.apply();
  }

  function go(at) {
    if (at && !document.getElementById(at)) Object.values(views).filter((own) => own.lines.some((line) => line.id === at)).forEach(whole);
    const target = at && document.getElementById(at);
    if (!target) return;
    for (let up = target; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    const folded = target.tagName === "TR" && target.querySelector("details");
    if (folded) folded.open = true;
    target.scrollIntoView();
  }

  for (const shown of document.querySelectorAll("table[data-table]")) views[shown.dataset.table] = view(shown);
  const panels = [whatIf(), rack(), ...Object.values(views).filter((own) => own.id.endsWith("-compare")).map(baseline)].filter(Boolean);
  window.wattmark = { tables, objects, text, interval, chosen, choose, panels };
  const all = document.querySelector("[data-everything]");
  const button = element("button", { type: "button", textContent: "All tables as JSON" });
  button.addEventListener("click", () => save("wattmark-report.json", "application/json", everything()));
  all.append(button);
  all.hidden = false;
  for (const own of panels) own.restore();
  for (const own of Object.values(views)) own.apply();
  go(restore());
  addEventListener("beforeprint", () => Object.values(views).forEach(whole));
  // A link to a place of the page keeps what was chosen.
  addEventListener("hashchange", () => {
    const at = restore();
    if (at && !location.hash.includes("=") && chosen.size) choose("at", at);
    go(at);
  });
})();
