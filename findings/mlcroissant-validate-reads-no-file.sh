#!/usr/bin/env bash
# mlcroissant: `validate` accepts a data set whose file has another SHA-256, or is missing.
#
# Guess: a validator of a data set with `contentUrl` and `sha256` compares the file with its hash.
# What happens: mlcroissant 1.1.1 validates the metadata alone and reports success, with the file
# changed and without it. Only reading records opens a file.
# Source: mlcroissant 1.1.1 on PyPI, `mlcroissant validate`; Croissant 1.0, `sha256` of a FileObject.
# Why it matters: an archive of measurements that was only "validated" may lack or alter its tables.
# Check the hashes apart, for example with sha256sum.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check mlcroissant==1.1.1 2> "$place/log" || cat "$place/log"
cd "$place"
echo "watts" > power.csv
echo "512" >> power.csv
"$place/env/bin/python" - "$(sha256sum power.csv | cut -d' ' -f1)" << 'END'
import json
import sys

import mlcroissant as mlc

metadata = mlc.Metadata(
    name="power",
    description="Power of a board.",
    url="https://example.org/power",
    license=["https://creativecommons.org/licenses/by/4.0/"],
    distribution=[
        mlc.FileObject(
            id="power.csv",
            name="power.csv",
            content_url="power.csv",
            encoding_formats=["text/csv"],
            sha256=sys.argv[1],
        )
    ],
)
with open("croissant.json", "w") as file:
    json.dump(metadata.to_json(), file, default=str)
END
validate() {
    local status=0
    "$place/env/bin/mlcroissant" validate --jsonld croissant.json > out 2>&1 || status=$?
    echo "$1: exit status $status: $(tail -n 1 out)"
    [[ $status == 0 ]]
}
"$place/env/bin/pip" list 2> /dev/null | grep '^mlcroissant'
validate "the file as stated"
echo "9000" >> power.csv
validate "another line in the file"
rm power.csv
validate "the file removed"
echo "as described"
