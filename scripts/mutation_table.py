"""Write docs/mutations.md: every rule, the mutations of a good bundle that it must find, and
whether it found them.

    python scripts/mutation_table.py             tries all (ten minutes on two cores)
    python scripts/mutation_table.py C101 W103   tries those of some rules
    python scripts/mutation_table.py --check     fails if the page is not current

The text before the line BEGIN is written by hand.
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
    "| rule | severity | mutations | tried | caught | missed | companions "
    "|\n|---|---|---|---|---|---|---|\n"
)
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from conftest import Submissions, make_key  # noqa: E402
from support.mutation_cases import Case, list_cases  # noqa: E402

from rules.registry import rules_by_id  # noqa: E402
from rules.rule import Rule  # noqa: E402


def try_mutation(number: int) -> str:
    """Return what is wrong with the case of this number (see `Case.find_difference`)."""
    with tempfile.TemporaryDirectory() as scratch:
        submissions = Submissions(Path(scratch) / "submissions", make_key(Path(scratch) / "key"))
        submissions.allow(submissions.key)
        return list(list_cases())[number].find_difference(submissions)


def render_row(rule: Rule, rule_cases: Sequence[Case], failures: Mapping[str, str]) -> str:
    """Return the row of a rule. `failures` holds the failure of each case by its name, empty if the
    case passed."""
    ways = list(dict.fromkeys(case.alteration.name for case in rule_cases))
    companions = sorted(
        {rule_id for case in rule_cases for rule_id in case.alteration.also_reported}
    )
    missed_count = sum(bool(failures[case.name]) for case in rule_cases)
    names = (
        ", ".join(way.replace("_", " ") for way in ways)
        or "(none: it is met in every test of the others)"
    )
    numbers = f"{len(rule_cases)} | {len(rule_cases) - missed_count} | {missed_count}"
    link = f"[{rule.id}](rules/{rule.id}-{rule.name}.md) {rule.name}"
    return f"| {link} | {rule.severity} | {names} | {numbers} | {', '.join(companions)} |"


def render_page(failures: Mapping[str, str]) -> str:
    """Return the whole page. `failures` is as in `render_row`."""
    all_cases, rules = list(list_cases()), rules_by_id()
    rows = [
        render_row(rule, [case for case in all_cases if case.rule is rule], failures)
        for rule in rules.values()
    ]
    missed_count = sum(bool(text) for text in failures.values())
    ways = len({(case.rule.id, case.alteration.name) for case in all_cases})
    summary = (
        f"{len(rules)} rules, {ways} mutations, tried {len(all_cases)} times on made "
        "and measured bundles: "
        f"{len(all_cases) - missed_count} caught, {missed_count} missed.\n\n"
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
    """Return whether the page has the current rules and mutations, all caught."""
    return PAGE.read_text() == render_page({case.name: "" for case in list_cases()})


def main(arguments: Sequence[str]) -> None:
    if list(arguments) == ["--check"]:
        sys.exit(
            0 if is_current() else f"{PAGE} is not current; run python scripts/mutation_table.py"
        )
    numbers = [
        number
        for number, case in enumerate(list_cases())
        if not arguments or case.rule.id in arguments
    ]
    with ProcessPoolExecutor() as pool:
        outcomes = list(pool.map(try_mutation, numbers, chunksize=4))
    failures = {case.name: "" for case in list_cases()}
    names = list(failures)
    for number, text in zip(numbers, outcomes, strict=True):
        failures[names[number]] = text
        if text:
            print(f"{names[number]}: {text}")
    PAGE.write_text(render_page(failures))


if __name__ == "__main__":
    main(sys.argv[1:])
