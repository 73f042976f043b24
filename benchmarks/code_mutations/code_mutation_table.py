"""The committed table of code mutations: each change, what came of it, and its judgement."""

import csv
from collections import Counter
from pathlib import Path

RESULTS = Path(__file__).with_name("code-mutations.csv")
COLUMNS = "file", "line", "function", "code", "changed_to", "number", "result", "judgement"
STRICT = ("checker/trust/", "rules/bundle_format/files.py", "harness/power/caps/")
"""Of the modules whose path begins so no change may survive."""
MOST_SURVIVING_PERCENT = 5.0


def read_rows() -> list[dict[str, str]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def key_of(row: dict[str, str]) -> tuple[str, str, str, str, int]:
    return row["file"], row["function"], row["code"], row["changed_to"], int(row["number"])


def write_rows(rows: list[dict[str, str]]) -> None:
    draft = RESULTS.with_suffix(".draft")
    with draft.open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(sorted(rows, key=lambda r: (r["file"], int(r["line"]), r["changed_to"])))
    draft.replace(RESULTS)


def check() -> int:
    """Print the judgements of each module; 1 where more survive than may."""
    rows = read_rows()
    kinds = Counter((row["file"], row["judgement"].partition(" ")[0].rstrip(":")) for row in rows)
    for file in sorted({row["file"] for row in rows}):
        counts = {kind: kinds[file, kind] for kind in ("killed", "equivalent", "survives")}
        print(f"{file}: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    survives = [row for row in rows if row["judgement"] == "survives"]
    percent = 100 * len(survives) / max(1, len(rows))
    print(f"{len(rows)} changes, {len(survives)} survive ({percent:.1f} %)")
    strict = [row for row in survives if row["file"].startswith(STRICT)]
    for row in strict:
        print(f"{row['file']}:{row['line']}: {row['code']} -> {row['changed_to']}")
    return int(bool(strict) or percent > MOST_SURVIVING_PERCENT)
