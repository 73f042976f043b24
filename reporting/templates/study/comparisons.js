  // All models of the chosen setups: at their power, by year of publication, and of two setups against each other.
  // On logarithmic axes, the points of one power are on a straight line.
  function drawPower({ setups: chosenSetups }) {
    plots.power.draw(() => {
      const rows = selection.shown;
      const rates = rows.map((row) => row.imagesPerS);
      const [slowest, fastest] = [Math.min(...rates), Math.max(...rates)];
      const energies = rows.map((row) => milli(row.joules));
      const caps = [...new Set(chosenSetups.map((n) => setups[n].cap_w).filter(Boolean))];
      const onCap = (cap, x) => ({ x, y: milli(cap / x) });
      return {
        watermark: findWatermark(rows),
        x: { title: "images/s", log: true }, y: { ...energyAxis, values: energies },
        points: markRows(rows, (row) => row.imagesPerS, (row) => milli(row.joules)),
        lines: caps.map((cap) => ({ points: [slowest / 4, fastest * 4].map((x) => onCap(cap, x)), style: "published" })),
        names: caps.map((cap, n) => ({ ...onCap(cap, slowest * (fastest / slowest) ** (0.35 + 0.3 * (n % 2))), text: `${cap} W, the power cap`, side: -1, distances: [14, 30, 50] })),
      };
    });
  }

  // The fronts of the models that were published by the end of each year, of the first chosen setup.
  function findYearlyFronts(rows) {
    const year = (row) => models.year[row.model];
    const years = [...new Set(rows.map(year).filter(Boolean))].sort((a, b) => a - b);
    return years.map((last) => ({ year: last, front: findFront(rows.filter((row) => year(row) && year(row) <= last)) }));
  }

  // The years at the most accurate model of their fronts. Years in which the same model led share a label.
  function nameEnds(fronts) {
    const yearsOf = new Map();
    for (const { year, front } of fronts) if (front.length) yearsOf.set(front.at(-1), [...(yearsOf.get(front.at(-1)) ?? []), year]);
    return [...yearsOf].map(([row, years]) => ({ row, text: years.length > 1 ? `${years[0]}–${years.at(-1)}` : `${years[0]}` }));
  }

  // From violet to orange, equally light.
  const colourOfYear = (n, count) => `hsl(${265 + (130 * n) / Math.max(count - 1, 1)} 55% 52%)`;

  function drawYears(choice) {
    plots.years.draw(() => {
      const [setup] = choice.setups;
      const fronts = findYearlyFronts(selection.shown.filter((row) => row.setup === setup));
      window.wattmark.yearlyFronts = fronts;
      const place = (row) => ({ x: milli(row.joules), y: row.accuracy });
      const looks = fronts.map(({ year, front }, n) => ({ year, front, colour: colourOfYear(n, fronts.length) }));
      return {
        watermark: findWatermark(selection.shown),
        x: energyAxis, y: { title: "published top-1 accuracy, %" },
        points: looks.flatMap(({ year, front, colour }) => front.filter((row) => models.year[row.model] === year)
          .map((row) => ({ ...place(row), row, style: { ...styleOf(row), key: `year ${year}`, colour } }))),
        lines: looks.map(({ front, colour }) => ({ points: steps(front), style: "front", colour })),
        names: nameEnds(fronts).map(({ row, text }) => ({ ...place(row), text, distances: [9, 20, 34], classes: "strong" })),
      };
    });
  }

  const pairColumns = [
    ["model", ({ over }) => over.name], ["size_px", ({ over }) => over.size], ["class", ({ over }) => CLASS_NAMES[classes[over.class]]],
    ["over", ({ over }) => setups[over.setup].label], ["under", ({ under }) => setups[under.setup].label], ["energy_ratio", ({ ratio }) => digits(ratio)],
    ["over_mj", ({ over }) => digits(milli(over.joules))], ["under_mj", ({ under }) => digits(milli(under.joules))], ["throughput_ratio", ({ over, under }) => digits(over.imagesPerS / under.imagesPerS)],
  ];
  function describePair({ over, under, ratio }) {
    return [["model", named(over)], ["energy ratio", number(ratio, 3)], [setups[over.setup].label, `${number(milli(over.joules))} mJ/image`], [setups[under.setup].label, `${number(milli(under.joules))} mJ/image`]];
  }

  // The models of both setups, as in rules/studies/metrics/comparisons.py. Measured weights are seeded: they are compared with one published
  // result of each architecture and size.
  function pairModels(over, under) {
    const sound = (setup) => results.filter((row) => row.setup === setup && !row.doubts.length);
    const key = setups[over].provenance === setups[under].provenance ? (row) => row.model : modelId;
    const others = new Map();
    for (const row of sound(under)) if (!others.has(key(row))) others.set(key(row), row);
    const seen = new Set();
    return sound(over).flatMap((row) => {
      const other = others.get(key(row));
      if (!other || seen.has(key(row))) return [];
      seen.add(key(row));
      return [{ over: row, under: other, ratio: row.joules / other.joules }];
    });
  }

  function drawRatios() {
    const [over, under] = ["over", "under"].map((name) => panel.elements[name].selectedIndex);
    const provenances = [setups[over].provenance, setups[under].provenance];
    const isMixed = provenances[0] !== provenances[1] && provenances.some((provenance) => ["simulated", "demo"].includes(provenance));
    const pairs = over === under || isMixed ? [] : pairModels(over, under);
    const logs = pairs.map(({ ratio }) => Math.log(ratio));
    const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
    const spread = Math.sqrt(logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1));
    const factor = Math.exp(mean);
    Object.assign(window.wattmark, { ratio: { count: pairs.length, factor } });
    document.querySelector("[data-ratio]").value = pairs.length
      ? `${grouped(String(pairs.length))} models: geometric mean ${number(factor, 4)}${pairs.length > 1 ? `, geometric standard deviation ${number(Math.exp(spread), 3)}` : ""}.`
      : isMixed ? "Simulated and demo results are compared with their like only." : "The setups have no model in common.";
    plots.ratio.draw(() => {
      const energies = pairs.map(({ under: other }) => milli(other.joules));
      const level = (y, style) => ({ points: [Math.min(...energies) / 2, Math.max(...energies) * 2].map((x) => ({ x, y })), style });
      return {
        watermark: findWatermark(pairs.flatMap(({ over: first, under: second }) => [first, second])),
        x: { title: "energy of the second setup, mJ per image", log: true }, y: { title: "energy ratio", log: true, values: [1, ...pairs.map(({ ratio }) => ratio)] },
        points: pairs.map((pair) => ({ x: milli(pair.under.joules), y: pair.ratio, row: pair, style: styleOf(pair.over) })),
        lines: pairs.length ? [level(1, "contour"), level(factor, "published")] : [],
        names: pairs.length ? [{ x: Math.max(...energies), y: factor, text: `geometric mean ${number(factor, 4)}`, classes: "strong", side: -1, covers: 6, distances: [16, 30, 50, 80, 120] }] : [],
      };
    });
  }
