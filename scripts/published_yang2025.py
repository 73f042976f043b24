"""Write submissions/published/yang2025.json from the released data of Yang, Adámek and Armour. Run
`python scripts/published_yang2025.py SOURCE_DIR TIMM_DIR` in the project's root.

SOURCE_DIR holds the CSV files of JimZeyuYang/DL-Inference-Energy-Efficiency at the commit `COMMIT`,
TIMM_DIR those that `scripts/accuracy_table.py` reads; both may be gzipped. FLOPs and activations
come from TIMM_DIR, because the release counts those of transformers too low.
"""

import csv
import gzip
import json
import math
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from rules.bundle_format.study_records import PUBLISHED_STUDY_FORMAT
from rules.studies.accuracy import IMAGE_SETS
from rules.studies.plausibility import (
    ENERGY_APART_FROM_TWIN,
    POWER_APART_FROM_TWIN,
    find_doubts,
)
from rules.studies.published import parse_published_study

TARGET = Path(__file__).parents[1] / "submissions" / "published" / "yang2025.json"
TITLE = "Double-Exponential Increases in Inference Energy: The Cost of the Race for Accuracy"
REPOSITORY = "JimZeyuYang/DL-Inference-Energy-Efficiency"
COMMIT = "96cd60e"
DIGITS = 9
"""Significant digits that are kept."""
TWIN_RULES = (POWER_APART_FROM_TWIN, ENERGY_APART_FROM_TWIN)
"""The rules whose doubts rest on other rows of the release."""
BENCHMARK = "benchmark-infer-amp-nchw-pt291-cu130-5090.csv*"

A100, A100_CAP_W = "NVIDIA A100-PCIE-40GB", 250
H100, H100_CAP_W = "NVIDIA H100 PCIe", 310
SETUPS = {
    "A100_PT": (A100, A100_CAP_W, "eager", "tf32-conv"),
    "A100_TRT": (A100, A100_CAP_W, "tensorrt", "fp16"),
    "H100_PT": (H100, H100_CAP_W, "eager", "tf32-conv"),
    "H100_TRT": (H100, H100_CAP_W, "tensorrt", "fp16"),
}
"""Board, power limit in W as Table 1 states it, engine and precision, by file."""
LICENSE_TEXT = """MIT License

Copyright (c) 2024 Zeyu Yang

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and \
associated documentation files (the "Software"), to deal in the Software without restriction, \
including without limitation the rights to use, copy, modify, merge, publish, distribute, \
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is \
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or \
substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT \
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND \
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, \
DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT \
OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""
NOTES = (
    "The authors released code and data, which makes these notes possible.",
    "The text of the publication names no precision. The released code has torch.float32 for "
    "PyTorch and torch.float16 for TensorRT. With torch.float32 and the defaults of PyTorch, "
    "convolutions are in TF32 and matrix products in FP32. Autograd was on. "
    "The throughput of 422 rows on the A100 "
    "and of 72 on the H100 agrees with this: it is above the FP32 peak of the board, and all of "
    "these models are convolutional in part or whole.",
    "TensorRT ran in FP16. The ratio of TensorRT to PyTorch contains precision, autograd and "
    "engine.",
    "Some readings of power on the H100 with PyTorch are too low: energy times throughput is below "
    "half of the power limit in 27 rows. Eleven rows have a twin of the same architecture and size "
    "at the same throughput with the full power.",
    "The energy of convnext_large at 288 pixels on the A100 with TensorRT differs between weights "
    "by a factor of 2.8, and so does the throughput.",
    "FLOPs and activations are those of timm at the same architecture and size, because the tool "
    "behind the release leaves out the matrix products of attention.",
    "The batch is stated for TensorRT and for about a quarter of the rows of PyTorch. Elsewhere it "
    "is throughput times latency, which agrees within 0.2 % where PyTorch has both.",
)


def read_source(directory: Path, pattern: str) -> pd.DataFrame:
    """A file of the source."""
    paths = sorted(directory.glob(pattern))
    if len(paths) != 1:
        sys.exit(f"{directory}: {len(paths)} files match {pattern}; expected one")
    return pd.read_csv(paths[0])


def list_numbers(values: "pd.Series[float]") -> list[float | None]:
    """The values with `DIGITS` significant digits; None for a missing one."""
    return [None if math.isnan(v) else float(f"{v:.{DIGITS}g}") for v in values]


def list_counts(values: "pd.Series[float]") -> list[int | None]:
    """The values as integers; None for a missing one."""
    return [None if math.isnan(v) else int(v) for v in values]


def build_models(source: Path, timm: Path) -> dict[str, Any]:
    """The columns of the models, in the order of the release."""
    accuracy = read_source(source, "model_accuracy.csv*")
    stats = read_source(source, "model_stats.csv*")
    stats = stats.rename(columns={"model_name": "Model Name", "input_size_csv": "Input Size"})
    models = accuracy.merge(stats, on=["Model Name", "Input Size"], validate="1:1", how="left")
    models["architecture"] = models["Model Name"].str.partition(".")[0]
    benchmark = read_source(timm, BENCHMARK)
    models = models.merge(
        benchmark,
        how="left",
        left_on=["architecture", "Input Size"],
        right_on=["model", "infer_img_size"],
        validate="m:1",
    )
    accuracies = {
        name: list_numbers(models["imagenet-original" if name == "imagenet" else name])
        for name in IMAGE_SETS
    }
    return {
        "model": models["Model Name"].tolist(),
        "size": models["Input Size"].tolist(),
        "params": models["params_tinfo"].tolist(),
        # timm counts in millions and 10⁹ with two digits after the point.
        "flops": [round(gmacs * 2e9) for gmacs in models["infer_gmacs"]],
        "activations": [round(macts * 1e6) for macts in models["infer_macts"]],
        "accuracy_pct": accuracies,
    }


def build_setup(source: Path, name: str, models: dict[str, Any]) -> dict[str, Any]:
    """The results on one setup, in the order of the models."""
    board, cap_w, engine, precision = SETUPS[name]
    results = read_source(source, f"{name}.csv*").set_index(["Model Name", "Input Size"])
    results = results.loc[list(zip(models["model"], models["size"], strict=True))]
    return {
        "board": board,
        "engine": engine,
        "precision": precision,
        # The text of the publication names none.
        "claimed_precision": None,
        "cap_w": cap_w,
        "results": {
            # The release has mJ and ms.
            "joules_per_image": list_numbers(results["Energy"] / 1000),
            "images_per_s": list_numbers(results["Throughput"]),
            "latency_s": list_numbers(results["Latency"] / 1000),
            "batch": list_counts(results["Optimal BS"]),
            "max_batch": list_counts(results["Max BS"]),
        },
    }


def quote_lines(source: Path, name: str) -> dict[tuple[str, int], dict[str, str]]:
    """The line of each model and input size in the results on a setup, as a quotation."""
    (path,) = source.glob(f"{name}.csv*")
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        lines = file.read().splitlines()
    reader = csv.DictReader(lines)
    return {
        (row["Model Name"], int(row["Input Size"])): {
            "text": line,
            "file": f"{REPOSITORY} {COMMIT}, data/{name}.csv",
            "place": f"line {number}",
        }
        for number, (line, row) in enumerate(zip(lines[1:], reader, strict=True), 2)
    }


def list_objections(document: dict[str, Any], source: Path) -> list[dict[str, Any]]:
    """An objection to each row that its twins contradict, with the lines of row and twins. The
    rules find more rows, but no line that the authors wrote or released contradicts those."""
    results = parse_published_study(TARGET.name, document).results
    setups = list(dict.fromkeys(result.setup for result in results))
    keys = list(zip(document["models"]["model"], document["models"]["size"], strict=True))
    objections = []
    for result, rules in zip(results, find_doubts(results), strict=True):
        for rule in set(rules) & set(TWIN_RULES):
            number = setups.index(result.setup)
            lines = quote_lines(source, list(SETUPS)[number])
            twins = [
                lines[model, size]
                for model, size in keys
                if (model.partition(".")[0], size) == (result.architecture, result.size)
            ]
            row = keys.index((f"{result.architecture}.{result.tag}", result.size))
            objections.append({"rule": rule, "setup": number, "models": [row], "quotes": twins})
    return objections


def build_document(source: Path, timm: Path) -> dict[str, Any]:
    """The whole document."""
    models = build_models(source, timm)
    document = {
        "format": PUBLISHED_STUDY_FORMAT,
        "standing": "published",
        "study": "image-inference",
        "id": "yang2025",
        "title": TITLE,
        "authors": "Zeyu Yang, Karel Adámek, Wesley Armour",
        "year": 2024,
        "url": "https://arxiv.org/abs/2412.09731",
        "source": {
            "url": f"https://github.com/{REPOSITORY}",
            "commit": COMMIT,
            "license": "MIT",
            "license_text": LICENSE_TEXT,
            "changes": f"Energy in J, latency in s, {DIGITS} significant digits, one column for "
            "each quantity and setup; FLOPs and activations from "
            "huggingface/pytorch-image-models (Apache-2.0).",
        },
        "notes": list(NOTES),
        "models": models,
        "setups": [build_setup(source, name, models) for name in SETUPS],
    }
    return document | {"objections": list_objections(document, source)}


def render(value: Any, depth: int = 0) -> str:
    """JSON with one line for each column, so that a difference shows the column."""
    if isinstance(value, dict):
        pad = " " * (depth + 1)
        lines = [f"{pad}{json.dumps(key)}: {render(v, depth + 1)}" for key, v in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{' ' * depth}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        pad = " " * (depth + 1)
        return "[\n" + ",\n".join(pad + render(v, depth + 1) for v in value) + f"\n{' ' * depth}]"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: python scripts/published_yang2025.py SOURCE_DIR TIMM_DIR")
    text = render(build_document(Path(sys.argv[1]), Path(sys.argv[2]))) + "\n"
    TARGET.write_text(text, encoding="utf-8")
    print(f"{TARGET.name}: {len(text.encode())} bytes")


if __name__ == "__main__":
    main()
