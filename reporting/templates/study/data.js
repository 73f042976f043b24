  // The rows of the page, what the reader chose of them, and what follows from that choice. Fronts and scores are computed as in
  // rules/studies/metrics/; a test compares the two.
  const study = about.study;
  const { classes, image_sets: imageSets, models, setups } = study;

  // The name of a model as timm writes it, such as resnet50.a1_in1k.
  const nameModel = (n) => models.architecture[n] + (models.tag[n] ? `.${models.tag[n]}` : "");

  // One object per model, input size and setup. Energy is in J, latency in s.
  const results = study.results.flatMap((columns, setup) => columns.model.map((model, n) => {
    const value = (key) => columns[key]?.[n] ?? null;
    const [imagesPerS, joules] = [value("images_per_s"), value("joules")];
    return {
      setup, model, imagesPerS, joules, accuracy: null, lostToEnergy: 0, lostToAccuracy: 0, score: 0, rank: null,
      name: nameModel(model), searchText: `${nameModel(model)}@${models.size[model]}`.toLowerCase(), size: models.size[model], class: models.class[model],
      batch: value("batch"), maxBatch: value("max_batch"), watts: joules * imagesPerS, latencyS: value("latency_s"),
      joulesLow: value("joules_low"), joulesHigh: value("joules_high"), doubts: columns.doubts[n] ?? [], quotes: columns.quotes?.[n] ?? [],
      isMislabelled: columns.mislabelled.includes(n),
      ladder: columns.ladder ? readLadder(study.ladders[columns.ladder[n]], columns.ladder_images_per_s[n], columns.ladder_joules[n]) : [],
    };
  }));

  function readLadder(batches, imagesPerS, joules) {
    return batches.map((batch, n) => ({ batch, imagesPerS: imagesPerS[n], joules: joules[n], latencyS: batch / imagesPerS[n], watts: joules[n] * imagesPerS[n] }));
  }

  // The mean of the published accuracies of a model on the chosen image sets; null if one is unknown.
  function meanAccuracy(model, chosenSets) {
    const values = chosenSets.map((set) => models.accuracy[set][model]);
    return values.length && values.every((value) => value !== null) ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
  }

  // What an energy costs in points before its weight, as in rules/studies/metrics/scores.py. `energies` has the least and the largest energy of
  // all models of the chosen setups, also of those that a filter hides.
  function energyTerm(joules, energies, scaling) {
    if (scaling === "log") {
      const span = Math.log(energies.largest / energies.least);
      return span ? (100 * Math.log(joules / energies.least)) / span : 0;
    }
    return (joules / energies.largest) * (scaling === "equal" ? 100 : 1);
  }

  // The rows that no other row exceeds in accuracy at the same or less energy, by rising energy.
  function findFront(rows) {
    const front = [];
    for (const row of [...rows].sort((a, b) => a.joules - b.joules || b.accuracy - a.accuracy)) {
      if (!front.length || row.accuracy > front.at(-1).accuracy) front.push(row);
    }
    return front;
  }

  // The rows of a choice with accuracy, score and rank, best score first; the front of each setup; the range of energies.
  function select(choice) {
    const words = choice.find.toLowerCase().split(/\s+/).filter(Boolean);
    const accuracies = models.architecture.map((_, model) => meanAccuracy(model, choice.sets));
    const candidates = results.filter((row) => choice.setups.includes(row.setup) && accuracies[row.model] !== null);
    const energies = { least: Infinity, largest: 0 };
    for (const { joules, doubts } of candidates) {
      if (doubts.length) continue;
      energies.least = Math.min(energies.least, joules);
      energies.largest = Math.max(energies.largest, joules);
    }
    const shown = [];
    const doubted = [];
    for (const row of results) row.rank = null;
    // Rows are changed and not copied, because there are thousands.
    for (const row of candidates) {
      row.accuracy = accuracies[row.model];
      if (!choice.classes.includes(row.class) || row.accuracy < choice.leastAccuracy || row.joules > choice.mostJoules) continue;
      if (!words.every((word) => row.searchText.includes(word))) continue;
      row.lostToEnergy = choice.weight * energyTerm(row.joules, energies, choice.scaling);
      row.lostToAccuracy = (1 - choice.weight) * (100 - row.accuracy);
      row.score = 100 - row.lostToEnergy - row.lostToAccuracy;
      (choice.doubtful || !row.doubts.length ? shown : doubted).push(row);
    }
    shown.sort((a, b) => b.score - a.score);
    shown.forEach((row, n) => { row.rank = n + 1; });
    const fronts = choice.setups.map((setup) => findFront(shown.filter((row) => row.setup === setup)));
    return { shown, doubted, fronts, energies };
  }

  // The accuracy at which a model with this energy has the score.
  function contourAccuracy(score, joules, energies, weight, scaling) {
    return 100 - (100 - score - weight * energyTerm(joules, energies, scaling)) / (1 - weight);
  }

  // Geometric mean of energy and mean accuracy of each class.
  function findCentres(rows) {
    return classes.map((_, index) => {
      const members = rows.filter((row) => row.class === index);
      const mean = (read) => members.reduce((sum, row) => sum + read(row), 0) / members.length;
      return { class: index, count: members.length, joules: Math.exp(mean((row) => Math.log(row.joules))), accuracy: mean((row) => row.accuracy) };
    }).filter((centre) => centre.count);
  }

  // The rows of a setup that reach an accuracy, least energy first.
  const findCheapest = (setup, rows, goal) => rows.filter((row) => row.setup === setup && row.accuracy >= goal).sort((a, b) => a.joules - b.joules || a.accuracy - b.accuracy);

  // The sentences of `describe_cheapest` in reporting/studies/findings.py, for the choices of the reader.
  function describeCheapest(setup, rows, goal, alternatives) {
    const { place } = setups[setup];
    const [first, ...others] = findCheapest(setup, rows, goal).slice(0, 1 + alternatives);
    if (!first) return `On ${place}, no model has ${goal}\u202f% accuracy.`;
    const mj = (joules) => number(joules * 1e3);
    const name = (row) => `${row.name}@${row.size}`;
    const between = first.joulesLow ? ` (95\u202f% within this measurement: ${mj(first.joulesLow)}–${mj(first.joulesHigh)})` : "";
    const sentence = `On ${place}, ${goal}\u202f% accuracy takes at least ${mj(first.joules)}\u202fmJ per image${between}: ${name(first)}, ${number(first.accuracy)}\u202f%.`;
    if (!others.length) return sentence;
    const nexts = others.map((row) => `${name(row)}, ${mj(row.joules)}\u202fmJ`).join(" and ");
    return others.length > 1 ? `${sentence} The next are ${nexts}.` : `${sentence} Next: ${nexts}.`;
  }
