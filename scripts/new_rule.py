"""Write the skeleton of a rule: the rule with its page, and its mutations.

    make rule NAME=cap-rises FAMILY=caps

The skeleton is complete: `make check-rule NAME=cap-rises` passes. Replace page, check and
mutations by those of your rule.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from rules import VERSION  # noqa: E402
from rules.registry import rules_by_id  # noqa: E402
from rules.rule import BundleRule  # noqa: E402

RULE = '''"""A key that must not be there (replace this title by the offence)

## What it does
Looks for the key `x-{name}` in result.json.

## Why it is bad
Say what a reader would conclude wrongly from such a bundle.

## What to do
Say what the submitter can do.

## Source
Name the paper, manual or measurement that the limit comes from.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "{id}", Severity.WARNING, added="{version}")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    value = bundle.result.get("x-{name}")
    if value is not None:
        yield Violation(RESULT, "/x-{name}", str(value), "no such key")
'''

CASES = '''"""Mutations that the rule `{name}` must find."""

from rules.checks.{family}.{module} import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def key_with_a_number(evidence: EvidenceFrames) -> None:
    evidence.result["x-{name}"] = 1


@mutation(RULE)
def key_with_a_text(evidence: EvidenceFrames) -> None:
    evidence.result["x-{name}"] = "text"
'''


def main(name: str, family: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", name):
        sys.exit(f"NAME={name}: expected at least two lower-case words with dashes: cap-rises")
    families: dict[str, list[str]] = {}
    for rule in rules_by_id().values():
        if isinstance(rule, BundleRule):
            families.setdefault(rule.module.split(".")[2], []).append(rule.id)
    if family not in families:
        sys.exit(f"FAMILY={family}: unknown family; choose from {', '.join(families)}")
    letter = max(
        {rule_id[0] for rule_id in families[family]}, key=[i[0] for i in families[family]].count
    )
    number = max(int(rule_id[1:]) for rule_id in rules_by_id() if rule_id[0] == letter) + 1
    values = {
        "name": name,
        "module": name.replace("-", "_"),
        "family": family,
        "id": f"{letter}{number}",
        "version": VERSION,
    }
    for text, folder in ((RULE, "rules/checks"), (CASES, "rules/testing/cases")):
        path = ROOT / folder / family / f"{values['module']}.py"
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text.format(**values))
        except FileExistsError:
            sys.exit(f"{path.relative_to(ROOT)} already exists; choose another NAME")
        print(f"wrote {path.relative_to(ROOT)}")
    print(f"{values['id']}: edit both files, then run: make check-rule NAME={name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
