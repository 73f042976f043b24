  // The control bar. Its choices filter the rows of all tables and charts, and the cards. The address keeps them under the names of
  // the fields.
  const conditions = new Map(); // keys and values that a row must have

  // Whether a row has all chosen values. A control does not touch rows of tables without its key.
  function matches(row, ignoredKey = null) {
    for (const [key, value] of conditions) {
      if (key !== ignoredKey && key in row && String(row[key]) !== value) return false;
    }
    return hasScopeFigures(row);
  }

  // Whether the choices leave all results that have figures in the chosen scope.
  const isWhole = (rows) => rows.every((row) => !hasScopeFigures(row) || matches(row));

  // Titles and alternative texts state a finding of all results. They give way to neutral ones where a choice leaves some out, or where
  // the chart shows other figures.
  function nameChart(figure, rows) {
    const title = figure.querySelector("h3, h4");
    const plot = figure.querySelector(".plot");
    title.dataset.all ??= title.textContent;
    plot.dataset.all ??= plot.ariaLabel;
    const neutral = title.dataset.neutral ?? title.dataset.all;
    const isFirstView = isWhole(rows) && !("readerSelected" in figure.dataset);
    if (!isFirstView) title.textContent = neutral;
    else title.textContent = isNodeScope ? (title.dataset.ofNodes ?? neutral) : title.dataset.all;
    plot.ariaLabel = isFirstView && !isNodeScope ? plot.dataset.all : `${title.textContent}. The table has the values that are drawn.`;
    figure.querySelector(".views")?.setAttribute("aria-label", `views of ${title.textContent}`);
  }

  // The answered questions of a workload are on all of its results.
  function noteFindings(section, rows) {
    const questions = section.querySelector(":scope > .questions");
    section.querySelector(":scope > .of-all")?.remove();
    if (questions && !isWhole(rows)) questions.before(element("p", { className: "note of-all", textContent: "The choices leave out results of this section. The following answers are on all of them." }));
  }

  // The choices that leave nothing, each with what to do.
  function nameUndo() {
    const chosen = [...document.querySelectorAll("#control-bar select")].filter((select) => select.value && select.name !== "baseline");
    const name = (select) => (select.name === "scope" ? "scope: whole nodes" : `${select.ariaLabel}: ${select.value}`);
    return chosen.length ? `Undo “${chosen.map(name).join("” or “")}”, or choose Reset.` : "";
  }

  // The rows of a table that the control bar leaves.
  const visible = (id) => objects(id).filter((row) => matches(row));

  function createControl() {
    const bar = document.getElementById("control-bar");
    const selects = [...bar.querySelectorAll("select[data-key]")];
    const results = Object.keys(tables).filter((id) => id.endsWith("-results")).flatMap(objects);
    const updateScope = createScope();
    bar.hidden = false;

    for (const select of selects) {
      const values = new Set(results.map((row) => row[select.dataset.key]).filter((value) => value !== null && value !== undefined));
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
        const value = row[key];
        if (matches(row, key)) counts[value] = (counts[value] ?? 0) + 1;
      }
      for (const option of select.options) {
        if (option.value) option.textContent = `${name}${option.value}${unit && ` ${unit}`} (${counts[option.value] ?? 0})`;
      }
    }

    const writeAnswers = createAnswers();

    // Hides charts without a row that is left, and tables without figures in the chosen scope. A section without a row says so.
    function hideEmptyParts() {
      for (const part of document.querySelectorAll(".shown[id], .folded[id]")) {
        const rows = part.id in tables ? objects(part.id) : [];
        part.hidden = rows.length > 0 && !rows.some(hasScopeFigures);
      }
      for (const figure of document.querySelectorAll("figure.chart[data-table]")) {
        const rows = objects(figure.dataset.table);
        figure.hidden = rows.length > 0 && !rows.some((row) => matches(row));
        if (!figure.hidden) nameChart(figure, rows);
      }
      for (const { section, ids } of sections) {
        const rows = ids.flatMap(objects);
        noteFindings(section, rows);
        const isEmpty = !rows.some((row) => matches(row));
        const notice = section.querySelector(":scope > .empty");
        notice?.remove();
        if (isEmpty) section.querySelector("h2").after(element("p", { className: "empty", textContent: isNodeScope ? `No result of this section has figures of whole nodes${conditions.size ? " and matches the other choices" : ""}. ${nameUndo()}` : `No result of this section matches the choices. ${nameUndo()}` }));
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
      document.documentElement.classList.toggle("of-nodes", isNodeScope);
      // The assumed share of a node is no part of a node that was measured.
      if (isNodeScope) for (const box of document.querySelectorAll('[id$="-efficiency"] .vega-bindings :checked')) box.click();
      updateScope();
      writeAnswers();
      for (const notice of document.querySelectorAll("[data-node-scope]")) notice.hidden = !isNodeScope;
      selects.forEach(countValues);
      const left = results.filter((row) => matches(row)).length;
      const withoutNode = isNodeScope ? results.filter((row) => !hasNodeFigures(row)).length : 0;
      const rest = withoutNode ? `, ${withoutNode} without figures of whole nodes hidden` : "";
      bar.elements.count.value = `${left === results.length ? "" : `${left} of `}${results.length} results${rest}`;
      for (const follow of followers) follow();
      for (const view of Object.values(views)) view.apply();
      hideEmptyParts();
      document.dispatchEvent(new CustomEvent("wattmark:filter"));
    }

    document.addEventListener("wattmark:select", ({ detail: figure }) => nameChart(figure, objects(figure.dataset.table)));
    // Charts and findings of a table that is unfolded later follow the choices too.
    document.addEventListener("wattmark:unfold", hideEmptyParts);
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
