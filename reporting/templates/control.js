  // The control bar. Its choices filter the rows of all tables and charts, and the cards. The address keeps them under the names of
  // the fields.
  const conditions = new Map(); // keys and values that a row must have
  let isNodeScope = false;
  const rowsWithNodes = new Set(); // rows of which node meters measured all runs

  const readFacet = (row, key) => (key !== "status" ? row[key] : row.doubt || row.implausible || row.withheld ? "excluded" : "compared");

  // Whether a row has all chosen values. A control does not touch rows of tables without its key.
  function matches(row, ignoredKey = null) {
    for (const [key, value] of conditions) {
      const hasKey = key === "status" ? "doubt" in row : key in row;
      if (key !== ignoredKey && hasKey && String(readFacet(row, key)) !== value) return false;
    }
    return !isNodeScope || hasNodeFigures(row);
  }

  // Whether the figures of a row are those of whole nodes, measured or printed; of a row without a scope, true.
  function hasNodeFigures(row) {
    if (!("scope" in row) || row.scope === about.node_scope || rowsWithNodes.has(row)) return true;
    return ["measured", "printed"].includes(row.node_kwh_kind);
  }

  // The rows of a table that the control bar leaves.
  const visible = (id) => objects(id).filter((row) => matches(row));

  // Shows the energy of the nodes in place of that of the accelerators, where node meters measured all runs of a row.
  function createScope() {
    const nodesByBundle = new Map(Object.keys(tables).filter((id) => id.endsWith("-nodes")).flatMap(objects)
      .filter((row) => !row.unranked).map((row) => [row.bundle, row]));
    const scopedViews = Object.values(views).filter(({ id }) => /-results$|-compare$|^what-if$/.test(id));
    const changes = []; // view, place, and the cells in both scopes
    for (const view of scopedViews) {
      view.rows.forEach((row, place) => {
        const nodes = (row.bundle ?? "").split(" ").map((bundle) => nodesByBundle.get(bundle));
        if (!nodes.every(Boolean)) return;
        rowsWithNodes.add(row);
        const ofNodes = averageNodes(nodes, Object.keys(row));
        changes.push({ view, place, ofNodes, ofAccelerators: Object.fromEntries(Object.keys(ofNodes).map((key) => [key, row[key]])) });
      });
    }
    let isNodeShown = false;
    return () => {
      if (isNodeShown === isNodeScope) return;
      isNodeShown = isNodeScope;
      for (const { view, place, ofNodes, ofAccelerators } of changes) {
        Object.assign(view.rows[place], isNodeScope ? ofNodes : ofAccelerators);
        view.updateCells(place, ["joules_per_item", "items_per_joule"]);
      }
      for (const view of new Set(changes.map((change) => change.view))) for (const redraw of redraws[view.id] ?? []) redraw();
    };
  }

  // The cells of energy and efficiency for a row whose runs have these rows in the table of node power. The mean of several runs has no
  // interval, because those of the runs are within each run.
  function averageNodes(nodes, keys) {
    const cells = {};
    for (const key of ["joules_per_item", "items_per_joule"].filter((name) => keys.includes(name))) {
      cells[key] = nodes.reduce((sum, node) => sum + node[`node_${key}`], 0) / nodes.length;
      for (const end of ["_low", "_high", "_n"]) if (keys.includes(key + end)) cells[key + end] = nodes.length > 1 ? null : nodes[0][`node_${key}${end}`];
    }
    return cells;
  }

  function createControl() {
    const bar = document.getElementById("control-bar");
    const selects = [...bar.querySelectorAll("select[data-key]")];
    const results = Object.keys(tables).filter((id) => id.endsWith("-results")).flatMap(objects);
    const updateScope = createScope();
    bar.hidden = false;

    for (const select of selects) {
      const values = new Set(results.map((row) => readFacet(row, select.dataset.key)).filter((value) => value !== null && value !== undefined));
      select.append(...[...values].sort(compare).map((value) => element("option", { value })));
      select.hidden = values.size < 2;
    }
    const fields = [...selects, bar.elements.scope, bar.elements.baseline];

    // The options of numbers need the name of the field, because a number alone has no meaning.
    const isNumeric = (select) => [...select.options].every(({ value }) => !Number.isNaN(Number(value)));

    // Writes beside each value how many results it leaves.
    function countValues(select) {
      const { key, unit } = select.dataset;
      const name = isNumeric(select) ? `${select.ariaLabel} ` : "";
      const counts = {};
      for (const row of results) {
        const value = readFacet(row, key);
        if (matches(row, key)) counts[value] = (counts[value] ?? 0) + 1;
      }
      for (const option of select.options) {
        if (option.value) option.textContent = `${name}${option.value}${unit && ` ${unit}`} (${counts[option.value] ?? 0})`;
      }
    }

    const leaders = [...document.querySelectorAll("[data-facets]")].map((leader) => [leader, JSON.parse(leader.dataset.facets)]);

    // Hides charts and cards without a row that is left. A section without one says so.
    function hideEmptyParts() {
      for (const figure of document.querySelectorAll("figure.chart[data-table]")) {
        const rows = objects(figure.dataset.table);
        figure.hidden = rows.length > 0 && !rows.some((row) => matches(row));
      }
      for (const [leader, facets] of leaders) leader.hidden = !matches(facets);
      for (const card of document.querySelectorAll(".card")) card.hidden = card.querySelector(".leader") !== null && !card.querySelector(".leader:not([hidden])");
      for (const { section, ids } of sections) {
        const isEmpty = !ids.some((id) => objects(id).some((row) => matches(row)));
        const notice = section.querySelector(":scope > .empty");
        if (isEmpty && !notice) section.querySelector("h2").after(element("p", { className: "empty", textContent: "No result of this section matches the choices." }));
        if (!isEmpty) notice?.remove();
        section.classList.toggle("unmatched", isEmpty && `${section.id}-results` in tables);
      }
    }

    // The sections with tables of results, and the ids of these tables.
    const sections = [...document.querySelectorAll("main section[id]")]
      .map((section) => ({ section, ids: Object.keys(tables).filter((id) => "standing" in (objects(id)[0] ?? {}) && document.getElementById(id)?.closest("section") === section) }))
      .filter(({ ids }) => ids.length);

    function update() {
      conditions.clear();
      for (const select of selects) if (select.value) conditions.set(select.dataset.key, select.value);
      isNodeScope = bar.elements.scope.value === "node";
      updateScope();
      for (const notice of document.querySelectorAll("[data-node-scope]")) notice.hidden = !isNodeScope;
      selects.forEach(countValues);
      const left = results.filter((row) => matches(row)).length;
      const withoutNode = isNodeScope ? results.filter((row) => !hasNodeFigures(row)).length : 0;
      const rest = withoutNode ? `, ${withoutNode} without a node meter hidden` : "";
      bar.elements.count.value = `${left === results.length ? "" : `${left} of `}${results.length} results${rest}`;
      for (const follow of followers) follow();
      for (const view of Object.values(views)) view.apply();
      hideEmptyParts();
      document.dispatchEvent(new CustomEvent("wattmark:filter"));
    }

    bar.addEventListener("submit", (event) => event.preventDefault());
    bar.addEventListener("input", ({ target }) => {
      choose(target.name, target.type === "checkbox" ? (target.checked ? target.value : "") : target.value);
      update();
    });
    bar.addEventListener("reset", (event) => {
      event.preventDefault();
      for (const { name } of fields) choose(name, "");
      choose("others", "");
      restore();
      update();
    });
    function restore() {
      for (const field of fields) {
        field.value = chosen.get(field.name) ?? "";
        if (field.selectedIndex < 0) field.value = ""; // the address names a value that the page does not have
      }
      bar.elements.others.checked = chosen.has("others");
    }
    return { restore, update };
  }
