"""Grades of all evidence below a directory, one line for each row: to compare with answers that are
known otherwise.

python benchmarks/audit_samples.py DIRECTORY

Each line has the grades of the row, of its energy and of its items, energy in J, items, J per item,
mean power in W, the findings, and the file. Ends with the number of rows by grade.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from checker.audit.audit import JudgedRow, audit  # noqa: E402
from rules.audit.grades import divide, grade_energy, grade_items  # noqa: E402


def format_line(item: JudgedRow, root: Path) -> str:
    """The line of a row."""
    row = item.row
    per_item = divide(row)
    figures = (
        row.energy_j.value if row.energy_j else None,
        row.items.value if row.items else None,
        per_item.value if per_item else None,
        row.mean_power_w,
    )
    cells = [f"{value:>14.9g}" if value is not None else f"{'-':>14}" for value in figures]
    grades = f"{item.grade:<12} {grade_energy(row):<10} {grade_items(row) or '-':<10}"
    rules = ",".join(sorted({finding.rule for finding in item.findings})) or "-"
    return f"{grades} {' '.join(cells)}  {rules:<10} {(item.path / row.place).relative_to(root)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    root = parser.parse_args().directory
    start_s = time.monotonic()
    result = audit([root])
    for item in result.rows:
        print(format_line(item, root))
    for failure in result.failures:
        print(f"not read: {failure.path}: {failure.text}")
    counts = Counter(str(item.grade) for item in result.rows)
    print(f"{dict(counts)}, {time.monotonic() - start_s:.1f} s")


if __name__ == "__main__":
    main()
