  // The answers and the answer cards. Python writes those of all results in the scope of accelerators. For other choices they are written
  // here, from the settings that are left, as reporting/sentences/cards.py does.
  const STANDINGS = ["closed", "open", "published"];
  const ASSUMED_POWER = "Power is assumed equal to the cap, and no interval is printed.";
  const countNouns = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const nameCap = ({ cap_w: cap }) => (cap === null ? "without a cap" : `at ${cap}${NO_BREAK}W`);

  // The setting with the least energy per item, and those that cannot be told apart from it; null without a setting.
  function chooseSetting(rows) {
    if (!rows.length) return null;
    const settings = [...rows].sort((a, b) => a.joules_per_item - b.joules_per_item);
    const isMore = (row, other) => { const { counts, percent } = compareRuns(row, other, "joules_per_item") ?? {}; return counts && percent > 0; };
    // On boards that two settings ran on, the one with the higher mean can be below the other.
    const shareBoards = (row, other) => [...listRuns(row, "joules_per_item").keys()].some((board) => listRuns(other, "joules_per_item").has(board));
    const best = settings.find((row) => !settings.some((other) => other !== row && shareBoards(row, other) && isMore(row, other))) ?? settings[0];
    const others = settings.filter((row) => row !== best);
    return { best, others, ties: others.filter((row) => !isMore(row, best)) };
  }

  const getUnit = (workload, column) => tables[`${workload}-results`].columns.find(({ key }) => key === column).unit;

  // The energy of a setting: value, half of its interval, and unit.
  function describeEnergy(row) {
    const unit = getUnit(row.workload, "joules_per_item");
    const value = text({ key: "joules_per_item", digits: 4 }, row);
    const { joules_per_item_low: low, joules_per_item_high: high } = row;
    return { value, half: typeof low === "number" ? fixed((high - low) / 2, (value.split(".")[1] ?? "").length) : "", unit };
  }

  // The mean over the runs of a setting.
  function averageEfficiency(row) {
    if (!row.bundle) return 1 / row.joules_per_item;
    const bundles = row.bundle.split(" ");
    const runs = objects(`${row.workload}-results`).filter(({ bundle }) => bundles.includes(bundle));
    return runs.reduce((sum, run) => sum + run.items_per_joule, 0) / runs.length;
  }

  const describeRepeats = (row) => `${countNouns(row.runs, "run")} on ${countNouns(row.boards_n, "board")}`;

  // Runs and boards of a setting, with a link to the bundle of each of several runs.
  function linkRepeats(row) {
    if (!row.runs) return [];
    const bundles = row.bundle.split(" ");
    const links = bundles.flatMap((bundle, n) => [n ? ", " : " (", element("a", { className: "short", href: bundle, textContent: n + 1 })]);
    return [`; ${describeRepeats(row)}`, ...(bundles.length > 1 ? [...links, ")"] : [])];
  }

  function describeTies({ best, ties }) {
    if (!ties.length) return "";
    const [nearest] = ties;
    const { value, unit } = describeEnergy(nearest);
    let name = nearest.name;
    if (nearest.cap_w !== best.cap_w) name += ` ${nameCap(nearest)}`;
    if (nearest.batch !== best.batch) name += `, ${nearest.load_in_words}`;
    if (name === best.name) name += ` on ${nearest.system}`;
    return `It cannot be told apart from ${ties.length === 1 ? "" : `${countNouns(ties.length, "other setting")}, such as `}${name} with ${value}${NO_BREAK}${unit}.`;
  }

  function writeLeader(choice, item, isFirst) {
    const row = choice.best;
    const energy = describeEnergy(row);
    const bundle = row.bundle?.includes(" ") ? null : row.bundle;
    const amount = element("a", { className: "amount", href: bundle ?? row.url ?? `#${row.workload}-results` }, energy.value,
      ...(energy.half ? [" ", element("small", { textContent: `± ${energy.half}` })] : []), ` ${energy.unit}`);
    const efficiency = text({ key: "value", digits: 4 }, { value: averageEfficiency(row), value_kind: row.joules_per_item_kind });
    const facts = [`${row.name} ${nameCap(row)}`, `${efficiency}${NO_BREAK}${getUnit(row.workload, "items_per_joule")}`, `${text({ key: "items_per_s_per_accelerator", digits: 4 }, row)}${NO_BREAK}${getUnit(row.workload, "items_per_s_per_accelerator")}`];
    const leader = element("div", { className: "leader" },
      element("p", {}, element("span", { className: "standing", textContent: row.standing }), " ", amount),
      ...(isFirst ? [element("p", {}, `Electricity for a million ${item}s: `, element("span", { "data-brief": "", "data-joules-per-item": row.joules_per_item }))] : []),
      element("p", {}, facts.join("; "), ...linkRepeats(row)));
    if (!isFirst) return leader;
    const cautions = row.standing === "published" ? [ASSUMED_POWER, row.caution] : [describeTies(choice), row.spread_note, row.trust && `Trust: ${row.trust}.`];
    leader.append(element("p", { className: "aside", textContent: cautions.filter(Boolean).join(" ") }));
    return leader;
  }

  // How many of the results are excluded from rankings, as a sentence; empty without one.
  function describeExcluded(results) {
    const count = (isPublished, noun) => {
      const n = results.filter((row) => row.status === "excluded" && (row.standing === "published") === isPublished).length;
      return n ? countNouns(n, noun) : "";
    };
    const parts = [count(false, "measured result"), count(true, "published figure")].filter(Boolean);
    return parts.length ? `${parts.join(" and ")} ${/^1 [^ ]+ [^ ]+$/.test(parts.join(" and ")) ? "is" : "are"} not compared; the table gives the reasons.` : "";
  }

  // A setting in few words; beside another one, only what differs. As name_briefly in reporting/sentences/answers.py.
  function nameBriefly(row, beside = null) {
    if (!row.runs) return row.name;
    const board = row.count > 1 ? `${row.count} × ${row.model}` : row.model;
    if (!beside) return `${board} with ${row.variant_in_words}`;
    const parts = [
      row.model === beside.model && row.count === beside.count ? "" : board,
      row.variant_in_words === beside.variant_in_words ? "" : row.variant_in_words,
      row.batch === beside.batch ? "" : row.load_in_words,
      row.cap_w === beside.cap_w ? "" : nameCap(row),
    ];
    return parts.filter(Boolean).join(", ") || `${row.system}, ${row.variant_in_words}`;
  }

  // With the load if that of the setting beside it is another one.
  function nameRate(row, beside = row) {
    const load = row.batch === beside.batch ? "" : ` with ${row.load_in_words}`;
    return `${number(row.items_per_s_per_accelerator)}${NO_BREAK}${row.rate_unit}${row.count > 1 ? " per accelerator" : ""}${load}`;
  }

  function formatPercent(percent) {
    const size = Math.abs(percent);
    return `${Math.round(size * 10) / 10 >= 10 ? size.toFixed(0) : size.toFixed(1)}${NO_BREAK}%`;
  }

  // The difference in energy in words, and how certain it is.
  function compareEnergy(row, rival, energy = "") {
    const { percent, certainty } = compareRuns(row, rival, "joules_per_item");
    return `${formatPercent(percent)} ${percent < 0 ? "less" : "more"}${energy} (${certainty})`;
  }

  // The setting that the best one is compared with; null without another one.
  function findRival({ best, others }) {
    const distance = (row) => 4 * (row.variant === best.variant) + 2 * (row.model !== best.model) + (row.count !== best.count);
    return others.reduce((nearest, row) => (nearest && distance(nearest) <= distance(row) ? nearest : row), null);
  }

  // The setting of least energy against its rival.
  function describeLeast(best, rival, item) {
    const prefix = best.standing === "closed" ? "" : `No closed result${conditions.size ? " matches the choices" : ""}. Open: `;
    const namesCaps = "namesCaps" in document.querySelector(".answer").dataset;
    const settings = [rival && rival.batch !== best.batch && best.load_in_words, namesCaps && (best.cap_w === null ? "no cap" : `a cap of ${best.cap_w}${NO_BREAK}W`)].filter(Boolean);
    const end = `at ${nameRate(best)}${settings.length ? ` with ${settings.join(" and ")}` : ""}`;
    if (!rival) {
      const { value, half, unit } = describeEnergy(best);
      return `${prefix}${nameBriefly(best)} is the only compared setting: ${value}${half && `${NO_BREAK}±${NO_BREAK}${half}`}${NO_BREAK}${unit}, ${end}.`;
    }
    const change = compareEnergy(best, rival, ` energy${isNodeScope ? " of whole nodes" : ""} per ${item}`);
    return `${prefix}${nameBriefly(best)} takes ${change} than ${nameBriefly(rival, best)}, ${end}.`;
  }

  // The kind of board of the best setting against each other one, by the variant of least energy that both have. Leaves out the pair of
  // the best setting and the compared one.
  function compareBoards({ best, others }, compared) {
    const isAlike = (row, other) => ["variant", "precision", "count", "cap_w"].every((key) => row[key] === other[key]);
    const seen = new Set([best.model]);
    return others.flatMap((other) => {
      const own = [best, ...others].find((row) => row.model === best.model && isAlike(row, other));
      if (!own || seen.has(other.model)) return [];
      seen.add(other.model);
      if (own === best && other === compared) return [];
      return [`${best.model} takes ${compareEnergy(own, other)} than ${other.model}, both ${own.variant}, at ${nameRate(own, other)} against ${nameRate(other, own)}.`];
    });
  }

  // The answer on the settings that the choices leave, by standing. As build_answer in reporting/sentences/answers.py.
  function writeAnswer(choices, item) {
    const [first, second] = choices.filter(({ best }) => best.runs);
    if (!first) {
      const { best } = choices[0];
      const { value, unit } = describeEnergy(best);
      return `No measured result${conditions.size ? " matches the choices" : ""}. Published: ${nameBriefly(best)} ${nameCap(best)} takes the least energy per ${item}, ${value}${NO_BREAK}${unit}, with power assumed equal to the cap.`;
    }
    const rival = findRival(first);
    const sentences = [describeLeast(first.best, rival, item), ...compareBoards(first, rival)];
    if (second && compareRuns(second.best, first.best, "joules_per_item").percent < 0) {
      sentences.push(`Open: ${nameBriefly(second.best, first.best)} takes ${compareEnergy(second.best, first.best)} than the best closed setting, at ${nameRate(second.best)}.`);
    }
    return sentences.join(" ");
  }

  // Returns a function that writes answers and cards for the present choices.
  function createAnswers() {
    const answers = new Map([...document.querySelectorAll("#answer .answer li")].map((line) => [line.dataset.workload, { line, text: line.lastElementChild, written: line.lastElementChild.textContent }]));
    const empty = document.querySelector("#no-answer");
    const settings = "what-if" in tables ? objects("what-if") : [];
    const cards = [...document.querySelectorAll(".card")].map((card) => ({ card, heading: card.firstElementChild, parts: [...card.children].slice(1) }));

    function writeCard({ card, heading }) {
      const { workload, item } = card.dataset;
      const left = settings.filter((row) => row.workload === workload && row.provenance !== "simulated" && matches(row));
      const choices = STANDINGS.map((standing) => chooseSetting(left.filter((row) => row.standing === standing))).filter(Boolean);
      const results = objects(`${workload}-results`).filter((row) => matches(row));
      const missing = isNodeScope && !results.length ? "No figure of whole nodes." : "No compared result matches the choices.";
      card.replaceChildren(heading, ...(choices.length ? choices.map((choice, n) => writeLeader(choice, item, n === 0)) : [element("p", { textContent: missing })]));
      const excluded = describeExcluded(results);
      if (excluded) card.append(element("p", { className: "aside", textContent: excluded }));
      card.hidden = !results.length && conditions.size > 0;
      const { line, text } = answers.get(workload);
      line.hidden = !choices.length;
      if (choices.length) text.textContent = writeAnswer(choices, item);
      return choices.length > 0;
    }

    return () => {
      if (!conditions.size && !isNodeScope) {
        for (const { line, text, written } of answers.values()) {
          text.textContent = written;
          line.hidden = false;
        }
        for (const { card, heading, parts } of cards) {
          card.replaceChildren(heading, ...parts);
          card.hidden = false;
        }
        empty.hidden = true;
        return;
      }
      empty.hidden = cards.map(writeCard).some(Boolean);
      empty.textContent = `No compared result ${isNodeScope ? `has figures of whole nodes${conditions.size ? " and matches the choices" : ""}` : "matches the choices"}. ${nameUndo()}`.trim();
    };
  }
