  // Peaks of boards by precision, and two properties of models against each other.
  const PEAK_SHAPES = { FP32: "circle", fp32: "circle", FP16: "triangle-up" };
  const peakShape = (row) => PEAK_SHAPES[row.precision] ?? "diamond";

  function drawPeaks() {
    const efficiency = (row) => row.gflops_per_w;
    const groups = (rows) => ["circle", "triangle-up", "diamond"].flatMap((shape) => mark(rows.filter((row) => peakShape(row) === shape), efficiency, shape));
    // Boards of one day share a place.
    const named = [...new Map(about.later_boards.filter((row) => row.precision !== "fp32").map((row) => [row.name, row])).values()];
    plots.peaks.draw(() => ({
      x: yearAxis, y: { title: "peak GFLOP/s per W", log: true },
      points: [...groups(about.peaks), ...groups(about.later_boards)],
      names: named.map((row) => ({ x: row.year, y: row.gflops_per_w, text: row.name, distances: [8, 18, 30, 44], covers: 1, classes: "soft" })),
    }));
  }

  function drawAxesOf(choice, { models, laterModels }, joules) {
    const [xKey, yKey] = ["x", "y"].map((name) => panel.elements[name].value);
    const isVision = choice.domain === "CV";
    const titles = { score: isVision ? "published top-1 accuracy, %" : "GLUE score", gflops: "GFLOP per inference", params: "parameters, millions", joules: "estimated J per inference", year: "year" };
    const read = (key) => (key === "joules" ? joules : (row) => row[key]);
    const [x, y] = [read(xKey), read(yKey)];
    const axis = (key) => ({ title: titles[key], log: !["year", "score"].includes(key), ...(key === "year" ? { format: formatYear } : {}) });
    const known = (rows) => rows.filter((row) => Number.isFinite(x(row)) && Number.isFinite(y(row)) && x(row) !== null && y(row) !== null);
    const place = (rows, shape) => known(rows).map((row) => ({ x: x(row), y: y(row), row, style: styleOf(row, shape) }));
    const drawn = known(models);
    Object.assign(window.wattmark, { axes: { x: xKey, y: yKey, count: drawn.length } });
    setTitle("trends-axes", `${titles[yKey]} against ${titles[xKey]}`.replace(/^./, (letter) => letter.toUpperCase()));
    plots.axes.draw(() => ({
      x: axis(xKey), y: axis(yKey),
      points: [...place(models.filter((row) => !row.extra), "circle"), ...place(models.filter((row) => row.extra), "triangle-up"), ...place(laterModels, "square")],
      names: [...drawn, ...known(laterModels)].map((row) => ({ x: x(row), y: y(row), text: row.name.replace(/[.].*@/, "@"), distances: [7, 14], covers: 0, classes: "soft" })),
    }));
  }
