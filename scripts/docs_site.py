"""Copies the pages of the documentation site, and the files that they link to, into build/pages.

    python scripts/docs_site.py

The copies have the paths of the repository, so a link between pages leads to the same page on the
site, in a clone and on a web page of the repository. `make docs` then runs Zensical.
"""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build" / "pages"
AT_THE_ROOT = ("README.md", "SKILL.md", "CONTRIBUTING.md", "CHANGELOG.md", "containers/README.md")
SCHEMAS = ROOT / "rules/bundle_format/schemas"
LINK = re.compile(r"\]\(([^()\s#]+)(?:#[^()\s]*)?\)")


def list_pages() -> list[Path]:
    """The pages of the site."""
    return [*(ROOT / name for name in AT_THE_ROOT), *sorted((ROOT / "docs").rglob("*.md"))]


def list_linked_files(page: Path) -> list[Path]:
    """The files of the repository that a page links to or shows."""
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = ((page.parent / link).resolve() for link in LINK.findall(text))
    return [path for path in targets if path.is_relative_to(ROOT) and path.is_file()]


def widen_indents(text: str) -> str:
    """A page with its lists inside of lists indented by four columns, as Python-Markdown reads
    them; GitHub and the pages take two or three. Fenced blocks at the margin stay as they are."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [re.sub(r"^ {2,3}(?=\S)", "    ", part, flags=re.MULTILINE) for part in parts[::2]]
    return "".join(parts)


def write_index_for_agents() -> None:
    """Copy llms.txt with links to the pages and schemas of the site."""
    text = (ROOT / "llms.txt").read_text("utf-8")
    text = re.sub(r"\bREADME\.md\)", "index.html)", text)
    text = re.sub(r"\.md\)", ".html)", text).replace("rules/bundle_format/schemas/", "schemas/")
    (PAGES / "llms.txt").write_text(text, "utf-8")


def main() -> None:
    shutil.rmtree(PAGES, ignore_errors=True)
    pages = list_pages()
    for path in {*pages, *(path for page in pages for path in list_linked_files(page))}:
        copy = PAGES / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            copy.write_text(widen_indents(path.read_text("utf-8")), "utf-8")
        else:
            shutil.copy(path, copy)
    # At an address that no move of a file in the repository changes.
    shutil.copytree(
        SCHEMAS,
        PAGES / "schemas",
        ignore=lambda _, names: {name for name in names if not name.endswith(".json")},
    )
    write_index_for_agents()


if __name__ == "__main__":
    main()
