"""Write the table of published accuracies, rules/studies/data/timm-accuracy.csv, and its header
timm-accuracy.json. Run `python scripts/accuracy_table.py SOURCE_DIR` in the project's root.

SOURCE_DIR holds the files `results-*.csv` and `benchmark-*.csv`, plain or gzipped, of the
directory results/ of huggingface/pytorch-image-models at the commit `COMMIT`. Numbers keep the
digits of the source.
"""

import json
import sys
from hashlib import sha256
from pathlib import Path

import pandas as pd

from rules.studies.accuracy import COLUMNS, HEADER_FILE, IMAGE_SETS, TABLE_FILE

DATA = Path(__file__).parents[1] / "rules" / "studies" / "data"
COMMIT = "aa4b585"
HEADER = {
    "title": "Accuracy of image models on eight image sets, and their sizes",
    "source": "https://github.com/huggingface/pytorch-image-models, directory results/",
    "commit": COMMIT,
    "license": "Apache-2.0",
    "copyright": "Copyright 2019 Ross Wightman",
    "changes": "Columns of nine files joined into one table. Top-5 accuracy, crop, interpolation "
    "and speed left out.",
}
RESULTS = "results-{}.csv*"
BENCHMARK = "benchmark-infer-amp-nchw-pt291-cu130-5090.csv*"


def read_source(directory: Path, pattern: str) -> pd.DataFrame:
    """A file of the source, all columns as text."""
    paths = sorted(directory.glob(pattern))
    if len(paths) != 1:
        sys.exit(f"{directory}: {len(paths)} files match {pattern}; expected one")
    return pd.read_csv(paths[0], dtype=str)


def build_table(directory: Path) -> pd.DataFrame:
    """One row for each model and size in the results on ImageNet, in the order of that file."""
    models = read_source(directory, RESULTS.format("imagenet"))
    table = models[["model", "img_size", "param_count"]].rename(columns={"img_size": "size"})
    table["params_m"] = table.pop("param_count").str.replace(",", "")
    for image_set in IMAGE_SETS:
        results = read_source(directory, RESULTS.format(image_set))[["model", "img_size", "top1"]]
        results.columns = ["model", "size", image_set]
        table = table.merge(results, how="left", on=["model", "size"], validate="1:1")
    benchmark = read_source(directory, BENCHMARK)
    sizes = benchmark[["model", "infer_img_size", "infer_gmacs", "infer_macts"]]
    sizes.columns = ["architecture", "size", "gmacs", "macts"]
    table["architecture"] = table["model"].str.partition(".")[0]
    table = table.merge(sizes, how="left", on=["architecture", "size"], validate="m:1")
    return table[list(COLUMNS)]


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/accuracy_table.py SOURCE_DIR")
    table = build_table(Path(sys.argv[1]))
    content = table.to_csv(index=False, lineterminator="\n").encode()
    DATA.joinpath(TABLE_FILE).write_bytes(content)
    header = {**HEADER, "file": TABLE_FILE, "sha256": sha256(content).hexdigest()}
    DATA.joinpath(HEADER_FILE).write_text(json.dumps(header, indent=1) + "\n")
    print(f"{TABLE_FILE}: {len(table)} rows, {len(content)} bytes, sha256 {header['sha256']}")


if __name__ == "__main__":
    main()
