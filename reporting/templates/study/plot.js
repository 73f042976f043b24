  // Draws points and lines into a figure as SVG. Points with one style are one path, so that thousands are drawn in some milliseconds.
  const MARGIN = { top: 10, right: 14, bottom: 44, left: 68 };
  const REACH_PX = 22; // how far from a point the pointer may be to mean it
  const SVG = "http://www.w3.org/2000/svg";

  const shapes = {
    circle: (x, y, r) => `M${x - r},${y}a${r},${r},0,1,1,${2 * r},0a${r},${r},0,1,1,${-2 * r},0`,
    square: (x, y, r) => `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    diamond: (x, y, r) => `M${x},${y - 1.3 * r}l${1.3 * r},${1.3 * r}l${-1.3 * r},${1.3 * r}l${-1.3 * r},${-1.3 * r}z`,
    cross: (x, y, r) => `M${x - 0.5 * r},${y - 1.4 * r}h${r}v${0.9 * r}h${0.9 * r}v${r}h${-0.9 * r}v${0.9 * r}h${-r}v${-0.9 * r}h${-0.9 * r}v${-r}h${0.9 * r}z`,
    "triangle-left": (x, y, r) => `M${x - 1.3 * r},${y}l${2.2 * r},${-1.25 * r}v${2.5 * r}z`,
    "triangle-up": (x, y, r) => `M${x},${y - 1.3 * r}l${1.25 * r},${2.2 * r}h${-2.5 * r}z`,
    "triangle-down": (x, y, r) => `M${x},${y + 1.3 * r}l${1.25 * r},${-2.2 * r}h${-2.5 * r}z`,
    "triangle-right": (x, y, r) => `M${x + 1.3 * r},${y}l${-2.2 * r},${-1.25 * r}v${2.5 * r}z`,
    doubt: (x, y, r) => `M${x - 1.5 * r},${y - 1.5 * r}l${3 * r},${3 * r}m${-3 * r},0l${3 * r},${-3 * r}`,
  };

  function svgElement(tag, attributes = {}, text = "") {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.textContent = text;
    return node;
  }

  // A scale from values to pixels. A logarithmic scale has the more ticks in a decade, the wider this is.
  function createScale({ log = false, zero = false }, values, [from, to]) {
    const known = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
    let [low, high] = known.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
    if (low > high) [low, high] = [1, 10];
    const read = log ? Math.log10 : (value) => value;
    let [start, end] = [zero ? 0 : read(low), read(high)];
    const margin = 0.05 * (end - start || Math.abs(end) || 1);
    if (!zero) start -= margin;
    end += margin;
    const place = (value) => from + ((read(value) - start) / (end - start)) * (to - from);
    return { place, ticks: log ? logTicks(start, end, Math.abs(to - from)) : linearTicks(start, end, Math.abs(to - from)), low: log ? 10 ** start : start, high: log ? 10 ** end : end };
  }

  function logTicks(start, end, length) {
    const decades = [];
    for (let decade = Math.floor(start); decade <= end; decade += 1) decades.push(decade);
    const decadePx = length / (end - start);
    const steps = decadePx > 500 ? [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8] : decadePx > 130 ? [1, 2, 5] : decadePx > 34 ? [1] : [];
    const ticks = decades.flatMap((decade) => steps.map((step) => step * 10 ** decade));
    return (steps.length ? ticks : decades.filter((decade) => decade % 2 === 0).map((decade) => 10 ** decade))
      .filter((tick) => Math.log10(tick) >= start && Math.log10(tick) <= end);
  }

  function linearTicks(start, end, length) {
    const rough = ((end - start) * 60) / length;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
    const ticks = [];
    for (let n = Math.ceil(start / step); n * step <= end; n += 1) ticks.push(Number((n * step).toPrecision(12)));
    return ticks;
  }

  const colourOf = ({ colour }) => (colour ? { style: `--mark:${colour}` } : {});
  const formatTick = (value) => (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e6) ? value.toExponential(0).replace("e", "·10^").replace("+", "") : groupDigits(value));

  // A plot in the figure of that id. `describe(row)` gives the lines of the tooltip of a point, `columns` the table of the rows ([key,
  // value of a row]). `point(row)` follows the pointer or the arrow keys, with null away from all points, and `pick(row)` a click or Enter.
  function createPlot(id, { height = 300, describe, columns, point = () => {}, pick }) {
    const figure = document.getElementById(id);
    const area = figure.querySelector(".plot");
    const name = area.getAttribute("aria-label");
    const cursor = svgElement("path", { class: "cursor", tabindex: 0, role: "img", "aria-label": `${name}: arrow keys reach the points` });
    let build = null; // gives the content, see `redraw`
    let isStale = false;
    let isNear = false;
    let places = []; // [x, y, row] of each point, from left to right
    let current = -1;
    let width = 0;
    const updateTable = addViews(figure, columns, () => { refresh(true); return places.map(([, , row]) => row); });

    area.replaceChildren();
    area.style.minHeight = `${height}px`; // so that nothing moves when it is drawn
    area.setAttribute("role", "group"); // it is no longer one picture
    // Only plots near the screen are drawn at once, so that a choice answers fast.
    new IntersectionObserver((entries) => { isNear = entries.at(-1).isIntersecting; refresh(); }, { rootMargin: "200px" }).observe(figure);
    new ResizeObserver(() => { isStale ||= Math.abs(area.clientWidth - width) > 1; refresh(); }).observe(area);
    addEventListener("beforeprint", () => refresh(true));

    function draw(buildContent) {
      build = buildContent;
      isStale = true;
      figure.dataset.drawn = "stale";
      refresh();
    }

    function refresh(always = false) {
      if (!build || !isStale || !(isNear || always)) return;
      isStale = false;
      redraw(build());
      figure.dataset.drawn = "yes";
      updateTable();
    }

    // `content`: axes x and y ({title, log, zero, values, and for x format}), points ({x, y, row, style}), lines ({points, style, colour}),
    // labels ({x, y, text, anchor, dy, classes}), names of points, which find a place of their own ({x, y, text, distances, covers,
    // classes}), and a watermark.
    function redraw(content) {
      const focused = document.activeElement === cursor;
      width = area.clientWidth || width || 640;
      const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, height, class: "drawn" });
      const clip = `${id}-clip`;
      const frame = { x: MARGIN.left, y: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
      const x = createScale(content.x, content.x.values ?? content.points.map((point) => point.x), [frame.x, frame.x + frame.width]);
      const y = createScale(content.y, content.y.values ?? content.points.map((point) => point.y), [frame.y + frame.height, frame.y]);
      const clipPath = svgElement("clipPath", { id: clip });
      clipPath.append(svgElement("rect", frame));
      const inside = svgElement("g", { "clip-path": `url(#${clip})` });
      svg.append(clipPath, drawAxes(content, x, y, frame), inside);
      inside.append(...drawLines(content.lines ?? [], x, y));
      const paths = new Map();
      places = [];
      for (const { x: valueX, y: valueY, row, style } of content.points) {
        const [px, py] = [Math.round(10 * x.place(valueX)) / 10, Math.round(10 * y.place(valueY)) / 10];
        if (!Number.isFinite(px) || !Number.isFinite(py)) continue;
        if (!paths.has(style.key)) paths.set(style.key, { style, parts: [] });
        paths.get(style.key).parts.push(shapes[style.shape](px, py, style.radius ?? 3.2));
        if (row) places.push([px, py, row]);
      }
      for (const { style, parts } of [...paths.values()].sort((a, b) => (a.style.order ?? 1) - (b.style.order ?? 1))) inside.append(svgElement("path", { d: parts.join(""), class: `mark ${style.classes}`, ...colourOf(style) }));
      places.sort((a, b) => a[0] - b[0]);
      for (const label of content.labels ?? []) {
        const [px, py] = [x.place(label.x), y.place(label.y)];
        if (py > frame.y && py < frame.y + frame.height) svg.append(svgElement("text", { x: px, y: py, dy: label.dy ?? -8, "text-anchor": label.anchor ?? "middle", class: `label ${label.classes ?? ""}` }, label.text));
      }
      const named = (content.names ?? []).map((name) => ({ ...name, px: x.place(name.x), py: y.place(name.y) })).filter(({ px, py }) => px >= frame.x && px <= frame.x + frame.width && py >= frame.y && py <= frame.y + frame.height);
      const lines = (content.lines ?? []).filter(({ style }) => ["published", "goal"].includes(style)).map(({ points }) => points.map((point) => [x.place(point.x), y.place(point.y)]));
      const onLines = lines.flatMap((ends) => ends.slice(1).flatMap((end, n) => sampleLine(ends[n], end)));
      svg.append(...drawLabels(placeLabels(named, [...places, ...named.map(({ px, py }) => [px, py]), ...onLines], frame)));
      if (content.watermark) svg.append(svgElement("text", { class: "watermark", x: frame.x + frame.width / 2, y: frame.y + frame.height / 2, "text-anchor": "middle" }, content.watermark));
      svg.append(cursor);
      cursor.setAttribute("d", "");
      area.replaceChildren(svg);
      if (focused) cursor.focus();
    }

    function drawAxes(content, x, y, frame) {
      const group = svgElement("g", { class: "axes" });
      let end = 0; // of the label on the left
      for (const tick of x.ticks) {
        const [place, text] = [x.place(tick), (content.x.format ?? formatTick)(tick)];
        const px = place.toFixed(1);
        const half = (text.length * LETTER_PX) / 2;
        group.append(svgElement("path", { d: `M${px},${frame.y}v${frame.height}` }));
        if (place - half < end) continue;
        group.append(svgElement("text", { x: px, y: frame.y + frame.height + 16, "text-anchor": "middle" }, text));
        end = place + half + 4;
      }
      for (const tick of y.ticks) {
        const py = y.place(tick).toFixed(1);
        group.append(svgElement("path", { d: `M${frame.x},${py}h${frame.width}` }), svgElement("text", { x: frame.x - 6, y: py, dy: 4, "text-anchor": "end" }, formatTick(tick)));
      }
      group.append(svgElement("text", { x: frame.x + frame.width / 2, y: frame.y + frame.height + 36, "text-anchor": "middle" }, content.x.title));
      group.append(svgElement("text", { transform: `translate(13,${frame.y + frame.height / 2})rotate(-90)`, "text-anchor": "middle" }, content.y.title));
      return group;
    }

    // Lines of one style are one path.
    function drawLines(lines, x, y) {
      const parts = new Map();
      for (const { points, style, colour } of lines) {
        const d = points.map((point, n) => `${n ? "L" : "M"}${x.place(point.x).toFixed(1)},${y.place(point.y).toFixed(1)}`).join("");
        const key = `${style} ${colour}`;
        if (!parts.has(key)) parts.set(key, { style, colour, ds: [] });
        parts.get(key).ds.push(d);
      }
      return [...parts.values()].map(({ style, colour, ds }) => svgElement("path", { d: ds.join(""), class: `line ${style}`, ...colourOf({ colour }) }));
    }

    function show(n) {
      current = n;
      point(n < 0 ? null : places[n][2]);
      if (n < 0) { cursor.setAttribute("d", ""); hideTip(); return; }
      const [px, py, row] = places[n];
      cursor.setAttribute("d", shapes.circle(px, py, 8));
      const lines = describe(row);
      cursor.setAttribute("aria-label", lines.map((line) => line.filter(Boolean).join(" ")).join("; "));
      const box = area.firstElementChild.getBoundingClientRect();
      showTip(lines, box.left + (px * box.width) / width, box.top + (py * box.height) / height);
    }

    // Highlights the point of a row that another part of the page names.
    const highlight = (matches) => {
      const place = places.findIndex(([, , row]) => matches(row));
      cursor.setAttribute("d", place < 0 ? "" : shapes.circle(places[place][0], places[place][1], 8));
    };

    function findNearest(event) {
      const box = area.firstElementChild.getBoundingClientRect();
      const [px, py] = [((event.clientX - box.left) * width) / box.width, ((event.clientY - box.top) * height) / box.height];
      let [nearest, least] = [-1, REACH_PX ** 2];
      places.forEach(([x, y], n) => {
        const distance = (x - px) ** 2 + (y - py) ** 2;
        if (distance < least) [nearest, least] = [n, distance];
      });
      return nearest;
    }

    area.addEventListener("pointermove", (event) => show(findNearest(event)));
    area.addEventListener("pointerleave", () => show(-1));
    area.addEventListener("click", (event) => {
      const nearest = findNearest(event);
      if (nearest < 0) return;
      show(nearest);
      pick(places[nearest][2]);
    });
    cursor.addEventListener("focus", () => { if (places.length) show(Math.max(current, 0)); });
    cursor.addEventListener("blur", hideTip);
    cursor.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hideTip();
      if (event.key === "Enter" && current >= 0) pick(places[current][2]);
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 25, PageUp: -25, Home: -Infinity, End: Infinity }[event.key];
      if (!step || !places.length) return;
      event.preventDefault();
      show(Math.min(Math.max(current + step, 0), places.length - 1));
    });
    return { draw, highlight };
  }

  // The tooltip that all plots share.
  const tip = element("div", { className: "tip", hidden: true });
  tip.setAttribute("role", "status");
  document.body.append(tip);

  function showTip(lines, x, y) {
    const rows = lines.map(([title, value]) => element("tr", {}, element("th", { textContent: title }), element("td", { textContent: value })));
    tip.replaceChildren(element("table", {}, element("tbody", {}, ...rows)));
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${y + 14 + height > innerHeight ? Math.max(4, y - height - 14) : y + 14}px`;
  }
  function hideTip() { tip.hidden = true; }
