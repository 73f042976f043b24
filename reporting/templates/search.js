  // Search in the rows of a table. It finds words and whole numbers, not parts of names: 300 finds 300 W, and not MI300X.

  // The words of a text in lower case. A number is one word, without the blanks between its digits and without zeros at its end.
  function splitWords(content) {
    return content.toLowerCase().replace(/(\d)\u202f(?=\d{3})/g, "$1").split(/[^\p{L}\p{N}.]+/u)
      .map((word) => word.replace(/^\.+|\.+$/g, ""))
      .filter(Boolean)
      .map((word) => (/^\d+(\.\d+)?$/.test(word) ? String(Number(word)) : word));
  }

  // The words of a row: all texts, and the numbers of shown columns as shown and as stored, with their units.
  function collectWords(table, row) {
    const words = new Set();
    const add = (content) => splitWords(content).forEach((word) => words.add(word));
    for (const column of table.columns) {
      const value = row[column.key];
      if (typeof value === "string") add(value);
      if (typeof value !== "number" || column.hidden) continue;
      words.add(String(Math.abs(value)));
      add(`${text(column, row)} ${interval(column, row).split(",")[0]} ${column.unit}`);
    }
    return words;
  }

  // Returns a function that tells whether the words of a row match a query: all words of the query are among them.
  function parseQuery(query) {
    // In a query, a blank or a comma may also group the digits of one number.
    const readings = [query, query.replace(/(\d)[ ,](?=\d{3}(?!\d))/g, "$1")].map(splitWords);
    return (words) => readings.some((reading) => reading.every((word) => words.has(word)));
  }
