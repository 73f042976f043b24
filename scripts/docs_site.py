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
AT_THE_ROOT = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "containers/README.md")
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


if __name__ == "__main__":
    main()
