"""Write a page for every rule, and an index, to docs/rules/. Run `python scripts/rule_pages.py` in
the project's root.

The pages are the docstrings of `rules/checks/`. A test requires that the committed pages are
current.
"""

from pathlib import Path

from rules.registry import rules_by_id
from rules.rule import FAMILIES, Rule
from rules.testing.case import Case, cases_of

PAGES = Path(__file__).parents[1] / "docs" / "rules"


def render_pages() -> dict[str, str]:
    """Return the text of every page by file name."""
    rules = list(rules_by_id().values())
    pages = {f"{rule.id}-{rule.name}.md": _render_page(rule) for rule in rules}
    pages["README.md"] = _render_index(rules)
    return pages


def _render_page(rule: Rule) -> str:
    text = rule.page.split("\n", 1)[1].strip()
    since = f"since protocol {rule.since}, rule book {rule.added}"
    facts = f"`{rule.id}` {rule.name} · {rule.severity} · {since} · {', '.join(rule.standings)}"
    tested = "\n".join(map(_render_case, cases_of(rule)))
    return f"# {rule.id}: {rule.title}\n\n{facts}\n\n{text}\n\n## Tested with\n{tested}\n"


def _render_case(case: Case) -> str:
    """The name of a mutation, with the other rules that must report it too."""
    others = ", ".join(sorted(case.also_reported))
    return f"- {case.name.replace('_', ' ')}{f' (also {others})' if others else ''}"


def _render_index(rules: list[Rule]) -> str:
    lines = [
        "# The rules",
        "",
        "For submitters who got a finding, and for reviewers: a page for each rule.",
        "",
        f"{len(rules)} rules. An error refuses a bundle, a warning marks it, a note is for "
        "the reviewer.",
        '"Protocol" in a source is section 3 of [the design](../design.md).',
        "`bench-check explain ID` prints a page. `scripts/rule_pages.py` makes these pages "
        "from `rules/checks/`.",
    ]
    for letter, family in FAMILIES.items():
        family_rules = [rule for rule in rules if rule.id[0] == letter]
        if family_rules:
            lines += [
                "",
                f"## {letter}: {family}",
                "",
                "| rule | severity | offence |",
                "|---|---|---|",
            ]
            lines += [
                f"| [{r.id}]({r.id}-{r.name}.md) | {r.severity} | {r.title} |" for r in family_rules
            ]
    return "\n".join(lines) + "\n"


def main() -> None:
    PAGES.mkdir(parents=True, exist_ok=True)
    pages = render_pages()
    for path in PAGES.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (PAGES / name).write_text(text)


if __name__ == "__main__":
    main()
