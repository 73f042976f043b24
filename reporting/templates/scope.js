  // The scope of energy: accelerators, or whole nodes where node meters measured all runs of a row.
  let isNodeScope = false;
  const rowsWithNodes = new Set(); // rows that have cells of whole nodes

  // Whether the figures of a row are those of whole nodes, measured or printed; of a row without a scope, true.
  function hasNodeFigures(row) {
    if (!("scope" in row) || row.scope === about.node_scope || rowsWithNodes.has(row)) return true;
    return ["measured", "printed"].includes(row.node_kwh_kind);
  }

  const hasScopeFigures = (row) => !isNodeScope || hasNodeFigures(row);

  // The spread of repeats on the kind of board of a row.
  const getSpread = (row, key) => (isNodeScope ? about.node_spread : about.spread)[row.model]?.[key];

  // Returns a function that shows the cells and the findings of the chosen scope.
  function createScope() {
    const changes = []; // view, number of the row, and its cells in both scopes
    for (const view of Object.values(views)) {
      for (const [place, ofNodes] of Object.entries(view.table.nodes)) {
        const row = view.rows[place];
        rowsWithNodes.add(row);
        changes.push({ view, place, ofNodes, ofAccelerators: Object.fromEntries(Object.keys(ofNodes).map((key) => [key, row[key]])) });
      }
    }
    const findings = [...document.querySelectorAll("template[data-of-nodes]")]
      .map(({ content, parentElement }) => ({ ofNodes: content.firstElementChild, ofAccelerators: parentElement.querySelector(".questions") }))
      .filter(({ ofNodes, ofAccelerators }) => ofNodes && ofAccelerators);
    let isNodeShown = false;
    return () => {
      if (isNodeShown === isNodeScope) return;
      isNodeShown = isNodeScope;
      for (const { view, place, ofNodes, ofAccelerators } of changes) {
        const cells = isNodeScope ? ofNodes : ofAccelerators;
        Object.assign(view.rows[place], cells);
        view.updateCells(place, Object.keys(cells));
      }
      for (const { ofNodes, ofAccelerators } of findings) (isNodeScope ? ofAccelerators : ofNodes).replaceWith(isNodeScope ? ofNodes : ofAccelerators);
      for (const view of new Set(changes.map((change) => change.view))) for (const redraw of redraws[view.id] ?? []) redraw();
    };
  }
