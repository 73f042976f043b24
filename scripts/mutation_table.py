"""Writes docs/mutations.md: every rule, the ways of spoiling a good bundle that it must notice, and
whether it did when tried.

    python scripts/mutation_table.py             tries all of them (some ten minutes on two cores)
    python scripts/mutation_table.py C101 W103   tries those of some rules; the tests try the others
    python scripts/mutation_table.py --check     says whether the page is current

What stands before the line of BEGIN is written by hand.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "mutations.md"
BEGIN = "<!-- What follows is written by scripts/mutation_table.py. -->\n"
HEAD = (
    "| rule | severity | ways of spoiling | tried | caught | missed | companions "
    "|\n|---|---|---|---|---|---|---|\n"
)
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from conftest import Submissions, make_key  # noqa: E402
from support.mutation_cases import Case, cases  # noqa: E402

from rules.registry import rules_by_id  # noqa: E402
from rules.rule import Rule  # noqa: E402


def tried(number: int) -> str:
    """What is wrong with the case of this number (see `Case.differs`)."""
    with tempfile.TemporaryDirectory() as scratch:
        submissions = Submissions(Path(scratch) / "submissions", make_key(Path(scratch) / "key"))
        submissions.allow(submissions.key)
        return list(cases())[number].differs(submissions)


def row(rule: Rule, own: Sequence[Case], wrong: Mapping[str, str]) -> str:
    """The row of a rule: `wrong` says by name of the case what was not as it must be."""
    ways = list(dict.fromkeys(case.spoiling.name for case in own))
    companions = sorted({other for case in own for other in case.spoiling.also_reported})
    missed = sum(bool(wrong[case.name]) for case in own)
    names = (
        ", ".join(way.replace("_", " ") for way in ways)
        or "(none: it is met in every test of the others)"
    )
    numbers = f"{len(own)} | {len(own) - missed} | {missed}"
    link = f"[{rule.id}](rules/{rule.id}-{rule.name}.md) {rule.name}"
    return f"| {link} | {rule.severity} | {names} | {numbers} | {', '.join(companions)} |"


def page(wrong: Mapping[str, str]) -> str:
    """The whole page, where `wrong` says of each case what was not as it must be."""
    every, rules = list(cases()), rules_by_id()
    rows = [
        row(rule, [case for case in every if case.rule is rule], wrong) for rule in rules.values()
    ]
    missed = sum(bool(text) for text in wrong.values())
    ways = len({(case.rule.id, case.spoiling.name) for case in every})
    summary = (
        f"{len(rules)} rules, {ways} ways of spoiling, tried {len(every)} times on made "
        "and measured bundles: "
        f"{len(every) - missed} caught, {missed} missed.\n\n"
    )
    return (
        PAGE.read_text().partition(BEGIN)[0]
        + BEGIN
        + "\n"
        + summary
        + HEAD
        + "\n".join(rows)
        + "\n"
    )


def is_current() -> bool:
    """Whether the page has the rules and ways of now, all caught."""
    return PAGE.read_text() == page({case.name: "" for case in cases()})


def main(arguments: Sequence[str]) -> None:
    if list(arguments) == ["--check"]:
        sys.exit(
            0 if is_current() else f"{PAGE} is not current; run python scripts/mutation_table.py"
        )
    numbers = [
        number for number, case in enumerate(cases()) if not arguments or case.rule.id in arguments
    ]
    with ProcessPoolExecutor() as pool:
        outcomes = list(pool.map(tried, numbers, chunksize=4))
    wrong = {case.name: "" for case in cases()}
    names = list(wrong)
    for number, text in zip(numbers, outcomes, strict=True):
        wrong[names[number]] = text
        if text:
            print(f"{names[number]}: {text}")
    PAGE.write_text(page(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
