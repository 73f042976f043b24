  // The panel of choices, the plots, the ranking and the list of rows. All choices are in the address.
  const CLASS_NAMES = { cnn: "CNN", transformer: "transformer", hybrid: "hybrid", mlp: "MLP", unknown: "unknown" };
  const ALTERNATIVES = 2; // models of the next least energy that the answer names if there is one setup
  const FIRST_ROWS = 25; // rows of the list that are shown at first
  const panel = document.querySelector('[data-panel="study"]');
  const milli = (joules) => joules * 1e3;
  const named = (row) => `${row.name}@${row.size}`;
  const modelId = (row) => `${models.architecture[row.model]}@${row.size}`;
  const boxes = (name) => [...panel.querySelectorAll(`input[name="${name}"]`)];
  const checked = (name) => boxes(name).filter((box) => box.checked).map((box) => Number(box.value));
  // The names that the address has for the boxes of a group.
  const keys = { setup: setups.map((setup) => setup.id), class: classes, set: imageSets };

  function describe(row) {
    const setup = setups[row.setup];
    const between = row.joulesLow ? ` (${number(milli(row.joulesLow))}–${number(milli(row.joulesHigh))})` : "";
    return [
      ["model", row.name], ["input", `${row.size} × ${row.size}`], ["class", CLASS_NAMES[classes[row.class]]], ["setup", setup.label],
      ...(row.accuracy === null ? [] : [["accuracy", `${fixed(row.accuracy, 2)} % (published)`]]),
      ["energy", `${number(milli(row.joules))} mJ/image${between}`], ["rate", `${number(row.imagesPerS)} images/s`],
      ...(row.latencyS ? [["latency", `${number(milli(row.latencyS))} ms`]] : []),
      ["batch", String(row.batch)], ["power", `${number(row.watts, 3)} W`],
      ...(row.rank ? [["score", `${fixed(row.score, 2)}, rank ${row.rank}`]] : []),
      ...(row.doubts.length ? [["doubted by", row.doubts.join(", ")]] : []),
      ...row.quotes.map((quote) => ["quoted", quote]),
      ...(row.isMislabelled ? [["remark", `above the peak of ${setup.claimed_precision}, the precision that the source states`]] : []),
    ];
  }

  // The encoding of a report: hue by board, shape by engine and precision, fill by provenance.
  function styleOf(row) {
    const { shape, colour, provenance } = setups[row.setup];
    const hollow = row.doubts.length || isExcluded(row.setup) ? " hollow" : "";
    // The first setup is drawn last, above the published ones.
    return { key: `${row.setup}${hollow}`, order: -row.setup, shape, colour, classes: `s${row.setup} ${provenance}${hollow}` };
  }
  const isExcluded = (setup) => !["measured", "published"].includes(setups[setup].provenance);
  // A word across plots with results that nobody measured as the method asks.
  const findWatermark = (rows) => ["simulated", "demo"].find((provenance) => rows.some((row) => setups[row.setup].provenance === provenance)) ?? "";

  // The points of rows, and a cross over each doubtful one.
  function markRows(rows, x, y) {
    const points = rows.map((row) => ({ x: x(row), y: y(row), row, style: styleOf(row) }));
    const crosses = rows.filter((row) => row.doubts.length).map((row) => ({ x: x(row), y: y(row), style: { key: "doubt", shape: "doubt", classes: "doubt" } }));
    return [...points, ...crosses];
  }

  const bars = new Map(); // the button of each row of the ranking
  const markBar = (row) => bars.forEach((button, other) => { button.ariaCurrent = other === row ? "true" : null; });
  const pickModel = (row) => { panel.elements.model.value = modelId(row); choose("model", modelId(row)); drawModel(); };
  const digits = (value, count = 4) => (Number.isFinite(value) ? Number(value.toPrecision(count)) : null);
  // The rows of a plot as a table and as CSV.
  const rowColumns = [
    ["model", (row) => row.name], ["size_px", (row) => row.size], ["class", (row) => CLASS_NAMES[classes[row.class]]], ["setup", (row) => setups[row.setup].label],
    ["accuracy_percent", (row) => (row.accuracy === null ? null : Number(row.accuracy.toFixed(3)))], ["energy_mj", (row) => digits(milli(row.joules))], ["images_per_s", (row) => row.imagesPerS],
    ["latency_ms", (row) => row.latencyS && digits(milli(row.latencyS))], ["batch", (row) => row.batch], ["power_w", (row) => digits(row.watts)],
  ];
  const sizeColumns = ["activations", "flops", "params"].map((key) => [key, (row) => models[key][row.model]]);
  const doubtColumn = ["doubts", (row) => row.doubts.join(" ")];
  const plot = (id, height) => createPlot(id, { height, describe, columns: [...rowColumns, ...sizeColumns, doubtColumn], point: markBar, pick: pickModel });
  const plots = {
    front: plot("study-scatter", 460), size: plot("study-size"), input: plot("study-input-energy"), inputAccuracy: plot("study-input-accuracy"), naive: plot("study-naive"),
    batch: plot("study-batch"), cap: plot("study-cap"), latency: plot("study-latency"), rate: plot("study-batch-rate"), watts: plot("study-batch-power"),
    power: plot("study-power", 420), years: plot("study-years", 420),
    ratio: setups.length > 1 && createPlot("study-ratio", { height: 360, describe: describePair, columns: pairColumns, pick: ({ over }) => pickModel(over) }),
  };
  const energyAxis = { title: "energy, mJ per image", log: true };

  function readChoice() {
    const { weight, scaling, minacc, maxmj, doubtful, find, goal } = panel.elements;
    return {
      goal: goal.valueAsNumber,
      setups: checked("setup"), classes: checked("class"), sets: checked("set"),
      weight: weight.valueAsNumber, scaling: scaling.value, doubtful: doubtful.checked, find: find.value,
      leastAccuracy: Number.isFinite(minacc.valueAsNumber) ? minacc.valueAsNumber : -Infinity,
      mostJoules: Number.isFinite(maxmj.valueAsNumber) ? maxmj.valueAsNumber / 1e3 : Infinity,
    };
  }

  let selection;
  function update() {
    const choice = readChoice();
    selection = select(choice);
    panel.elements["weight-shown"].value = choice.weight.toFixed(2);
    drawGoal(choice);
    drawTitles(choice);
    drawRanking(Number(panel.elements.top.value));
    drawList();
    drawSizes();
    drawInputSizes();
    drawNaive();
    drawPower(choice);
    drawYears(choice);
    if (plots.ratio) drawRatios();
    drawModel();
    drawLegend(choice);
    Object.assign(window.wattmark, { selection, capCurve, centres: () => findCentres(selection.shown) });
  }

  function drawScatter(choice) {
    const { shown, doubted } = selection;
    plots.front.draw(() => buildScatter(choice));
    const count = (n, word) => `${grouped(String(n))} ${word}${n === 1 ? "" : "s"}`;
    document.querySelector("[data-count]").value = `${count(shown.length, "result")} ranked${doubted.length ? `, ${count(doubted.length, "doubtful result")} crossed out` : ""}.`;
  }

  // The answer to the question of the page: which models reach an accuracy with the least energy.
  function drawGoal(choice) {
    panel.elements["goal-shown"].value = `${choice.goal} %`;
    document.querySelectorAll("[data-goal]").forEach((button) => { button.ariaPressed = String(Number(button.dataset.goal) === choice.goal); });
    const answers = choice.setups.map((setup) => element("li", {}, ...(choice.setups.length > 1 ? [drawSetupKey(setup)] : []), element("span", { textContent: describeCheapest(setup, selection.shown, choice.goal, choice.setups.length > 1 ? 0 : ALTERNATIVES) })));
    document.querySelector("[data-answers]").replaceChildren(...answers);
    drawScatter(choice);
  }

  // Charts of one whole setup have titles that state what it shows.
  function drawTitles(choice) {
    const isWhole = choice.setups.length === 1 && choice.classes.length === classes.length && choice.sets.join() === "0" && !choice.find && !choice.doubtful
      && choice.leastAccuracy === -Infinity && choice.mostJoules === Infinity;
    const findings = isWhole ? setups[choice.setups[0]].findings : {};
    for (const figure of document.querySelectorAll("figure.chart[id^=study-]")) {
      const title = figure.querySelector(".title");
      title.textContent = findings[figure.id] ?? title.dataset.neutral;
    }
  }

  function buildScatter(choice) {
    const { shown, doubted, fronts, energies } = selection;
    const rows = [...doubted, ...shown];
    const accuracies = rows.map((row) => row.accuracy);
    const energiesMj = rows.map((row) => milli(row.joules));
    const contours = contourLines(choice, energiesMj, accuracies, energies);
    const lines = fronts.map((front, n) => ({ points: steps(front), style: `front ${setups[choice.setups[n]].provenance}`, colour: setups[choice.setups[n]].colour }));
    const centres = findCentres(shown);
    const cheapest = choice.setups.map((setup) => findCheapest(setup, shown, choice.goal)[0]).filter(Boolean);
    const least = Math.min(...energiesMj);
    const goals = cheapest.map((row) => ({ points: [{ x: least / 2, y: choice.goal }, { x: milli(row.joules), y: choice.goal }, { x: milli(row.joules), y: row.accuracy }], style: "goal" }));
    const place = (row) => ({ x: milli(row.joules), y: row.accuracy });
    const ring = (row) => ({ ...place(row), style: { key: "goal", shape: "circle", radius: 7, classes: "goal" } });
    return {
      x: { ...energyAxis, values: energiesMj }, y: { title: "published top-1 accuracy, %", values: accuracies },
      points: [...markRows(rows, (row) => milli(row.joules), (row) => row.accuracy), ...cheapest.map(ring), ...centres.map((centre) => ({ ...place(centre), style: { key: "centre", shape: "cross", radius: 4.5, classes: "centre" } }))],
      lines: [...contours.map(({ points }) => ({ points, style: "contour" })), ...lines, ...goals],
      labels: contours.filter(({ at }) => at).map(({ score, at }) => ({ ...at, text: String(score), anchor: "start", dy: -3, classes: "soft" })),
      names: [
        ...centres.map((centre) => ({ ...place(centre), text: CLASS_NAMES[classes[centre.class]], distances: [9, 24, 40, 60, 85], classes: "strong" })),
        ...cheapest.map((row) => ({ ...place(row), text: named(row), distances: [10, 26, 45] })),
        // Names of the models of several fronts would cover each other.
        ...(fronts.length === 1 ? fronts[0].filter((row) => !cheapest.includes(row)).map((row) => ({ ...place(row), text: named(row), distances: [7, 14], covers: 1, classes: "soft" })) : []),
      ],
      watermark: findWatermark(rows),
    };
  }

  // A front reaches an accuracy from its energy on, so it is drawn as steps.
  function steps(front) {
    return front.flatMap((row, n) => [...(n ? [{ x: milli(row.joules), y: front[n - 1].accuracy }] : []), { x: milli(row.joules), y: row.accuracy }]);
  }

  function contourLines({ weight, scaling }, energiesMj, accuracies, energies) {
    if (weight >= 1 || !energiesMj.length) return [];
    const [low, high] = [Math.min(...energiesMj), Math.max(...energiesMj)];
    const best = selection.shown[0]?.score ?? 100;
    const floor = Math.min(...accuracies);
    const lines = [];
    for (let score = Math.floor(best); score > best - 12; score -= 2) {
      const points = [];
      for (let n = 0; n <= 60; n += 1) {
        const x = low * (high / low) ** (n / 60);
        points.push({ x, y: contourAccuracy(score, x / 1e3, energies, weight, scaling) });
      }
      lines.push({ score, points, at: points.find(({ y }) => y > floor && y < 100) });
    }
    return lines;
  }

  function drawLegend(choice) {
    const items = choice.setups.map((n) => [drawSetupKey(n), setups[n].label]);
    document.querySelector("[data-legend]").replaceChildren(...items.map((item) => element("li", {}, ...item)));
    document.querySelector("[data-sets]").textContent = choice.sets.map((n) => imageSets[n]).join(", ");
  }

  // The best models as bars of the points that they lose to energy and to accuracy; 100 points less these are the score.
  function drawRanking(top) {
    const best = selection.shown.slice(0, top);
    const widest = Math.max(...best.map((row) => 100 - row.score), 1e-9);
    bars.clear();
    const bar = (share, kind, colour) => Object.assign(element("span", { className: `bar ${kind}` }), { style: `width:${((100 * share) / widest).toFixed(2)}%;--mark:${colour}` });
    document.querySelector("[data-ranking]").replaceChildren(...best.map((row) => {
      const button = element("button", { type: "button" },
        element("span", { className: "name", textContent: `${row.rank}. ${named(row)}` }),
        element("span", { className: "parts" }, bar(row.lostToEnergy, "energy"), bar(row.lostToAccuracy, "accuracy", setups[row.setup].colour)),
        element("span", { className: "value", textContent: `${fixed(row.score, 2)} · ${fixed(row.accuracy, 1)} % · ${number(milli(row.joules), 3)} mJ · ${CLASS_NAMES[classes[row.class]]}` }));
      if (selection.fronts.length > 1) button.title = setups[row.setup].label;
      for (const type of ["pointerenter", "focus"]) button.addEventListener(type, () => plots.front.highlight((other) => other === row));
      button.addEventListener("click", () => pickModel(row));
      bars.set(row, button);
      return element("li", {}, button);
    }));
  }

  const listColumns = [
    ["rank", (row) => row.rank], ...rowColumns,
    ["score", (row) => Number(row.score.toFixed(4))], ["front", (row) => (selection.fronts.some((front) => front.includes(row)) ? "yes" : "")], doubtColumn,
  ];
  let listed = FIRST_ROWS;

  function drawList() {
    const body = document.querySelector("[data-list]").tBodies[0];
    const shownText = (key, value) => {
      if (value === null || value === "") return "–";
      if (typeof value !== "number") return value;
      return ["rank", "size_px", "batch"].includes(key) ? grouped(String(value)) : number(value);
    };
    body.replaceChildren(...selection.shown.slice(0, listed).map((row) => element("tr", {}, ...listColumns.map(([key, read]) => element(key === "model" ? "th" : "td", { ...(key === "model" ? { scope: "row" } : {}), textContent: shownText(key, read(row)) })))));
    labelCells(body.parentElement);
    const more = document.querySelector("[data-more]");
    more.hidden = selection.shown.length <= listed;
    more.textContent = `show all ${grouped(String(selection.shown.length))}`;
  }

  function saveRows() {
    const rows = [...selection.shown, ...selection.doubted];
    save("image-inference.csv", "text/csv", writeCsv(listColumns.map(([key]) => key), rows.map((row) => listColumns.map(([, read]) => read(row) ?? null))));
  }

  // What energy follows: parameters, FLOPs or activations.
  function drawSizes() {
    const select = panel.elements.sizeof;
    const key = select.value;
    const { unit, scale } = select.selectedOptions[0].dataset;
    plots.size.draw(() => ({
      watermark: findWatermark(selection.shown),
      x: { title: `${select.selectedOptions[0].textContent}, ${unit}`, log: true }, y: energyAxis,
      points: markRows(selection.shown.filter((row) => models[key][row.model]), (row) => models[key][row.model] / Number(scale), (row) => milli(row.joules)),
    }));
  }

  // Models that were measured at several input sizes, joined by lines.
  function drawInputSizes() {
    const accuracyAxis = { title: "published top-1 accuracy, %" };
    for (const [target, y, axis] of [[plots.input, (row) => milli(row.joules), energyAxis], [plots.inputAccuracy, (row) => row.accuracy, accuracyAxis]]) {
      target.draw(() => {
        const series = findSeveralSizes(selection.shown);
        return {
          watermark: findWatermark(series.flat()),
          x: { title: "side of the input, pixels", log: true }, y: axis,
          points: markRows(series.flat(), (row) => row.size, y),
          lines: series.map((rows) => ({ points: rows.map((row) => ({ x: row.size, y: y(row) })), style: `thin ${setups[rows[0].setup].provenance}`, colour: setups[rows[0].setup].colour })),
        };
      });
    }
  }

  function findSeveralSizes(rows) {
    const groups = new Map();
    for (const row of rows) {
      const key = `${row.setup} ${row.name}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(row);
    }
    return [...groups.values()].filter((group) => group.length > 1).map((group) => group.sort((a, b) => a.size - b.size));
  }

  function drawNaive() {
    const ratio = (row) => row.joules / (models.flops[row.model] * setups[row.setup].naive_joules_per_flop);
    plots.naive.draw(() => {
      const rows = selection.shown.filter((row) => models.flops[row.model] && setups[row.setup].naive_joules_per_flop);
      return {
        watermark: findWatermark(rows),
        x: { title: "GFLOPs per image", log: true }, y: { title: "measured over naive", log: true },
        points: markRows(rows, (row) => models.flops[row.model] / 1e9, ratio),
        lines: [{ points: [1e-9, 1e9].map((x) => ({ x, y: 1 })), style: "contour" }],
      };
    });
  }

  // Energy in mJ at each throughput where a board draws the power of its cap.
  function capCurve(capW, fastest) {
    return Array.from({ length: 120 }, (_, n) => ((n + 1) / 120) * 1.05 * fastest).map((rate) => ({ x: rate, y: milli(capW / rate) }));
  }

  // One model at all batch sizes, on all setups that have it.
  function drawModel() {
    const id = panel.elements.model.value || (selection.shown.length ? modelId(selection.shown[0]) : "");
    const rows = results.filter((row) => modelId(row) === id);
    const series = rows.map((row) => ({ row, batches: row.ladder.length ? row.ladder.map((step) => ({ ...row, joulesLow: null, ...step })) : row.batch ? [row] : [] }));
    const points = series.flatMap(({ batches }) => batches);
    const draw = (target, x, y, readX, readY, { extra = [], labels = [] } = {}) => target.draw(() => ({
      x, y, labels, points: markRows(points, readX, readY), watermark: findWatermark(points),
      lines: [...series.map(({ row, batches }) => ({ points: batches.map((step) => ({ x: readX(step), y: readY(step) })), style: `thin ${setups[row.setup].provenance}`, colour: setups[row.setup].colour })), ...extra],
    }));
    const energy = (step) => milli(step.joules);
    const batchAxis = { title: "batch, images", log: true };
    draw(plots.batch, batchAxis, energyAxis, (step) => step.batch, energy);
    draw(plots.rate, batchAxis, { title: "images/s", log: true }, (step) => step.batch, (step) => step.imagesPerS);
    draw(plots.watts, batchAxis, { title: "power, W", zero: true }, (step) => step.batch, (step) => step.watts);
    draw(plots.latency, batchAxis, { title: "latency of a batch, ms", log: true }, (step) => step.batch, (step) => milli(step.latencyS ?? NaN));
    const fastest = Math.max(...points.map((step) => step.imagesPerS), 1);
    const caps = [...new Set(rows.map((row) => setups[row.setup].cap_w).filter(Boolean))];
    const curves = caps.map((cap) => ({ style: "contour", points: capCurve(cap, fastest) }));
    // Labels at different heights do not overlap.
    const highest = milli(Math.max(...points.map((step) => step.joules)));
    const labels = caps.map((cap, n) => ({ y: highest * (0.95 - 0.14 * n), anchor: "start", dy: 0, text: `\u2002${cap} W`, classes: "soft" }));
    labels.forEach((label, n) => { label.x = milli(caps[n]) / label.y; });
    draw(plots.cap, { title: "images/s", zero: true }, { title: "energy, mJ per image", zero: true }, (step) => step.imagesPerS, energy, { extra: curves, labels });
    const known = [...new Set(rows.map((row) => row.setup))];
    document.querySelector("[data-model]").textContent = known.length ? `${id} on ${known.length} setup${known.length === 1 ? "" : "s"}:` : `No result has the model ${id}.`;
    document.querySelector("[data-keys]").replaceChildren(...known.map((n) => element("li", {}, drawSetupKey(n), setups[n].label)));
  }

  function drawSetupKey(n) {
    const { shape, colour, provenance } = setups[n];
    const key = svgElement("svg", { class: "key", viewBox: "-6 -6 12 12", "aria-hidden": "true" });
    key.append(svgElement("path", { class: `mark ${provenance}${isExcluded(n) ? " hollow" : ""}`, d: shapes[shape](0, 0, 4), ...colourOf({ colour }) }));
    return key;
  }

  function createPanels() {
    const fields = ["goal", "weight", "scaling", "minacc", "maxmj", "find", "top", "sizeof", "model", ...(plots.ratio ? ["over", "under"] : [])];
    const defaults = Object.fromEntries(fields.map((field) => [field, panel.elements[field].value]));
    const defaultBoxes = Object.fromEntries(Object.keys(keys).map((name) => [name, checked(name).join()]));
    const redraw = { goal: () => drawGoal(readChoice()), sizeof: drawSizes, model: drawModel, over: drawRatios, under: drawRatios, top: () => drawRanking(Number(panel.elements.top.value)) };
    document.getElementById("study-models").append(...[...new Set(results.map(modelId))].sort(collator.compare).map((value) => element("option", { value })));
    panel.addEventListener("submit", (event) => event.preventDefault());
    document.addEventListener("input", ({ target }) => {
      if (target.form !== panel) return;
      const { name } = target;
      if (name in keys) {
        const now = checked(name);
        choose(`${name}s`, now.join() === defaultBoxes[name] ? "" : now.map((n) => keys[name][n]).join() || "none");
      } else if (name === "doubtful") choose(name, target.checked ? "1" : "");
      else choose(name, target.value === defaults[name] ? "" : target.value);
      (redraw[name] ?? update)();
    });
    for (const button of document.querySelectorAll("[data-goal]")) {
      button.addEventListener("click", () => {
        panel.elements.goal.value = button.dataset.goal;
        panel.elements.goal.dispatchEvent(new Event("input", { bubbles: true }));
      });
    }
    document.querySelector("[data-more]").addEventListener("click", () => { listed = Infinity; drawList(); });
    document.querySelector("[data-save]").addEventListener("click", saveRows);
    for (const box of boxes("setup")) box.after(drawSetupKey(box.value));
    for (const part of document.querySelectorAll("[data-live]")) part.hidden = false;
    const restore = () => {
      for (const field of fields) panel.elements[field].value = chosen.get(field) ?? defaults[field];
      for (const [name, ids] of Object.entries(keys)) {
        const wanted = chosen.has(`${name}s`) ? chosen.get(`${name}s`).split(",").map((id) => ids.indexOf(id)) : defaultBoxes[name].split(",").map(Number);
        for (const box of boxes(name)) box.checked = wanted.includes(Number(box.value));
      }
      panel.elements.doubtful.checked = chosen.has("doubtful");
      update();
    };
    return [{ restore }];
  }
