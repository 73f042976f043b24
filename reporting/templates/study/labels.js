  // Places labels beside their points, so that no label covers another one or leaves the frame, and as few points as possible are covered.
  const LETTER_PX = 6.6; // mean width of a letter of 12 px; strong letters are a tenth wider
  const LABEL_HEIGHT_PX = 13;
  const FAR_PX = 22; // from here on, a line joins label and point
  const DIRECTIONS = [[0, -1], [1, -0.6], [-1, -0.6], [1, 0.6], [-1, 0.6], [0, 1], [1, 0], [-1, 0]];

  // `labels` ({px, py, text, classes, distances, covers}) in the order of their importance; `points` ([px, py]). A label that finds no
  // place is left out. `covers`: how many points it may cover.
  function placeLabels(labels, points, frame) {
    const boxes = [];
    return labels.flatMap((label) => {
      const box = findPlace(label, boxes, points, frame);
      if (!box || box.covered > (label.covers ?? Infinity)) return [];
      boxes.push(box);
      return [{ label, box }];
    });
  }

  // The nearest place that covers no point, or else that which covers the fewest.
  function findPlace(label, boxes, points, frame) {
    const width = label.text.length * LETTER_PX * (label.classes?.includes("strong") ? 1.1 : 1);
    let best = null;
    for (const distance of label.distances) {
      for (const [right, down] of DIRECTIONS) {
        const left = label.px + right * distance - (right > 0 ? 0 : right < 0 ? width : width / 2);
        const top = label.py + down * distance - (down > 0.9 ? 0 : down < -0.9 ? LABEL_HEIGHT_PX : LABEL_HEIGHT_PX / 2);
        const box = { left, top, right: left + width, bottom: top + LABEL_HEIGHT_PX, distance };
        if (box.left < frame.x || box.right > frame.x + frame.width || box.top < frame.y || box.bottom > frame.y + frame.height) continue;
        if (boxes.some((other) => meet(box, other))) continue;
        box.covered = countCovered(box, points);
        if (!box.covered) return box;
        if (!best || box.covered < best.covered) best = box;
      }
    }
    return best;
  }

  const meet = (a, b) => a.left < b.right + 2 && b.left < a.right + 2 && a.top < b.bottom + 1 && b.top < a.bottom + 1;
  const countCovered = (box, points) => points.reduce((sum, [x, y]) => sum + (x > box.left - 3 && x < box.right + 3 && y > box.top - 3 && y < box.bottom + 3), 0);

  // The elements of placed labels: a line to a point that is far away, and the text.
  function drawLabels(placed) {
    return placed.flatMap(({ label, box }) => {
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      const leader = box.distance < FAR_PX ? [] : [svgElement("path", { class: "line leader", d: `M${label.px.toFixed(1)},${label.py.toFixed(1)}L${Math.min(Math.max(label.px, box.left), box.right).toFixed(1)},${(label.py < y ? box.top : box.bottom).toFixed(1)}` })];
      return [...leader, svgElement("text", { x: x.toFixed(1), y: (box.bottom - 3).toFixed(1), "text-anchor": "middle", class: `label ${label.classes ?? ""}` }, label.text)];
    });
  }
