  // What the figures and tables of all pages share.

  // Opens the print dialogue with parts of a figure alone, on a page of their size. The browser then writes vectors.
  function printAlone(parts, width) {
    const copies = parts.filter(Boolean).map((part) => part.cloneNode(true));
    const alone = element("div", { id: "figure-alone", style: `width: ${Math.ceil(width)}px` }, ...copies);
    document.body.append(alone);
    const height = alone.getBoundingClientRect().height;
    const size = element("style", { textContent: `@page { size: ${Math.ceil(width) + 32}px ${Math.ceil(height) + 32}px; margin: 0; }` });
    document.head.append(size);
    document.body.classList.add("prints-figure");
    addEventListener("afterprint", () => {
      document.body.classList.remove("prints-figure");
      alone.remove();
      size.remove();
    }, { once: true });
    print();
  }

  // On a phone a row is a card, and each of its cells has a label and a unit.
  function labelCells(tableElement, columns = [...tableElement.tHead.rows[0].cells].map((head) => ({ title: head.textContent, unit: "" }))) {
    tableElement.classList.add("labelled");
    for (const { cells } of tableElement.tBodies[0].rows) {
      columns.forEach(({ title, unit, note_key: note }, n) => {
        // The unit of a value with a note would stand after the note.
        const [label, unitBehind] = note ? [`${title}, ${unit}`, ""] : [title, unit];
        Object.assign(cells[n].dataset, { label, unit: cells[n].textContent === "–" ? "" : unitBehind });
      });
    }
  }
