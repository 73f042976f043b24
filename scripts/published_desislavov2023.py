"""Write submissions/published/desislavov2023/trends.json from the transcribed tables of Desislavov,
Martínez-Plumed and Hernández-Orallo. Run `python scripts/published_desislavov2023.py SOURCE_DIR` in
the project's root.

SOURCE_DIR holds the CSV files `desislavov2023_*.csv` of the transcription.
"""

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rules.bundle_format.study_records import PUBLISHED_STUDY_FORMAT
from rules.studies.trends.records import TRENDS

TARGET = Path(__file__).parents[1] / "submissions/published/desislavov2023/trends.json"
TITLE = (
    "Trends in AI inference energy consumption: Beyond the performance-vs-parameter laws of deep "
    "learning"
)
AUTHORS = "Radosvet Desislavov, Fernando Martínez-Plumed, José Hernández-Orallo"
SOURCE = {
    "url": "https://doi.org/10.1016/j.suscom.2023.100857",
    "commit": None,
    "license": "NOASSERTION",
    "license_text": "Facts and figures of the publication, copied for comparison with attribution: "
    "R. Desislavov, F. Martínez-Plumed, J. Hernández-Orallo, Sustainable Computing: Informatics "
    "and Systems 38 (2023) 100857, arXiv:2109.05472. No text of the publication is copied. Its "
    "licence was not established.",
    "changes": "Tables B.2, E.3, I.7, J.8, J.9, K.10, K.11, L.12 and L.13, transcribed from the "
    "text. The status and the note of a row say where a cell was misread, chosen or inferred.",
}
NOTES = (
    "A multiply-add counts as two FLOPs.",
    "Section 4.1 and equation H.1 print FLOPs of a scaled EfficientNet as d + w² + r². The "
    "product d w² r² of equation H.2 gives the printed 1040, 585, 82 and 1.6 GFLOPs.",
    "The 1040 GFLOPs of EfficientNet-L2 (NoisyStudent-L2, Meta Pseudo Labels L2) are an estimate "
    "of the authors; a count gives 953.",
    "Table J.8 dates the V100 by its board with 32 GB.",
    "Table K.11 exchanges the estimates of Titan RTX and T4.",
    "ViT-G/14: 2859.9 GFLOPs times 1.3490² is 5204, printed 5270. The printed value is kept.",
    "The power in these tables is thermal design power, and the rates are peaks or peaks times a "
    "measured speed-up. Nothing in them was measured under load, apart from Tables E.3, K.10, K.11 "
    "and L.13.",
    "Table F.4, the means of Table E.3, is an image in the text and is not transcribed.",
)


def read_rows(directory: Path, table: str) -> Iterator[dict[str, str]]:
    """The rows of a file of the transcription. An empty cell is an empty text."""
    path = directory / f"desislavov2023_{table}.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)
    except FileNotFoundError:
        sys.exit(f"{path}: no such file; name the directory of the transcription")


def number(text: str) -> float | None:
    """The number in a cell; None if it is empty."""
    return float(text) if text else None


def make_boards(directory: Path) -> Iterator[dict[str, Any]]:
    """Tables J.8 and J.9."""
    for row in read_rows(directory, "gpus"):
        yield {
            "table": row["source_table"],
            "adapted": row["adapted"] or None,
            "board": row["gpu"],
            "precision": row["precision"],
            "tflops": float(row["tflops"]),
            "tdp_w": float(row["watts_tdp"]),
            "launched": row["launch_date"],
            "market": row["type"],
            "gflops_per_w": float(row["gflops_per_watt"]),
            "status": row["status"],
            "note": row["note"] or None,
        }


def make_vision_models(directory: Path) -> Iterator[dict[str, Any]]:
    """Table B.2."""
    for row in read_rows(directory, "cv_models"):
        yield {
            "model": row["model"],
            "accuracy_pct": number(row["top1_acc_pct"]),
            "params_m": number(row["params_m"]),
            "gflops": number(row["gflops"]),
            "gflops_estimated": row["gflops_mark"] == "estimated_by_authors",
            "extra_data": row["extra_data"] or None,
            "released": row["date"] or None,
            "architecture": row["architecture"],
            "status": row["status"],
            "note": row["note"] or None,
        }


def make_language_models(directory: Path) -> Iterator[dict[str, Any]]:
    """Table I.7."""
    for row in read_rows(directory, "nlp_models"):
        yield {
            "model": row["model"],
            "input_tokens": int(row["input_tokens"]),
            "gflops": float(row["gflops"]),
            "params_m": float(row["params_m"]),
            "released": row["date"],
            "glue_score": number(row["glue_score"]),
            "status": row["status"],
            "note": row["note"] or None,
        }


def make_speedups(directory: Path) -> Iterator[dict[str, Any]]:
    """Table E.3."""
    for row in read_rows(directory, "speedups"):
        yield {
            "task": row["task"],
            "model": row["model"],
            "framework": row["framework"],
            "batch": int(row["batch_size"]),
            "board": row["gpu"],
            "precision": row["precision"],
            "throughput": float(row["throughput"]),
            "speedup": float(row["speedup"]),
            "reference": row["speedup_reference"],
        }


def make_figures(directory: Path, table: str, subject: str) -> Iterator[dict[str, Any]]:
    """Tables K.10 and K.11, or L.12 and L.13. `subject` is the column of the model or device."""
    for row in read_rows(directory, table):
        device = {"year": int(row["year"]), "kind": row["type"]} if "year" in row else {}
        yield {
            "table": row["source_table"],
            "subject": row[subject],
            "board": row.get("gpu"),
            "quantity": row["quantity"],
            "value": float(row["value"]),
            "unit": row["unit"],
            "note": row["note"] or None,
            **device,
        }


def render(document: dict[str, Any]) -> str:
    """The document as JSON with one line for each row of a table, so that changes show."""
    parts = []
    for key, value in document.items():
        if isinstance(value, list):
            rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in value)
            parts.append(f" {json.dumps(key)}: [\n  {rows}\n ]")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def make_document(directory: Path) -> dict[str, Any]:
    """The document of the transcription in `directory`."""
    return {
        "format": PUBLISHED_STUDY_FORMAT,
        "standing": "published",
        "study": TRENDS,
        "id": "desislavov2023",
        "title": TITLE,
        "authors": AUTHORS,
        "year": 2023,
        "url": "https://arxiv.org/abs/2109.05472",
        "source": SOURCE,
        "notes": list(NOTES),
        "boards": list(make_boards(directory)),
        "vision_models": list(make_vision_models(directory)),
        "language_models": list(make_language_models(directory)),
        "speedups": list(make_speedups(directory)),
        "energy_checks": list(make_figures(directory, "energy_checks", "model")),
        "edge_devices": list(make_figures(directory, "edge", "device")),
    }


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/published_desislavov2023.py SOURCE_DIR")
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(render(make_document(Path(sys.argv[1]))), encoding="utf-8")


if __name__ == "__main__":
    main()
