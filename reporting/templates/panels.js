  // The panels. Their formulas are those of rules/metrics/comparison.py, and a test holds the two together.
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
      restore() {
        for (const field of fields) panel.elements[field].value = chosen.get(field) ?? defaults[field];
        update(panel.elements);
      },
    };
  }

  // A number that was typed, within the bounds of its field; the default where there is none.
  function typed(field, fallback) {
    const value = field.valueAsNumber;
    if (!Number.isFinite(value)) return fallback;
    return Math.min(Math.max(value, field.min === "" ? -Infinity : Number(field.min)), field.max === "" ? Infinity : Number(field.max));
  }

  function whatIf() {
    const own = views["what-if"];
    if (!own) return null;
    const assumed = about.assumptions;
    const refused = new Set();
    own.hides.push((row, place) => refused.has(place));

    function update(fields) {
      const price = typed(fields.price, assumed.price_per_kwh);
      const carbon = typed(fields.carbon, assumed.gco2e_per_kwh);
      const pue = typed(fields.pue, assumed.pue);
      const load = typed(fields.load, assumed.millions_per_day);
      const weight = typed(fields.weight, assumed.weight);
      const least = typed(fields.minrate, 0);
      const most = typed(fields.maxpower, Infinity);
      fields["weight-shown"].value = weight;
      refused.clear();
      const compared = {};
      own.rows.forEach((row, place) => {
        const kwh = (items) => (row.joules_per_item * items * pue) / 3.6e6;
        row.eur_per_million = kwh(1e6) * price;
        row.gco2e_per_million = kwh(1e6) * carbon;
        row.eur_per_year = kwh(load * 1e6 * 365) * price;
        row.kgco2e_per_year = (kwh(load * 1e6 * 365) * carbon) / 1e3;
        row.accelerators_needed = Math.ceil((load * 1e6) / 86400 / row.items_per_s_per_accelerator);
        row.score = row.rank = null;
        const within = row.items_per_s_per_accelerator >= least && (row.power_w ?? 0) <= most;
        if (!within || (fields.workload.value && row.workload !== fields.workload.value)) refused.add(place);
        else (compared[`${row.workload} ${row.standing === "published"}`] ??= []).push(place);
      });
      for (const places of Object.values(compared)) rank(own.rows, places, weight, fields.scaling.value);
      const last = [...refused];
      own.order = [...Object.values(compared).flat(), ...last];
      const keys = ["rank", "score", "eur_per_million", "gco2e_per_million", "eur_per_year", "kgco2e_per_year", "accelerators_needed"];
      own.rows.forEach((_, place) => own.say(place, keys));
      own.apply();
    }
    return form("what-if", ["price", "carbon", "pue", "load", "weight", "scaling", "workload", "minrate", "maxpower"], update);
  }

  function rank(rows, places, weight, scaling) {
    const fastest = Math.max(...places.map((place) => rows[place].items_per_s_per_accelerator));
    const highest = Math.max(...places.map((place) => rows[place].joules_per_item));
    for (const place of places) {
      const share = (rows[place].joules_per_item / highest) * (scaling === "equal" ? 100 : 1);
      rows[place].score = 100 - (weight * share + (1 - weight) * (100 - (100 * rows[place].items_per_s_per_accelerator) / fastest));
    }
    places.sort((a, b) => rows[b].score - rows[a].score);
    places.forEach((place, n) => { rows[place].rank = n + 1; });
  }

  function rack() {
    const own = views.rack;
    return own && form("rack", ["rack"], (fields) => {
      const limit = typed(fields.rack, about.assumptions.rack_kw) * 1e3;
      own.rows.forEach((row, place) => {
        if (row.rated_w === null) return;
        row.fit_rated = Math.floor(limit / row.rated_w);
        row.fit_max = Math.floor(limit / row.max_w);
        row.further = row.fit_max - row.fit_rated;
        own.say(place, ["fit_rated", "fit_max", "further"]);
      });
      own.apply();
    });
  }

  // Pins the baseline of a table of comparisons: one of its rows in place of the fastest of each kind.
  function baseline(own) {
    const first = own.rows.map((row) => ({ ...row }));
    const select = element("select", {}, element("option", { value: "", textContent: "baseline: fastest of each group" }));
    select.setAttribute("aria-label", `baseline of ${own.table.title}`);
    own.rows.forEach((row, place) => select.append(element("option", { value: place, textContent: row.result })));
    const unlike = element("input", { type: "checkbox" });
    const also = element("label", {}, unlike, " include other groups");
    own.tools.prepend(select, also);
    const pinned = () => (select.value === "" ? null : own.rows[Number(select.value)]);
    own.hides.push((row) => pinned() && !unlike.checked && row.like !== pinned().like);

    function update() {
      const keys = ["rate_percent", "rate_told", "joules_percent", "joules_told", "against"];
      also.hidden = !pinned();
      own.rows.forEach((row, place) => {
        if (pinned()) against(row, pinned());
        else for (const key of keys) row[key] = first[place][key];
        own.say(place, keys);
      });
      own.apply();
    }
    const keep = () => {
      choose(`${own.id}.base`, pinned() ? pinned().result : "");
      choose(`${own.id}.unlike`, unlike.checked ? "1" : "");
      update();
    };
    select.addEventListener("change", keep);
    unlike.addEventListener("change", keep);
    return {
      restore() {
        const place = own.rows.findIndex((row) => row.result === chosen.get(`${own.id}.base`));
        select.value = place < 0 ? "" : place;
        unlike.checked = chosen.has(`${own.id}.unlike`);
        update();
      },
    };
  }

  function against(row, base) {
    row.against = base.result;
    for (const [short, key] of [["rate", "items_per_s_per_accelerator"], ["joules", "joules_per_item"]]) {
      const known = typeof row[key] === "number" && typeof base[key] === "number";
      row[`${short}_percent`] = known ? relative(row[key], base[key]) : null;
      row[`${short}_told`] = known ? (row === base ? "baseline" : told(row, base, key)) : null;
    }
  }

  function told(row, base, key) {
    const [low, high, from, to] = [row[`${key}_low`], row[`${key}_high`], base[`${key}_low`], base[`${key}_high`]];
    if ([low, high, from, to].some((end) => typeof end !== "number")) return "no interval";
    if (low <= to && from <= high) return "intervals overlap";
    const same = row.boards === base.boards;
    if (!same && Math.abs(relative(row[key], base[key])) < about.board_spread_percent) return "within board spread";
    return row[key] > base[key] ? "higher" : "lower";
  }
