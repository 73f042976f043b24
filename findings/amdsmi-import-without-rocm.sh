#!/usr/bin/env bash
# amdsmi: on a node without ROCm the import raises KeyError and writes to standard output.
#
# Guess: `import amdsmi` raises ImportError, or works and amdsmi_init raises AmdSmiLibraryException, as
# nvidia-ml-py does without a driver.
# What happens: amdsmi 7.0.2 writes two lines to standard output and raises KeyError('libamd_smi.so').
# Source: amdsmi 7.0.2 on PyPI, on a machine without /opt/rocm.
# Why it matters: a tool for both vendors that catches ImportError ends with a traceback on nodes of the
# other vendor, and the lines spoil JSON or CSV on its standard output.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
if [[ -e /opt/rocm ]]; then
    echo "this machine has ROCm; run it on one without"
    exit 1
fi
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check amdsmi==7.0.2 nvidia-ml-py==13.615.71 2> "$place/log" || cat "$place/log"
"$place/env/bin/pip" list 2> /dev/null | grep -E '^(amdsmi|nvidia)'
"$place/env/bin/python" - > "$place/out" 2> "$place/errors" << 'END'
import sys

try:
    import amdsmi  # noqa: F401
except Exception as error:
    print(type(error).__name__, error, file=sys.stderr)
END
echo "raised: $(cat "$place/errors")"
echo "standard output: $(wc -l < "$place/out") lines: $(tail -n 1 "$place/out")"
grep -q "^KeyError 'libamd_smi.so'" "$place/errors"
[[ $(wc -l < "$place/out") == 2 ]]
echo "as described"
