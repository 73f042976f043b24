"""Try the mutations of a good bundle that each rule must find, and write into docs/mutations.md how
many were found. The page of each rule has their names (scripts/rule_pages.py).

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
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from conftest import Submissions, make_key  # noqa: E402
from support.mutation_cases import list_cases  # noqa: E402

from rules.registry import rules_by_id  # noqa: E402


def try_mutation(number: int) -> str:
    """Return what is wrong with the case of this number (see `Case.find_difference`)."""
    with tempfile.TemporaryDirectory() as scratch:
        submissions = Submissions(Path(scratch) / "submissions", make_key(Path(scratch) / "key"))
        submissions.allow(submissions.key)
        return list(list_cases())[number].find_difference(submissions)


def render_page(failures: Mapping[str, str]) -> str:
    """Return the whole page. `failures` holds the failure of each case by its name, empty if the
    case passed."""
    all_cases, rules = list(list_cases()), rules_by_id()
    missed = sum(bool(text) for text in failures.values())
    ways = len({(case.rule.id, case.alteration.name) for case in all_cases})
    head, begin, _ = PAGE.read_text().partition(BEGIN)
    return (
        f"{head}{begin}\n{len(rules)} rules, {ways} mutations, tried {len(all_cases)} times on "
        f"made and measured bundles: {len(all_cases) - missed} caught, {missed} missed.\n"
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
