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

  // The energy of a setting: value, half of its interval, and unit.
  function describeEnergy(row) {
    const { unit } = tables[`${row.workload}-results`].columns.find(({ key }) => key === "joules_per_item");
    const value = text({ key: "joules_per_item", digits: 4 }, row);
    const { joules_per_item_low: low, joules_per_item_high: high } = row;
    return { value, half: typeof low === "number" ? ((high - low) / 2).toFixed((value.split(".")[1] ?? "").length) : "", unit };
  }

  // The item of a workload, and its plural.
  function nameItems(workload) {
    const units = Object.fromEntries(tables[`${workload}-results`].columns.map(({ key, unit }) => [key, unit]));
    return [units.joules_per_item.split("/")[1], units.items_per_joule.split("/")[0]];
  }

  // The mean over the runs of a setting.
  function averageEfficiency(row) {
    if (!row.bundle) return 1 / row.joules_per_item;
    const bundles = row.bundle.split(" ");
    const runs = objects(`${row.workload}-results`).filter(({ bundle }) => bundles.includes(bundle));
    return runs.reduce((sum, run) => sum + run.items_per_joule, 0) / runs.length;
  }

  const describeRepeats = (row) => (row.runs ? `${countNouns(row.runs, "run")} on ${countNouns(row.boards_n, "board")}, ±${NO_BREAK}${row.runs > 1 ? "over runs" : "within this run"}` : "");

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

  function writeLeader(choice, isFirst) {
    const row = choice.best;
    const energy = describeEnergy(row);
    const [, items] = nameItems(row.workload);
    const amount = element("a", { className: "amount", href: row.bundle?.split(" ")[0] ?? row.url ?? `#${row.workload}-results` }, energy.value,
      ...(energy.half ? [" ", element("small", { textContent: `± ${energy.half}` })] : []), ` ${energy.unit}`);
    const efficiency = text({ key: "value", digits: 4 }, { value: averageEfficiency(row), value_kind: row.joules_per_item_kind });
    const facts = [`${row.name} ${nameCap(row)}`, `${efficiency}${NO_BREAK}${items}/J`, `${text({ key: "items_per_s_per_accelerator", digits: 4 }, row)}${NO_BREAK}${items}/s per accelerator`, describeRepeats(row)];
    const leader = element("div", { className: "leader" },
      element("p", {}, element("span", { className: "standing", textContent: row.standing }), " ", amount),
      element("p", { textContent: facts.filter(Boolean).join("; ") }));
    if (!isFirst) return leader;
    const cost = element("span", { "data-brief": "", "data-joules-per-item": row.joules_per_item });
    const cautions = row.standing === "published" ? [ASSUMED_POWER, row.caution] : [describeTies(choice), row.trust && `Trust: ${row.trust}.`];
    leader.append(element("p", {}, `A million ${items}: `, cost), element("p", { className: "aside", textContent: cautions.filter(Boolean).join(" ") }));
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
  function writeAnswer([choice], title) {
    const row = choice.best;
    const { value, half, unit } = describeEnergy(row);
    const subject = `owest energy${isNodeScope ? " of whole nodes" : ""} per ${nameItems(row.workload)[0]} on ${title}${conditions.size ? ", of the chosen results" : ""}: `;
    const match = conditions.size ? " matches the choices" : "";
    const begin = { closed: `L${subject}`, open: `No closed result${match}. Open: l${subject}`, published: `No measured result${match}. Published: l${subject}` }[row.standing];
    const amount = `${value}${half && `${NO_BREAK}±${NO_BREAK}${half}`}${NO_BREAK}${unit}`;
    const repeats = describeRepeats(row);
    const end = row.standing === "published" ? ASSUMED_POWER : describeTies(choice);
    return `${begin}${row.name}, ${amount} ${nameCap(row)}${repeats && ` (${repeats})`}. ${end}`.trim();
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
      card.replaceChildren(heading, ...(choices.length ? choices.map((choice, n) => writeLeader(choice, n === 0)) : [element("p", { textContent: missing })]));
      const excluded = describeExcluded(results);
      if (excluded) card.append(element("p", { className: "aside", textContent: excluded }));
      card.hidden = !results.length && conditions.size > 0;
      return { choices, title: heading.textContent };
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
      answer.textContent = first ? writeAnswer(first.choices, first.title) : `No compared result ${isNodeScope ? `has figures of whole nodes${conditions.size ? " and matches the choices" : ""}` : "matches the choices"}.`;
    };
  }
