  // The answer and the answer cards. Python writes those of all results in the scope of accelerators. For other choices they are written
  // here, from the settings that are left, as reporting/sentences/cards.py does.
  const STANDINGS = ["closed", "open", "published"];
  const ASSUMED_POWER = "Power is assumed equal to the cap, and no interval is printed.";
  const countNouns = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const nameCap = ({ cap_w: cap }) => (cap === null ? "without a cap" : `at ${cap}${NO_BREAK}W`);

  // The setting with the least energy per item, and those that cannot be told apart from it; null without a setting.
  function chooseSetting(rows) {
    if (!rows.length) return null;
    const [best, ...others] = [...rows].sort((a, b) => a.joules_per_item - b.joules_per_item);
    return { best, ties: others.filter((row) => compareFigures(row, best, "joules_per_item") !== "higher") };
  }

  const getUnit = (workload, column) => tables[`${workload}-results`].columns.find(({ key }) => key === column).unit;

  // The energy of a setting: value, half of its interval, and unit.
  function describeEnergy(row) {
    const unit = getUnit(row.workload, "joules_per_item");
    const value = text({ key: "joules_per_item", digits: 4 }, row);
    const { joules_per_item_low: low, joules_per_item_high: high } = row;
    return { value, half: typeof low === "number" ? ((high - low) / 2).toFixed((value.split(".")[1] ?? "").length) : "", unit };
  }

  // The mean over the runs of a setting.
  function averageEfficiency(row) {
    if (!row.bundle) return 1 / row.joules_per_item;
    const bundles = row.bundle.split(" ");
    const runs = objects(`${row.workload}-results`).filter(({ bundle }) => bundles.includes(bundle));
    return runs.reduce((sum, run) => sum + run.items_per_joule, 0) / runs.length;
  }

  const describeRepeats = (row) => `${countNouns(row.runs, "run")} on ${countNouns(row.boards_n, "board")}`;
  const describeBasis = (row) => `±${NO_BREAK}${row.runs > 1 ? "over runs" : "within this run"}`;

  // Runs and boards of a setting, with a link to the bundle of each of several runs, and what its interval is over.
  function linkRepeats(row) {
    if (!row.runs) return [];
    const bundles = row.bundle.split(" ");
    const links = bundles.flatMap((bundle, n) => [n ? ", " : " (", element("a", { className: "short", href: bundle, textContent: n + 1 })]);
    return [`; ${describeRepeats(row)}`, ...(bundles.length > 1 ? [...links, ")"] : []), `, ${describeBasis(row)}`];
  }

  function describeTies({ best, ties }) {
    if (!ties.length) return "";
    const [nearest] = ties;
    const { value, unit } = describeEnergy(nearest);
    let name = nearest.name;
    if (nearest.cap_w !== best.cap_w) name += ` ${nameCap(nearest)}`;
    if (nearest.batch !== best.batch) name += `, batch size ${nearest.batch ?? "not stated"}`;
    if (name === best.name) name = nearest.result;
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
      element("p", {}, facts.join("; "), ...linkRepeats(row)));
    if (!isFirst) return leader;
    const cost = element("span", { "data-brief": "", "data-joules-per-item": row.joules_per_item });
    const cautions = row.standing === "published" ? [ASSUMED_POWER, row.caution] : [describeTies(choice), row.trust && `Trust: ${row.trust}.`];
    leader.append(element("p", {}, `A million ${item}s: `, cost), element("p", { className: "aside", textContent: cautions.filter(Boolean).join(" ") }));
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

  // The answer on the first of the choices, which are those of one workload.
  function writeAnswer({ choices: [choice, second], title, item }) {
    const row = choice.best;
    const { value, half, unit } = describeEnergy(row);
    const closed = row.standing === "closed" && second?.best.standing === "open" ? "closed results" : "";
    const results = conditions.size ? `, of the chosen ${closed || "results"}` : closed && `, ${closed}`;
    const subject = `owest energy${isNodeScope ? " of whole nodes" : ""} per ${item} on ${title}${results}: `;
    const match = conditions.size ? " matches the choices" : "";
    const begin = { closed: `L${subject}`, open: `No closed result${match}. Open: l${subject}`, published: `No measured result${match}. Published: l${subject}` }[row.standing];
    const amount = `${value}${half && `${NO_BREAK}±${NO_BREAK}${half}`}${NO_BREAK}${unit}`;
    const repeats = row.runs ? ` (${describeRepeats(row)}, ${describeBasis(row)})` : "";
    const end = row.standing === "published" ? ASSUMED_POWER : describeTies(choice);
    return `${begin}${row.name}, ${amount} ${nameCap(row)}${repeats}. ${end}`.trim();
  }

  // Returns a function that writes answer and cards for the present choices.
  function createAnswers() {
    const answer = document.querySelector("#answer .answer");
    const writtenAnswer = answer.textContent;
    const settings = "what-if" in tables ? objects("what-if") : [];
    const cards = [...document.querySelectorAll(".card")].map((card) => ({ card, heading: card.firstElementChild, parts: [...card.children].slice(1) }));

    function writeCard({ card, heading, parts }) {
      const left = settings.filter((row) => row.workload === card.dataset.workload && matches(row));
      const choices = STANDINGS.map((standing) => chooseSetting(left.filter((row) => row.standing === standing))).filter(Boolean);
      const results = objects(`${card.dataset.workload}-results`).filter((row) => matches(row));
      const missing = isNodeScope && !results.length ? "No figure of whole nodes." : "No compared result matches the choices.";
      card.replaceChildren(heading, ...(choices.length ? choices.map((choice, n) => writeLeader(choice, card.dataset.item, n === 0)) : [element("p", { textContent: missing })]));
      const excluded = describeExcluded(results);
      if (excluded) card.append(element("p", { className: "aside", textContent: excluded }));
      card.hidden = !results.length && conditions.size > 0;
      return { choices, title: heading.textContent, item: card.dataset.item };
    }

    return () => {
      if (!conditions.size && !isNodeScope) {
        answer.textContent = writtenAnswer;
        for (const { card, heading, parts } of cards) {
          card.replaceChildren(heading, ...parts);
          card.hidden = false;
        }
        return;
      }
      const answered = cards.map(writeCard).filter(({ choices }) => choices.length);
      // Closed results first, then open and published ones, each in the order of the cards.
      const byStanding = STANDINGS.map((standing) => answered.find(({ choices }) => choices[0].best.standing === standing));
      const first = byStanding.find(Boolean);
      answer.textContent = first ? writeAnswer(first) : `No compared result ${isNodeScope ? `has figures of whole nodes${conditions.size ? " and matches the choices" : ""}` : "matches the choices"}.`;
    };
  }
