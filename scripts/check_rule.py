"""Run everything that concerns one rule, and write its pages.

    make check-rule NAME=cap-rises

Steps: ruff and mypy on the two files of the rule; its page in docs/rules/, and the numbers
in docs/mutations.md, for which its mutations are tried; the tests of the rule book that concern it;
and its findings on the committed bundles.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import mutation_table  # noqa: E402
import rule_pages  # noqa: E402

from checker.engine import judge_all  # noqa: E402
from rules.registry import rules_by_id  # noqa: E402


def run(step: str, *command: str) -> None:
    """Run a command in the root of the project. If it fails, exit with its output."""
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if process.returncode:
        sys.exit(f"{step} failed: {' '.join(command)}\n{process.stdout}{process.stderr}")
    print(f"{step}: ok")


def main(name: str) -> None:
    start_s = time.monotonic()
    rule = next((r for r in rules_by_id().values() if name in (r.name, r.id)), None)
    if rule is None:
        sys.exit(f"NAME={name}: unknown rule; `bench-check rules` lists the rules")
    module = Path(*rule.module.split(".")).with_suffix(".py")
    cases = Path("rules/testing/cases", *module.parts[2:])
    if not (ROOT / cases).exists():
        sys.exit(f"{cases} is missing: a rule needs mutations that it must find")
    run("ruff check", sys.executable, "-m", "ruff", "check", str(module), str(cases))
    run("ruff format", sys.executable, "-m", "ruff", "format", "--check", str(module), str(cases))
    run("mypy", sys.executable, "-m", "mypy", str(module), str(cases))
    rule_pages.main()
    mutation_table.main([rule.id])
    print("pages: written")
    tests = ["tests/rules/test_rules.py", "tests/rules/test_mutations.py"]
    names = f"{rule.id} and not noticed or current or good_bundle or good_study"
    run("tests", sys.executable, "-m", "pytest", "-q", "-x", *tests, "-k", names)
    findings = [
        f"{verdict.path}: {finding.found}; expected: {finding.expected}"
        for verdict in judge_all([ROOT / "submissions"]).verdicts
        for finding in verdict.findings
        if finding.rule == rule.id
    ]
    print(f"findings on the committed bundles: {len(findings)}", *findings, sep="\n  ")
    print(f"{rule.id} {rule.name}: checked in {time.monotonic() - start_s:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
