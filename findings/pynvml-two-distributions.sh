#!/usr/bin/env bash
# pynvml beside nvidia-ml-py: the older NVML binding is imported, in either order of installation.
#
# Guess: both distributions provide `import pynvml`, so the one installed last wins, or pip refuses
# the pair; importlib.metadata then tells which binding is in use.
# What happens: pynvml 11.5.3 is a package (pynvml/) and nvidia-ml-py 13.580.82 a module
# (pynvml.py). Neither overwrites the other, `pip check` is content, and Python prefers the package.
# The older binding is imported whichever came last, while the metadata of nvidia-ml-py says 13.
# Source: the two wheels on PyPI; the import system reference of Python (a package hides a module of
# the same name in one directory).
# Why it matters: eco2ai 0.3.12 and pyJoules 0.5.1 require the distribution pynvml, and its releases
# up to 11.5.3 hold a binding of their own. A record of the environment that lists distributions then
# names a binding that did not run, and newer NVML functions are missing. Use the path of the loaded
# file, and the distribution that lists it.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for order in "pynvml==11.5.3 nvidia-ml-py==13.580.82" "nvidia-ml-py==13.580.82 pynvml==11.5.3"; do
    rm -rf "$place/env"
    python3 -m venv "$place/env"
    for package in $order; do
        "$place/env/bin/pip" install --quiet --disable-pip-version-check "$package" 2> "$place/log" || cat "$place/log"
    done
    echo "installed in this order: $order"
    "$place/env/bin/pip" check
    "$place/env/bin/python" - << 'END'
from importlib.metadata import version
from pathlib import Path

import pynvml

loaded = Path(pynvml.__file__)
print("metadata: nvidia-ml-py", version("nvidia-ml-py"), "and pynvml", version("pynvml"))
print("imported:", loaded.parent.name + "/" + loaded.name)
newer = "nvmlDeviceGetTemperatureV"
text = loaded.parents[1].joinpath("pynvml.py").read_text()
print(f"{newer}: in pynvml.py {f'def {newer}(' in text}, in the imported binding {hasattr(pynvml, newer)}")
assert loaded.name == "__init__.py", "the package is not imported any more"
assert f"def {newer}(" in text and not hasattr(pynvml, newer)
END
done
echo "as described"
