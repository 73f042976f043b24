"""The rule book and the checker load without an accelerator's stack, and `bench-check --help` loads
next to nothing.

import-linter keeps the arrows between our own modules; this looks at what a fresh interpreter
really loaded, through third parties too.
"""

import json
import subprocess
import sys
from pathlib import Path

ACCELERATOR_STACK = {"torch", "timm", "pynvml", "amdsmi"}

IMPORT_EVERYTHING = """
import importlib, pkgutil
import checker, rules
for package in (rules, checker):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
"""

ASK_FOR_HELP = """
import contextlib, sys
sys.argv = ["bench-check", "--help"]
from checker.cli import main
with contextlib.suppress(SystemExit):
    main()
"""

JUDGE_ALL = f"""
from pathlib import Path
from checker.engine import judge
root = Path({str(Path(__file__).parents[2])!r})
for manifest in root.glob("submissions/reference/*/*/MANIFEST.json"):
    assert judge(manifest.parent).status == "pass"
"""


def list_modules_after(program: str) -> set[str]:
    """Names in `sys.modules` after `program` has run in an interpreter of its own."""
    epilogue = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    process = subprocess.run(
        [sys.executable, "-c", program + epilogue], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    return set(json.loads(process.stderr.splitlines()[-1]))


def test_rules_and_checker_load_no_accelerator_stack() -> None:
    loaded = list_modules_after(IMPORT_EVERYTHING)
    assert {"rules.metrics.run", "checker.cli"} <= loaded
    assert not loaded & ACCELERATOR_STACK


def test_help_of_bench_check_loads_no_data_stack() -> None:
    loaded = list_modules_after(ASK_FOR_HELP)
    assert "checker.cli" in loaded
    assert not loaded & {"pandas", "numpy", "jsonschema", *ACCELERATOR_STACK}


def test_to_judge_loads_no_data_frames() -> None:
    loaded = list_modules_after(JUDGE_ALL)
    assert {"rules.metrics.run", "rules.bundle_format.csv_table"} <= loaded
    assert not loaded & {"pandas", "rules.testing", *ACCELERATOR_STACK}
