  // The plots of the trends and the panel of choices. All choices are in the address. The arithmetic is that of rules/studies/trends/; a test
  // compares the two.
  const START_YEAR = 2010;
  const DAY_MS = 86400e3;
  const panel = document.querySelector('[data-panel="trends"]');
  const regressions = Object.fromEntries(about.regressions.map((line) => [line.id, { intercept: line.intercept.value, slope: line.slope.value }]));
  const LINES = { CV: { efficiency: "cv-efficiency", all: "cv-all-gflops", best: "cv-best-gflops" }, NLP: { efficiency: "nlp-efficiency", all: "nlp-all-gflops", best: "nlp-records-gflops" } };
  const onLine = (line, year) => 10 ** (line.intercept + line.slope * (year - START_YEAR));
  const toYear = (date) => START_YEAR + (Date.parse(date) - Date.UTC(START_YEAR, 0, 1)) / DAY_MS / 365.25;
  const DOMAIN_NAMES = { CV: "vision", NLP: "language" };
  const BEST_NAMES = { CV: "the most accurate vision models", NLP: "the largest language models" };
  const formatYear = (year) => String(year);
  const yearAxis = { title: "year", format: formatYear };

  function readChoice() {
    const { estimator, date, domain, rate, inferred } = panel.elements;
    return {
      estimator: about.estimators[estimator.selectedIndex], year: date.value ? toYear(date.value) : null, date: date.value, domain: domain.value,
      rate: rate.valueAsNumber > 0 ? rate.valueAsNumber : 1, inferred: inferred.checked,
    };
  }

  // Joules of a GFLOP by the chosen estimator, for a model of this year.
  function joulesPerGflop(choice, year) {
    if (choice.estimator.joules_per_gflop !== null) return choice.estimator.joules_per_gflop;
    const line = regressions[LINES[choice.domain].efficiency];
    return line ? 1 / onLine(line, choice.year ?? year) : NaN;
  }

  // The regression of joules that follows from that of GFLOPs: the logarithm of the energy of a GFLOP is linear in time, or constant.
  function toJoules(line, choice) {
    const [atStart, later] = [0, 1].map((years) => Math.log10(joulesPerGflop(choice, START_YEAR + years)));
    return { intercept: line.intercept + atStart, slope: line.slope + later - atStart };
  }

  const select = (choice) => ({
    boards: about.boards.filter((board) => board.adapted === "No" || board.adapted === (choice.domain === "CV" ? "For CNN" : "For NLP")),
    models: about.models.filter((model) => model.domain === choice.domain && (choice.inferred || model.status !== "inferred")),
    ownBoards: about.own_boards.filter((board) => board.domain === choice.domain),
    ownModels: about.own_models.filter((model) => model.domain === choice.domain),
    laterModels: about.later_models.filter((model) => model.domain === choice.domain),
  });

  const isHollow = (row) => row.status === "doubtful" || row.status === "inferred";
  // The encoding of a report: what was measured here has the hue of its board and is filled, what was published is faint.
  function styleOf(row, publishedShape) {
    const hollow = isHollow(row) ? " hollow" : "";
    const shape = row.shape ?? publishedShape;
    return { key: `${shape} ${row.colour}${hollow}`, shape, colour: row.colour ?? "var(--soft)", classes: `${row.shape ? "measured" : "published"}${hollow}` };
  }
  const mark = (rows, y, publishedShape) => rows.map((row) => ({ x: row.year, y: y(row), row, style: styleOf(row, publishedShape) }));

  function describe(row) {
    return [
      ["name", row.name], ["date", row.date],
      ...(row.precision ? [["precision", row.precision]] : []),
      ...(row.gflops_per_w ? [["efficiency", `${number(row.gflops_per_w)} GFLOP/s per W`]] : []),
      ...(row.measured ? [["measured", row.measured]] : []),
      ...(row.score ? [[row.domain === "CV" ? "top-1 accuracy" : "GLUE score", number(row.score)]] : []),
      ...(row.params ? [["parameters", `${number(row.params)} millions`]] : []),
      ...(row.gflops ? [["FLOPs", `${number(row.gflops)} GFLOP`]] : []),
      ...(row.joules ? [["measured energy", `${number(row.joules)} J per ${row.item}`]] : []),
      ...(row.gflops && !row.joules ? [["estimate", `${number(row.gflops * joulesPerGflop(readChoice(), row.year))} J`]] : []),
      ...(row.status && row.status !== "ok" ? [["transcription", row.status]] : []),
    ];
  }

  const columns = ["name", "date", "precision", "gflops_per_w", "score", "params", "gflops", "joules", "board", "measured", "status"].map((key) => [key, (row) => row[key]]);
  const plot = (id) => createPlot(id, { height: 380, describe, columns: [...columns, ["estimated_joules", (row) => (row.gflops && !row.joules ? Number((row.gflops * joulesPerGflop(readChoice(), row.year)).toPrecision(4)) : null)]], pick: () => {} });
  const plots = { boards: plot("trends-efficiency"), flops: plot("trends-flops"), joules: plot("trends-joules"), peaks: plot("trends-peaks"), axes: plot("trends-axes") };

  // A line over the years of the points.
  function drawTrend(line, rows, style) {
    const years = rows.map((row) => row.year);
    return line && years.length ? [{ points: [Math.min(...years), Math.max(...years)].map((year) => ({ x: year, y: onLine(line, year) })), style }] : [];
  }

  // The name of a line at its later end; `side`: see placeLabels.
  const nameTrend = (line, rows, text, side = 0) => drawTrend(line, rows, "").map(({ points }) => ({ ...points[1], text, side, distances: [12, 26, 45, 70, 100], classes: "strong" }));
  // Runs on one board share a launch; its name stands once, at the most efficient run.
  function nameBoards(rows, y) {
    const best = new Map();
    for (const row of rows) if (!best.has(row.year) || y(row) > y(best.get(row.year))) best.set(row.year, row);
    return [...best.values()].map((row) => ({ x: row.year, y: y(row), text: `${row.board}, measured here`, distances: [10, 26] }));
  }
  function setTitle(id, text) { document.querySelector(`#${id} .title`).textContent = text; }

  function drawBoards(choice, { boards, ownBoards }) {
    const efficiency = (row) => row.gflops_per_w;
    const laterBoards = about.later_boards.filter((board) => board.precision === "fp32");
    const everything = [...boards, ...laterBoards, ...ownBoards];
    const endYear = Math.max(...everything.map((row) => row.year));
    const fits = ["CV", "NLP"].map((domain) => ({ domain, line: regressions[LINES[domain].efficiency] })).filter(({ line }) => line);
    const [highest] = [...fits].sort((a, b) => onLine(b.line, endYear) - onLine(a.line, endYear));
    plots.boards.draw(() => ({
      x: yearAxis, y: { title: "GFLOP/s per W", log: true, values: [...everything.map(efficiency), ...fits.map(({ line }) => onLine(line, endYear))] },
      points: [...mark(boards.filter((row) => row.adapted === "No"), efficiency, "circle"), ...mark(boards.filter((row) => row.adapted !== "No"), efficiency, "diamond"), ...mark(laterBoards, efficiency, "square"), ...mark(ownBoards, efficiency)],
      lines: fits.flatMap(({ line }) => drawTrend(line, everything, "published")),
      names: [
        ...fits.flatMap((fit) => nameTrend(fit.line, everything, `fit for ${DOMAIN_NAMES[fit.domain]} models`, fit === highest ? -1 : 1)),
        ...nameBoards(ownBoards, efficiency),
      ],
    }));
    const [vision, language] = ["CV", "NLP"].map((domain) => regressions[LINES[domain].efficiency]).map((line) => line && number(10 ** line.slope, 3));
    if (vision && language) setTitle("trends-efficiency", `GFLOP/s per W grow ${vision} times a year for vision models, ${language} times for language models`);
  }

  // `limits`: horizontal lines with names.
  function drawModels(id, target, quantity, title, choice, { models, ownModels, laterModels }, y, ownY, convert, limits = []) {
    const lines = ["all", "best"].map((kind) => regressions[LINES[choice.domain][kind]]).map((line) => line && convert(line));
    const years = [...models, ...laterModels, ...ownModels].map((row) => row.year);
    const [from, to] = [Math.min(...years), Math.max(...years)];
    target.draw(() => ({
      x: yearAxis, y: { title, log: true, values: [...models.map(y), ...laterModels.map(y), ...ownModels.map(ownY), ...limits.map((limit) => limit.y)] },
      points: [...mark(models.filter((row) => !row.best), y, "circle"), ...mark(models.filter((row) => row.best), y, "diamond"), ...mark(laterModels, y, "square"), ...mark(ownModels, ownY)],
      lines: [...drawTrend(lines[0], models, "contour"), ...drawTrend(lines[1], models, "published"), ...limits.map((limit) => ({ points: [{ x: from - 1, y: limit.y }, { x: to + 1, y: limit.y }], style: "goal" }))],
      names: [...limits.map((limit) => ({ x: from + (to - from) * 0.3, y: limit.y, text: limit.text, side: limit.side, distances: [14, 24, 40] })),
        ...nameTrend(lines[1], models, BEST_NAMES[choice.domain]), ...nameTrend(lines[0], models, "all models")],
    }));
    const factor = lines[1] && 10 ** lines[1].slope;
    if (factor) setTitle(id, `${quantity} of ${BEST_NAMES[choice.domain]} ${factor < 1 ? "fall to" : "grow"} ${number(factor, 3)} times a year`);
  }

  // What the best-of-year line says for people.
  function summarize(choice) {
    const gflops = regressions[LINES[choice.domain].best];
    if (!gflops) return { text: "Too few models are known for a line." };
    const line = toJoules(gflops, choice);
    const humanJoules = about.human_power_w / choice.rate;
    const humanYear = line.slope > 0 ? START_YEAR + (Math.log10(humanJoules) - line.intercept) / line.slope : null;
    const lastYear = Math.max(...about.models.filter((model) => model.domain === choice.domain && model.best).map((model) => model.year));
    const joules = onLine(line, lastYear);
    const meets = humanYear === null ? "The line does not rise." : `The line meets it in ${fixed(humanYear, 1).replace(NO_BREAK, "")}.`;
    const efficiency = 1 / joulesPerGflop(choice, lastYear);
    const when = choice.estimator.joules_per_gflop !== null ? "" : choice.date ? ` at ${choice.date}` : ` in ${fixed(lastYear, 1).replace(NO_BREAK, "")}`;
    const text = `Efficiency${when}: ${number(efficiency)} GFLOP/s per W. On the line of the ${choice.domain === "CV" ? "most accurate" : "largest"} models, an inference of ${fixed(lastYear, 1).replace(NO_BREAK, "")} takes ${number(joules, 3)} J. At ${choice.rate} inference${Number(choice.rate) === 1 ? "" : "s"} per person and second, that is ${number(joules * choice.rate, 3)} W per person. A person takes ${number(about.human_power_w, 3)} W (2 000 kcal a day). ${meets}`;
    return { efficiency, joules, humanYear, watts: joules * choice.rate, text };
  }

  function update() {
    const choice = readChoice();
    const selection = select(choice);
    const joules = (row) => row.gflops * joulesPerGflop(choice, row.year);
    panel.elements.date.disabled = choice.estimator.joules_per_gflop !== null;
    drawBoards(choice, selection);
    drawModels("trends-flops", plots.flops, "FLOPs of an inference", "GFLOP per inference", choice, selection, (row) => row.gflops, (row) => row.gflops, (line) => line);
    drawModels("trends-joules", plots.joules, "Joules of an inference", "J per inference", choice, selection, joules, (row) => row.joules, (line) => toJoules(line, choice), [
      { y: about.human_power_w / choice.rate, text: "a person’s food", side: 1 },
      { y: about.human_external_power_w / choice.rate, text: "a person’s other energy", side: 1 },
    ]);
    drawPeaks();
    drawAxesOf(choice, selection, joules);
    const summary = summarize(choice);
    document.querySelector("[data-summary]").value = summary.text;
    document.querySelector("[data-estimator]").textContent = choice.estimator.about;
    Object.assign(window.wattmark, { selection, summary, joulesOf: joules });
  }

  function createPanels() {
    const fields = ["estimator", "date", "domain", "rate", "x", "y"];
    const defaults = Object.fromEntries(fields.map((field) => [field, panel.elements[field].value]));
    panel.addEventListener("submit", (event) => event.preventDefault());
    document.addEventListener("input", ({ target }) => {
      if (target.form !== panel) return;
      if (target.name === "inferred") choose("inferred", target.checked ? "1" : "");
      else choose(target.name, target.value === defaults[target.name] ? "" : target.value);
      update();
    });
    for (const part of document.querySelectorAll("[data-live]")) part.hidden = false;
    const restore = () => {
      for (const field of fields) panel.elements[field].value = chosen.get(field) ?? defaults[field];
      panel.elements.inferred.checked = chosen.has("inferred");
      update();
    };
    return [{ restore }];
  }
