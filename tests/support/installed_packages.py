"""The packages of an environment of the tests, for pip in an environment that a page makes."""

import shutil
import sys
from pathlib import Path

OFFLINE = {
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": "",
    "PIP_CONFIG_FILE": "/dev/null",
    "PIP_NO_COMPILE": "1",
}
"""Variables with which pip installs named files alone, and leaves it to Python to compile them."""


def link_packages(target: Path, prefix: str = sys.prefix) -> Path:
    """Make a directory for PYTHONPATH with links to all packages of the environment at `prefix` but
    wattmark and pip. With it, pip takes them as installed.

    Their metadata are copies without RECORD, the list of files by which pip would remove a package.
    pip also removes nothing outside the environment that it runs in.
    """
    (source,) = Path(prefix, "lib").glob("python*/site-packages")
    target.mkdir()
    for path in source.iterdir():
        if path.name.endswith(".dist-info"):
            ignored = shutil.ignore_patterns("RECORD", "licenses", "sboms")
            shutil.copytree(path, target / path.name, ignore=ignored)
        elif path.suffix != ".pth":
            (target / path.name).symlink_to(path)
    for path in (*target.glob("wattmark-*"), *target.glob("pip-*")):
        shutil.rmtree(path)
    (target / "pip").unlink(missing_ok=True)
    return target
