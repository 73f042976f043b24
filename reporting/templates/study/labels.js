  // Places labels beside their points, so that no label covers another one or leaves the frame, and as few points as possible are covered.
  const LETTER_PX = 6.6; // mean width of a letter of 12 px; strong letters are a tenth wider
  const LABEL_HEIGHT_PX = 13;
  const FAR_PX = 22; // from here on, a line joins label and point
  const STEP_PX = 4;
  const DIRECTIONS = [[0, -1], [1, -0.6], [-1, -0.6], [1, 0.6], [-1, 0.6], [0, 1], [1, 0], [-1, 0]];

  // `labels` ({px, py, text, classes, distances, covers, side}) in the order of their importance; `points` ([px, py]). A label that finds
  // no place is left out. `covers`: how many points it may cover. `side`: -1 for places above its point only, 1 for places below it.
  function placeLabels(labels, points, frame) {
    const boxes = [];
    const obstacles = [...points];
    return labels.flatMap((label) => {
      const box = findPlace(label, boxes, obstacles, frame);
      if (!box || box.covered > (label.covers ?? Infinity)) return [];
      boxes.push(box);
      obstacles.push(...sampleLeader(label, box));
      return [{ label, box }];
    });
  }

  // The nearest place that covers no point, or else that which covers the fewest.
  function findPlace(label, boxes, points, frame) {
    const width = label.text.length * LETTER_PX * (label.classes?.includes("strong") ? 1.1 : 1);
    let best = null;
    for (const distance of label.distances) {
      for (const [right, down] of DIRECTIONS) {
        if (label.side && down * label.side <= 0) continue;
        const left = label.px + right * distance - (right > 0 ? 0 : right < 0 ? width : width / 2);
        const top = label.py + down * distance - (down > 0.9 ? 0 : down < -0.9 ? LABEL_HEIGHT_PX : LABEL_HEIGHT_PX / 2);
        const box = { left, top, right: left + width, bottom: top + LABEL_HEIGHT_PX, distance };
        if (box.left < frame.x || box.right > frame.x + frame.width || box.top < frame.y || box.bottom > frame.y + frame.height) continue;
        if (boxes.some((other) => meet(box, other) || sampleLeader(label, box).some(([x, y]) => x > other.left && x < other.right && y > other.top && y < other.bottom))) continue;
        box.covered = countCovered(box, points);
        if (!box.covered) return box;
        if (!best || box.covered < best.covered) best = box;
      }
    }
    return best;
  }

  const meet = (a, b) => a.left < b.right + 2 && b.left < a.right + 2 && a.top < b.bottom + 1 && b.top < a.bottom + 1;
  const countCovered = (box, points) => points.reduce((sum, [x, y]) => sum + (x > box.left - 3 && x < box.right + 3 && y > box.top - 3 && y < box.bottom + 3), 0);

  // Points every few pixels along a line from one point to another.
  function sampleLine([x0, y0], [x1, y1]) {
    const steps = Math.ceil(Math.hypot(x1 - x0, y1 - y0) / STEP_PX) || 1;
    return Array.from({ length: steps + 1 }, (_, n) => [x0 + ((x1 - x0) * n) / steps, y0 + ((y1 - y0) * n) / steps]);
  }

  // Both ends of the line from a point to its label; null if the label is beside its point.
  function findLeader(label, box) {
    if (box.distance < FAR_PX) return null;
    const isBelow = label.py < (box.top + box.bottom) / 2;
    return [[label.px, label.py], [Math.min(Math.max(label.px, box.left), box.right), isBelow ? box.top : box.bottom]];
  }

  // The point itself is an obstacle already.
  function sampleLeader(label, box) {
    const ends = findLeader(label, box);
    return ends ? sampleLine(...ends).slice(1) : [];
  }

  // The elements of placed labels: a line to a point that is far away, and the text.
  function drawLabels(placed) {
    return placed.flatMap(({ label, box }) => {
      const leader = findLeader(label, box);
      const path = leader?.map((end) => end.map((place) => place.toFixed(1)).join()).join("L");
      return [...(leader ? [svgElement("path", { class: "line leader", d: `M${path}` })] : []), svgElement("text", { x: ((box.left + box.right) / 2).toFixed(1), y: (box.bottom - 3).toFixed(1), "text-anchor": "middle", class: `label ${label.classes ?? ""}` }, label.text)];
    });
  }
