DATA
PLOT
  // The panel of choices, the plots, the ranking and the list of rows. All choices are in the address.
  const CLASS_NAMES = { cnn: "CNN", transformer: "transformer", hybrid: "hybrid", mlp: "MLP", unknown: "unknown" };
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
      ...(row.isMislabelled ? [["remark", `above the peak of ${setup.claimed_precision}, the precision that the source states`]] : []),
    ];
  }

  function styleOf(row, by = "class") {
    const setup = setups[row.setup];
    const colour = by === "class" ? `c${row.class}` : `s${row.setup % 8}`;
    const hollow = row.doubts.length || setup.provenance === "demo" ? " hollow" : "";
    return { key: `${colour} ${setup.shape}${hollow}`, shape: setup.shape, classes: `${colour} ${setup.provenance}${hollow}` };
  }

  // The points of rows, and a cross over each doubtful one.
  function markRows(rows, x, y, by) {
    const points = rows.map((row) => ({ x: x(row), y: y(row), row, style: styleOf(row, by) }));
    const crosses = rows.filter((row) => row.doubts.length).map((row) => ({ x: x(row), y: y(row), style: { key: "doubt", shape: "doubt", classes: "doubt" } }));
    return [...points, ...crosses];
  }

  const bars = new Map(); // the button of each row of the ranking
  const markBar = (row) => bars.forEach((button, other) => { button.ariaCurrent = other === row ? "true" : null; });
  const pickModel = (row) => { panel.elements.model.value = modelId(row); choose("model", modelId(row)); drawModel(); };
  const plot = (id, height) => createPlot(id, { height, describe, point: markBar, pick: pickModel });
  const plots = {
    front: plot("study-scatter", 460), size: plot("study-size"), input: plot("study-input-energy"), inputAccuracy: plot("study-input-accuracy"), naive: plot("study-naive"),
    batch: plot("study-batch"), cap: plot("study-cap"), latency: plot("study-latency"),
  };
  const energyAxis = { title: "energy, mJ per image", log: true };

  function readChoice() {
    const { weight, scaling, minacc, maxmj, doubtful, find } = panel.elements;
    return {
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
    drawScatter(choice);
    drawRanking(Number(panel.elements.top.value));
    drawList();
    drawSizes();
    drawInputSizes();
    drawNaive();
    drawLegend(choice);
    Object.assign(window.wattmark, { selection, capCurve, centres: () => findCentres(selection.shown) });
  }

  function drawScatter(choice) {
    const { shown, doubted } = selection;
    plots.front.draw(() => buildScatter(choice));
    const count = (n, word) => `${grouped(String(n))} ${word}${n === 1 ? "" : "s"}`;
    document.querySelector("[data-count]").value = `${count(shown.length, "result")} ranked${doubted.length ? `, ${count(doubted.length, "doubtful result")} crossed out` : ""}.`;
  }

  function buildScatter(choice) {
    const { shown, doubted, fronts, energies } = selection;
    const rows = [...doubted, ...shown];
    const accuracies = rows.map((row) => row.accuracy);
    const energiesMj = rows.map((row) => milli(row.joules));
    const contours = contourLines(choice, energiesMj, accuracies, energies);
    const lines = fronts.map((front, n) => ({ points: steps(front), style: `front ${setups[choice.setups[n]].provenance}` }));
    const centres = findCentres(shown);
    return {
      x: { ...energyAxis, values: energiesMj }, y: { title: "published top-1 accuracy, %", values: accuracies },
      points: [...markRows(rows, (row) => milli(row.joules), (row) => row.accuracy), ...centres.map((centre) => ({ x: milli(centre.joules), y: centre.accuracy, style: { key: `centre${centre.class}`, shape: "circle", radius: 7, classes: `centre c${centre.class}` } }))],
      lines: [...contours.map(({ points }) => ({ points, style: "contour" })), ...lines],
      labels: [
        ...contours.filter(({ at }) => at).map(({ score, at }) => ({ ...at, text: String(score), anchor: "start", dy: -3, classes: "soft" })),
        ...centres.map((centre) => ({ x: milli(centre.joules), y: centre.accuracy, dy: -11, text: CLASS_NAMES[classes[centre.class]], classes: "strong" })),
      ],
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
    const items = [
      ...choice.classes.map((n) => [drawKey("circle", `c${n}`), CLASS_NAMES[classes[n]]]),
      ...choice.setups.map((n) => [drawSetupKey(n), setups[n].label]),
    ];
    document.querySelector("[data-legend]").replaceChildren(...items.map((item) => element("li", {}, ...item)));
    document.querySelector("[data-sets]").textContent = choice.sets.map((n) => imageSets[n]).join(", ");
  }

  // The best models as bars of the points that they lose to energy and to accuracy; 100 points less these are the score.
  function drawRanking(top) {
    const best = selection.shown.slice(0, top);
    const widest = Math.max(...best.map((row) => 100 - row.score), 1e-9);
    bars.clear();
    const bar = (share, kind) => Object.assign(element("span", { className: `bar ${kind}` }), { style: `width:${((100 * share) / widest).toFixed(2)}%` });
    document.querySelector("[data-ranking]").replaceChildren(...best.map((row) => {
      const button = element("button", { type: "button" },
        element("span", { className: "name", textContent: `${row.rank}. ${named(row)}` }),
        element("span", { className: "bars" }, bar(row.lostToEnergy, "energy"), bar(row.lostToAccuracy, `accuracy c${row.class}`)),
        element("span", { className: "value", textContent: `${fixed(row.score, 2)} · ${fixed(row.accuracy, 1)} % · ${number(milli(row.joules), 3)} mJ` }));
      if (selection.fronts.length > 1) button.title = setups[row.setup].label;
      for (const type of ["pointerenter", "focus"]) button.addEventListener(type, () => plots.front.highlight((other) => other === row));
      button.addEventListener("click", () => pickModel(row));
      bars.set(row, button);
      return element("li", {}, button);
    }));
  }

  const listColumns = [
    ["rank", (row) => row.rank], ["model", (row) => row.name], ["size", (row) => row.size], ["class", (row) => CLASS_NAMES[classes[row.class]]],
    ["setup", (row) => setups[row.setup].label], ["accuracy_percent", (row) => Number(row.accuracy.toFixed(3))], ["energy_mj", (row) => Number(milli(row.joules).toPrecision(4))],
    ["images_per_s", (row) => row.imagesPerS], ["latency_ms", (row) => row.latencyS && Number(milli(row.latencyS).toPrecision(4))], ["batch", (row) => row.batch], ["power_w", (row) => Number(row.watts.toPrecision(4))],
    ["score", (row) => Number(row.score.toFixed(4))], ["front", (row) => (selection.fronts.some((front) => front.includes(row)) ? "yes" : "")], ["doubts", (row) => row.doubts.join(" ")],
  ];
  let listed = FIRST_ROWS;

  function drawList() {
    const body = document.querySelector("[data-list]").tBodies[0];
    const shownText = (key, value) => {
      if (value === null || value === "") return "–";
      if (typeof value !== "number") return value;
      return ["rank", "size", "batch"].includes(key) ? grouped(String(value)) : number(value);
    };
    body.replaceChildren(...selection.shown.slice(0, listed).map((row) => element("tr", {}, ...listColumns.map(([key, read]) => element(key === "model" ? "th" : "td", { ...(key === "model" ? { scope: "row" } : {}), textContent: shownText(key, read(row)) })))));
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
          x: { title: "side of the input, pixels", log: true }, y: axis,
          points: markRows(series.flat(), (row) => row.size, y),
          lines: series.map((rows) => ({ points: rows.map((row) => ({ x: row.size, y: y(row) })), style: `thin c${rows[0].class}` })),
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
      x, y, labels, points: markRows(points, readX, readY, "setup"),
      lines: [...series.map(({ row, batches }) => ({ points: batches.map((step) => ({ x: readX(step), y: readY(step) })), style: `thin s${row.setup % 8}` })), ...extra],
    }));
    const energy = (step) => milli(step.joules);
    const batchAxis = { title: "batch, images", log: true };
    draw(plots.batch, batchAxis, energyAxis, (step) => step.batch, energy);
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
    document.querySelector("[data-keys]").replaceChildren(...known.map((n) => element("li", {}, drawKey(setups[n].shape, `s${n % 8}`), setups[n].label)));
  }

  const drawSetupKey = (n) => drawKey(setups[n].shape, `key-mark${setups[n].provenance === "demo" ? " hollow" : ""}`);

  function drawKey(shape, classes) {
    const key = svgElement("svg", { class: "key", viewBox: "-6 -6 12 12", "aria-hidden": "true" });
    key.append(svgElement("path", { class: `mark ${classes}`, d: shapes[shape](0, 0, 4) }));
    return key;
  }

  function createPanels() {
    const fields = ["weight", "scaling", "minacc", "maxmj", "find", "top", "sizeof", "model"];
    const defaults = Object.fromEntries(fields.map((field) => [field, panel.elements[field].value]));
    const defaultBoxes = Object.fromEntries(Object.keys(keys).map((name) => [name, checked(name).join()]));
    const redraw = { sizeof: drawSizes, model: drawModel, top: () => drawRanking(Number(panel.elements.top.value)) };
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
    document.querySelector("[data-more]").addEventListener("click", () => { listed = Infinity; drawList(); });
    document.querySelector("[data-save]").addEventListener("click", saveRows);
    for (const box of boxes("setup")) box.after(drawSetupKey(box.value));
    for (const box of boxes("class")) box.after(drawKey("circle", `c${box.value}`));
    for (const part of document.querySelectorAll("[data-live]")) part.hidden = false;
    const restore = () => {
      for (const field of fields) panel.elements[field].value = chosen.get(field) ?? defaults[field];
      for (const [name, ids] of Object.entries(keys)) {
        const wanted = chosen.has(`${name}s`) ? chosen.get(`${name}s`).split(",").map((id) => ids.indexOf(id)) : defaultBoxes[name].split(",").map(Number);
        for (const box of boxes(name)) box.checked = wanted.includes(Number(box.value));
      }
      panel.elements.doubtful.checked = chosen.has("doubtful");
      update();
      drawModel();
    };
    return [{ restore }];
  }
