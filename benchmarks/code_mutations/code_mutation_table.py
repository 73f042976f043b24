"""The committed tables of code mutations: what came of each change, and the counts by package."""

import csv
from collections import Counter
from pathlib import Path

RESULTS = Path(__file__).with_name("code-mutations.csv")
SUMMARY = Path(__file__).with_name("code-mutations-by-package.csv")
COLUMNS = (
    *("file", "line", "function", "kind", "code", "changed_to", "number"),
    *("result", "noticed_by", "judgement"),
)
STRICT = ("checker/trust/", "rules/bundle_format/files.py", "harness/power/caps/")
"""Of the modules whose path begins so no change may survive."""
STRICT_NAME = "caps, trust, files and LOG"
PACKAGES = "rules", "harness", "checker", "reporting", "reference"
MOST_SURVIVING_PERCENT = 5.0
MOST_SURVIVING_PERCENT_OF_PACKAGE = 10.0

Row = dict[str, str]
Key = tuple[str, str, str, str, int]


def read_rows() -> dict[Key, Row]:
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as file:
        return {key_of(row): row for row in csv.DictReader(file)}


def key_of(row: Row) -> Key:
    return row["file"], row["function"], row["code"], row["changed_to"], int(row["number"])


def write_rows(rows: dict[Key, Row]) -> None:
    ordered = sorted(rows.values(), key=lambda r: (r["file"], int(r["line"]), r["changed_to"]))
    _write(RESULTS, COLUMNS, ordered)


def _write(path: Path, columns: tuple[str, ...], rows: list[Row]) -> None:
    draft = path.with_suffix(".draft")
    with draft.open("w", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    draft.replace(path)


def summarize() -> int:
    """Write and print the counts by package; 1 where more survive than may."""
    rows = list(read_rows().values())
    parts = {name: [r for r in rows if r["file"].startswith(f"{name}/")] for name in PACKAGES}
    parts["all"] = rows
    parts[STRICT_NAME] = [row for row in rows if row["file"].startswith(STRICT)]
    summary, is_within = [], True
    for name, members in parts.items():
        results = Counter(row["result"] for row in members)
        equivalent = sum(row["judgement"].startswith("equivalent") for row in members)
        survive = results["survived"] - equivalent
        percent = 100 * survive / max(1, len(members) - equivalent)
        limits = {"all": MOST_SURVIVING_PERCENT, STRICT_NAME: 0.0}
        is_within &= percent <= limits.get(name, MOST_SURVIVING_PERCENT_OF_PACKAGE)
        counts = {
            "modules": len({row["file"] for row in members}),
            "changes": len(members),
            "caught": results["caught"],
            "equivalent": equivalent,
            "survive": survive,
        }
        cells = {"package": name} | {column: str(count) for column, count in counts.items()}
        summary.append(cells | {"survive_percent": f"{percent:.1f}"})
        print(", ".join(f"{column} {cell}" for column, cell in summary[-1].items()))
    _write(SUMMARY, tuple(summary[0]), summary)
    return int(not is_within)
