  // The panels. Their formulas are those of rules/metrics/comparison.py; a test compares the two.
  const relative = (value, baseline) => 100 * (value / baseline - 1);

  function form(name, fields, update) {
    const panel = document.querySelector(`[data-panel="${name}"]`);
    if (!panel) return null;
    const defaults = Object.fromEntries(fields.map((field) => [field, panel.elements[field].value]));
    panel.hidden = false;
    panel.addEventListener("submit", (event) => event.preventDefault());
    panel.addEventListener("input", (event) => {
      const { name: field, value } = event.target;
      choose(field, value === defaults[field] ? "" : value);
      update(panel.elements);
    });
    return {
      update: () => update(panel.elements),
      restore() {
        for (const field of fields) panel.elements[field].value = chosen.get(field) ?? defaults[field];
        update(panel.elements);
      },
    };
  }

  // The number in an input field, limited to the bounds of the field; `fallback` if the field holds no number.
  function readNumber(field, fallback) {
    const value = field.valueAsNumber;
    if (!Number.isFinite(value)) return fallback;
    return Math.min(Math.max(value, field.min === "" ? -Infinity : Number(field.min)), field.max === "" ? Infinity : Number(field.max));
  }

  function whatIf() {
    const view = views["what-if"];
    if (!view) return null;
    const assumptions = about.assumptions;
    const hiddenPlaces = new Set();
    view.hides.push((row, place) => hiddenPlaces.has(place));

    function update(fields) {
      const price = readNumber(fields.price, assumptions.price_per_kwh);
      const carbon = readNumber(fields.carbon, assumptions.gco2e_per_kwh);
      const pue = readNumber(fields.pue, assumptions.pue);
      const load = readNumber(fields.load, assumptions.millions_per_day);
      const weight = readNumber(fields.weight, assumptions.weight);
      const least = readNumber(fields.minrate, 0);
      const most = readNumber(fields.maxpower, Infinity);
      fields["weight-shown"].value = weight;
      hiddenPlaces.clear();
      const rankings = {};
      view.rows.forEach((row, place) => {
        const kwh = (items) => (row.joules_per_item * items * pue) / 3.6e6;
        row.eur_per_million = kwh(1e6) * price;
        row.gco2e_per_million = kwh(1e6) * carbon;
        row.eur_per_year = kwh(load * 1e6 * 365) * price;
        row.kgco2e_per_year = (kwh(load * 1e6 * 365) * carbon) / 1e3;
        row.accelerators_needed = Math.ceil((load * 1e6) / 86400 / row.items_per_s_per_accelerator);
        row.score = row.rank = null;
        const within = matches(row) && row.items_per_s_per_accelerator >= least && (row.power_w ?? 0) <= most;
        if (!within || (fields.workload.value && row.workload !== fields.workload.value)) hiddenPlaces.add(place);
        else (rankings[`${row.workload} ${row.like}`] ??= []).push(place);
      });
      stateCosts({ price, carbon, pue });
      showPrices(fields);
      for (const places of Object.values(rankings)) rank(view.rows, places, weight, fields.scaling.value);
      const last = [...hiddenPlaces];
      view.order = [...Object.values(rankings).flat(), ...last];
      const keys = ["rank", "score", "eur_per_million", "gco2e_per_million", "eur_per_year", "kgco2e_per_year", "accelerators_needed"];
      view.rows.forEach((_, place) => view.updateCells(place, keys));
      view.apply();
    }
    const showPrices = createPrices();
    const panel = form("what-if", ["price", "carbon", "pue", "load", "weight", "scaling", "workload", "minrate", "maxpower"], update);
    followers.push(panel.update);
    return panel;
  }

  // The fields above the answer cards, which stand for those of the what-if analysis. Returns a function that shows the values of these.
  function createPrices() {
    const prices = document.querySelector('[data-panel="prices"]');
    prices.hidden = false;
    prices.addEventListener("submit", (event) => event.preventDefault());
    prices.addEventListener("input", ({ target: { name, value } }) => {
      const field = document.querySelector('[data-panel="what-if"]').elements[name];
      field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    return (fields) => {
      for (const field of prices.elements) if (field !== document.activeElement) field.value = fields[field.name].value;
    };
  }

  // The cost in the answer cards and the answers of the workloads. Python writes the same sentences with the defaults.
  function stateCosts({ price, carbon, pue }) {
    for (const answer of document.querySelectorAll("[data-joules-per-item]")) {
      const kwh = (answer.dataset.joulesPerItem * 1e6 * pue) / 3.6e6;
      const parts = { eur: number(kwh * price), gco2e: number(kwh * carbon), price, carbon, pue, scope: isNodeScope ? "whole nodes" : "the accelerators" };
      const template = "brief" in answer.dataset ? about.cost_in_brief : about.cost_sentence;
      answer.textContent = template.replace(/\{(\w+)\}/g, (_, key) => parts[key]);
    }
  }

  function rank(rows, places, weight, scaling) {
    const fastest = Math.max(...places.map((place) => rows[place].items_per_s_per_accelerator));
    const highest = Math.max(...places.map((place) => rows[place].joules_per_item));
    for (const place of places) {
      const share = (rows[place].joules_per_item / highest) * (scaling === "equal" ? 100 : 1);
      rows[place].score = 100 - (weight * share + (1 - weight) * (100 - (100 * rows[place].items_per_s_per_accelerator) / fastest));
    }
    places.sort((a, b) => rows[b].score - rows[a].score);
    let leader = null;
    places.forEach((place, n) => {
      const tied = leader && isTie(rows[place], leader);
      rows[place].rank = tied ? leader.rank : n + 1;
      if (!tied) leader = rows[place];
    });
  }

  function isTie(row, leader) {
    const keys = ["items_per_s_per_accelerator", "joules_per_item"];
    const differences = keys.map((key) => compareRuns(row, leader, key));
    return differences.every(Boolean) ? !differences.some(({ counts }) => counts) : keys.every((key) => row[key] === leader[key]);
  }

  // The power that a node is assumed to draw beside its accelerators. The marks of the efficiency charts follow it.
  function nodeShare() {
    const resultViews = Object.values(views).filter((view) => view.table.keys.includes("front_node"));
    const reported = Object.fromEntries(resultViews.map((view) => [view.id, view.rows.map((row) => row.node_items_per_joule_assumed)]));
    const defaultW = about.assumptions.node_share_w / about.assumptions.node_share_accelerators;
    return form("node-share", ["node-w", "node-accelerators"], (fields) => {
      const shareW = readNumber(fields["node-w"], about.assumptions.node_share_w) / readNumber(fields["node-accelerators"], about.assumptions.node_share_accelerators);
      fields["node-share-shown"].value = `Assumed here: ${number(shareW)} W per accelerator.`;
      for (const view of resultViews) {
        view.rows.forEach((row, place) => {
          if (row.node_items_per_joule_assumed === null) return;
          const efficiency = row.items_per_s_per_accelerator / ((row.power_w ?? row.cap_w) + shareW);
          // The values of the report are exact to the last digit; those computed from its rounded figures are not.
          row.node_items_per_joule_assumed = shareW === defaultW ? reported[view.id][place] : efficiency;
          view.updateCells(place, ["node_items_per_joule_assumed"]);
        });
        markPoints(view.rows);
        view.apply();
        for (const redraw of redraws[view.id] ?? []) redraw();
      }
    });
  }

  // As mark_points in reporting/pareto.py does, with node share.
  function markPoints(rows) {
    const efficiency = (row) => row.node_items_per_joule_assumed ?? 0;
    const candidates = rows.filter((row) => row.comparable && efficiency(row));
    const lines = {};
    const standings = {};
    for (const row of candidates) {
      (lines[`${row.standing} ${row.line}`] ??= []).push(row);
      if (!row.withheld) (standings[row.standing] ??= []).push(row);
    }
    for (const row of rows) row.peak_node = row.front_node = false;
    for (const line of Object.values(lines)) {
      if (new Set(line.map((row) => row.cap_w)).size < 2) continue;
      line.reduce((best, row) => (efficiency(row) > efficiency(best) ? row : best)).peak_node = true;
    }
    for (const group of Object.values(standings)) {
      let best = 0;
      group.sort((a, b) => b.items_per_s_per_accelerator - a.items_per_s_per_accelerator || efficiency(b) - efficiency(a));
      for (const row of group) {
        if (efficiency(row) <= best) continue;
        best = efficiency(row);
        row.front_node = true;
      }
    }
  }

  function rack() {
    const view = views.rack;
    if (!view) return null;
    const assumptions = about.assumptions;
    const ratedPowers = view.rows.map((row) => row.rated_w);

    function update(fields) {
      const rackW = readNumber(fields.rack, assumptions.rack_kw) * 1e3;
      const redundancy = readNumber(fields.redundancy, assumptions.redundancy_percent);
      const rated = readNumber(fields.rated, null);
      const pdus = readNumber(fields.pdus, assumptions.pdus);
      const derating = readNumber(fields.derating, assumptions.pdu_derating_percent);
      const [volts, amperes, phases] = ["volts", "amperes", "phases"].map((name) => readNumber(fields[name], assumptions[`pdu_${name}`]));
      const pduW = (pdus * volts * amperes * phases * derating) / 100;
      const limitW = pdus > 0 ? Math.min(rackW, pduW) : rackW;
      const usableW = limitW * (1 - redundancy / 100);
      fields["rack-limit-shown"].value = `Limit: ${number(limitW / 1e3)} kW${limitW < rackW ? " by the PDUs" : ""}. Usable: ${number(usableW / 1e3)} kW.`;
      view.rows.forEach((row, place) => {
        if (row.by === "rating") row.node_w = row.rated_w = rated ?? ratedPowers[place];
        const nodes = row.node_w ? Math.max(0, Math.floor((usableW + about.rack_tolerance_w) / row.node_w)) : null;
        row.nodes = nodes;
        row.used_kw = nodes === null ? null : (nodes * row.node_w) / 1e3;
        row.margin_percent = nodes === null ? null : 100 * (1 - (nodes * row.node_w) / limitW);
        view.updateCells(place, ["node_w", "nodes", "used_kw", "margin_percent"]);
      });
      view.apply();
    }
    return form("rack", ["rack", "redundancy", "rated", "pdus", "volts", "amperes", "phases", "derating"], update);
  }

  // The baseline of the control bar: one setting in place of the fastest of each group, for each workload that has it.
  function baseline() {
    const { baseline: select, others } = document.getElementById("control-bar").elements;
    const changeKeys = ["rate_percent", "rate_told", "joules_percent", "joules_told"];
    const keys = [...changeKeys, "against", "shared_boards"];
    const comparedViews = Object.values(views).filter(({ table }) => [...keys, "like"].every((key) => table.keys.includes(key)));
    const reported = new Map(comparedViews.map((view) => [view, view.rows.map((row) => ({ ...row }))]));
    const names = new Set(comparedViews.flatMap((view) => view.rows.map((row) => row.result)));
    select.append(...[...names].sort(compare).map((name) => element("option", { value: name, textContent: `baseline: ${name}` })));
    for (const view of comparedViews) {
      view.isReported = true;
      view.hides.push((row) => !others.checked && view.baseline && row.like !== view.baseline.like);
    }

    // The row of the fastest baseline, in the chosen scope.
    const getReported = (view, place) => ({ ...reported.get(view)[place], ...(isNodeScope ? view.table.nodes[place] : {}) });
    const resultViews = comparedViews.map((view) => views[view.id.replace(/-compare$/, "-results")]);
    for (const view of resultViews) reported.set(view, view.rows.map((row) => ({ ...row })));

    function update() {
      others.closest("label").hidden = !select.value;
      for (const view of comparedViews) {
        view.baseline = view.rows.find((row) => row.result === select.value);
        if (view.baseline || !view.isReported) compareRows(view);
        view.isReported = !view.baseline;
      }
    }

    function compareRows(view) {
      const rowsByResult = Object.fromEntries(view.rows.map((row) => [row.result, row]));
      view.rows.forEach((row, place) => {
        if (view.baseline) compareWithBaseline(row, view.baseline);
        else for (const key of keys) row[key] = getReported(view, place)[key];
        view.updateCells(place, keys);
      });
      showInResults(view, rowsByResult);
    }

    // Each row of results shows its own figures against the baseline, if its setting is in the group of the baseline.
    function showInResults(view, rowsByResult) {
      const results = views[view.id.replace(/-compare$/, "-results")];
      results.rows.forEach((row, place) => {
        const setting = rowsByResult[row.setting];
        const isShown = setting && hasScopeFigures(setting) && (!view.baseline || others.checked || setting.like === view.baseline.like);
        const isBaseline = isShown && setting === view.baseline && (setting.runs ?? 1) === 1;
        const cells = !isShown ? {} : !view.baseline ? getReported(results, place) : describeChanges(isBaseline ? view.baseline : row, view.baseline, false);
        for (const key of changeKeys) row[key] = cells[key] ?? null;
        results.updateCells(place, ["rate_percent", "joules_percent"]);
      });
    }
    followers.push(update);
  }

  function compareWithBaseline(row, base) {
    row.against = base.result;
    row.shared_boards = null;
    Object.assign(row, describeChanges(row, base, true));
  }

  // The changes against the baseline, over all runs or on shared boards, as compare_setting in reporting/sections/compare.py.
  function describeChanges(row, base, onSharedBoards) {
    const cells = {};
    for (const [short, key] of [["rate", "items_per_s_per_accelerator"], ["joules", "joules_per_item"]]) {
      const known = typeof row[key] === "number" && typeof base[key] === "number" && (short === "rate" || (hasScopeFigures(row) && hasScopeFigures(base)));
      const difference = known && row !== base ? compareRuns(row, base, key, onSharedBoards) : null;
      cells[`${short}_percent`] = known ? (difference?.percent ?? relative(row[key], base[key])) : null;
      cells[`${short}_told`] = known ? (row === base ? "baseline" : tellApart(difference)) : null;
      if (difference?.boards) cells.shared_boards = difference.boards;
    }
    return cells;
  }

  function tellApart(difference) {
    if (!difference) return "no interval";
    return difference.counts ? (difference.percent > 0 ? "higher" : "lower") : "not told apart";
  }

  // The number of runs of a setting on each board, with their mean of a figure; empty for a published figure.
  function listRuns(row, key) {
    const place = key === "joules_per_item" ? 3 : 2;
    const runs = new Map();
    for (const part of row.runs_by_board?.split("; ") ?? []) {
      const fields = part.split(", ");
      if (fields[place] !== "None") runs.set(fields[0], { runs: Number(fields[1]), mean: Number(fields[place]) });
    }
    return runs;
  }

  // Mean over runs, the number of runs, and the share of each board in them.
  function describeRuns(boards) {
    const runs = [...boards.values()].reduce((sum, board) => sum + board.runs, 0);
    const mean = [...boards.values()].reduce((sum, board) => sum + board.runs * board.mean, 0) / runs;
    return { runs, mean, shares: new Map([...boards].map(([name, board]) => [name, board.runs / runs])) };
  }

  const sumSquares = (values) => [...values].reduce((sum, value) => sum + value ** 2, 0);

  // As RunSpread.compute_variance in rules/metrics/uncertainty/between_runs.py.
  function computeVariance(spread, boards, runs) {
    const runVariance = spread.runs ? (spread.runs.sd_percent / 100) ** 2 : 0;
    const total = (spread.boards.sd_percent / 100) ** 2;
    const boardVariance = spread.runs ? Math.max(total - spread.runs_share * runVariance, 0) : total;
    return boards * boardVariance + runs * runVariance;
  }

  // The difference of two settings in percent and how certain it is, as compare_settings does there; null for published figures.
  function compareRuns(row, base, key, onSharedBoards = true) {
    const [own, other] = [row, base].map((r) => listRuns(r, key));
    const [spread, otherSpread] = [row, base].map((r) => getSpread(r, key));
    if (!own.size || !other.size || !spread || !otherSpread) return null;
    const candidates = [compareAllRuns(own, spread, other, otherSpread)];
    const shared = [...own.keys()].filter((board) => other.has(board));
    if (onSharedBoards && spread.runs && shared.length) candidates.unshift(compareOnBoards(own, other, shared, spread.runs));
    const [first, second = first] = candidates;
    const { logRatio, error, quantiles, boards } = second.quantiles.t95 * second.error < first.quantiles.t95 * first.error ? second : first;
    const isBeyond = (quantile) => Math.abs(logRatio) > quantile * error;
    const certainty = isBeyond(quantiles.t99) ? "certain" : isBeyond(quantiles.t95) ? "likely" : "not told apart";
    return { percent: 100 * Math.expm1(logRatio), certainty, counts: isBeyond(quantiles.t95), boards };
  }

  function compareAllRuns(own, spread, other, otherSpread) {
    const [first, second] = [describeRuns(own), describeRuns(other)];
    const common = spread.runs && otherSpread.runs ? [...first.shares].reduce((sum, [board, share]) => sum + share * (second.shares.get(board) ?? 0), 0) : 0;
    const variance = computeVariance(spread, sumSquares(first.shares.values()) - common, 1 / first.runs)
      + computeVariance(otherSpread, sumSquares(second.shares.values()) - common, 1 / second.runs);
    // Of runs on the same boards, the spread between runs is all that is left, or the most of it.
    const parts = [spread.boards, otherSpread.boards, ...(common ? [spread.runs] : [])];
    const quantiles = parts.reduce((least, part) => (part.degrees_of_freedom < least.degrees_of_freedom ? part : least));
    return { logRatio: Math.log(first.mean / second.mean), error: Math.sqrt(variance), quantiles, boards: 0 };
  }

  function compareOnBoards(own, other, boards, runSpread) {
    const logRatio = boards.reduce((sum, board) => sum + Math.log(own.get(board).mean / other.get(board).mean), 0) / boards.length;
    const weight = boards.reduce((sum, board) => sum + 1 / own.get(board).runs + 1 / other.get(board).runs, 0) / boards.length ** 2;
    return { logRatio, error: (runSpread.sd_percent / 100) * Math.sqrt(weight), quantiles: runSpread, boards: boards.length };
  }

  function createPanels() {
    baseline();
    return [whatIf(), nodeShare(), rack()].filter(Boolean);
  }
