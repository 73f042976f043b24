"""docs/ and the pages at the root: links, anchors and paths exist, every page names its readers,
and the code that a page shows prints what the page says."""

import ast
import contextlib
import importlib
import io
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from conftest import Submissions, copy_evidence

from checker.engine import judge
from checker.judging import rule_choice
from rules.registry import rules_by_id

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = DOCS / "rules"
"""The pages of the rules: their text is that of the rules, their links are checked here too."""
AT_THE_ROOT = ("README.md", "CONTRIBUTING.md", "containers/README.md")
PAGES = sorted([*DOCS.rglob("*.md"), *(ROOT / name for name in AT_THE_ROOT)])
FOR_AGENTS = ROOT / "SKILL.md", ROOT / "llms.txt"
MOVED = [page for page in PAGES if page.read_text().startswith("Moved to ")]
"""Addresses of an earlier release. Each names the page that has its content now."""
WRITTEN = [page for page in PAGES if GENERATED not in page.parents and page not in MOVED]
MOST_WORDS = 70_000
"""In all of docs/, the pages of the rules left out."""
README_LINES = 120
LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
ROOMS = "harness|reference|rules|checker|reporting|tests|scripts|benchmarks|containers|constraints"
PATH = re.compile(rf"`((?:{ROOMS}|examples|docs|submissions)/[\w./-]+)`")


def get_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@cache
def extract_prose(page: Path) -> str:
    """The text of a page without its fenced blocks."""
    return re.sub(r"^( *)```.*?^\1```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@cache
def list_anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    counts: dict[str, int] = {}
    slugs = set()
    for heading in re.findall(r"^#+ +(.+?) *$", extract_prose(page), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = "".join(
            c for c in plain if c in " -_" or unicodedata.category(c)[0] in "LN"
        ).replace(" ", "-")
        slugs.add(slug if slug not in counts else f"{slug}-{counts[slug]}")
        counts[slug] = counts.get(slug, 0) + 1
    return slugs


def find_broken_links(page: Path) -> list[str]:
    """The links of a page that lead to no file or no heading of the project."""
    problems = []
    for link in LINK.findall(extract_prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        exists = target.exists() and target.is_relative_to(ROOT)
        if not exists or (anchor and anchor not in list_anchors(target)):
            problems.append(link)
    return problems


@pytest.mark.parametrize("page", WRITTEN, ids=get_name)
def test_links_and_anchors_exist(page: Path) -> None:
    assert find_broken_links(page) == []


@pytest.mark.parametrize("page", FOR_AGENTS, ids=get_name)
def test_links_of_files_for_agents_exist(page: Path) -> None:
    assert LINK.search(page.read_text())
    assert find_broken_links(page) == []


def test_links_of_rule_pages_exist() -> None:
    pages = list(GENERATED.glob("*.md"))
    assert len(pages) > 100
    assert {
        get_name(page): find_broken_links(page) for page in pages if find_broken_links(page)
    } == {}


@pytest.mark.parametrize("page", WRITTEN, ids=get_name)
def test_paths_that_a_page_names_exist(page: Path) -> None:
    """A name in capitals stands for a name of the reader's, so `submissions/CENTER/` need not
    exist."""
    paths = [
        path for path in PATH.findall(extract_prose(page)) if not re.search(r"/[A-Z]{2,}", path)
    ]
    missing_paths = [path for path in paths if not (ROOT / path).exists() and path not in OF_OTHERS]
    assert missing_paths == []


OF_OTHERS = {
    "submissions/waivers/",  # made by the first waiver
    "submissions/commitments/",  # made by the first commitment
    "submissions/example/",
    "submissions/nhr/",
    "rules/checks/power/board_too_hot.py",  # the example of docs/write-a-rule.md
    "rules/testing/cases/power/board_too_hot.py",
}
"""Paths that pages name and that only a user's tree has."""


@pytest.mark.parametrize("page", [*WRITTEN, GENERATED / "README.md"], ids=get_name)
def test_page_begins_with_its_readers(page: Path) -> None:
    title, empty, first, *_ = page.read_text().splitlines()
    assert re.match(r"# \S", title) and empty == ""
    assert re.match(r"For \w", first), "the first line after the title says for whom the page is"
    assert len(re.findall(r"^# ", extract_prose(page), re.MULTILINE)) == 1


@pytest.mark.parametrize("page", WRITTEN, ids=get_name)
def test_rows_of_a_table_follow_its_head(page: Path) -> None:
    lines = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE).split("\n")
    for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
        if line.startswith("|") and not before.startswith("|"):
            assert re.match(r"\|\s*:?-", after), f"{line}: a row outside of a table"


def test_every_page_is_in_the_index() -> None:
    index = DOCS / "README.md"
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in LINK.findall(index.read_text())}
    assert [
        get_name(page)
        for page in WRITTEN
        if page.is_relative_to(DOCS) and page not in linked | {index}
    ] == []


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2].split()
    pages = {get_name(page) for page in [*WRITTEN, GENERATED / "README.md"]}
    assert pages - set(navigation) == set()


@pytest.mark.parametrize("page", MOVED, ids=get_name)
def test_moved_page_names_the_new_one(page: Path) -> None:
    assert re.fullmatch(r"Moved to \[[^\]]+\]\([^()\s]+\)\.\n", page.read_text())
    assert find_broken_links(page) == []
    (link,) = LINK.findall(page.read_text())
    assert (page.parent / link.partition("#")[0]).resolve() in WRITTEN


def test_docs_are_short() -> None:
    pages = [page for page in PAGES if DOCS in page.parents and GENERATED not in page.parents]
    assert sum(len(page.read_text().split()) for page in pages) <= MOST_WORDS


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES


def test_no_page_names_a_directory_of_a_machine() -> None:
    texts = {get_name(page): page.read_text() for page in [*WRITTEN, ROOT / "CHANGELOG.md"]}
    assert {n for n, text in texts.items() if re.search(r"/(work|home|root)/", text)} == set()


def extract_code(page: Path) -> list[tuple[str, str]]:
    """The Python blocks of a page, each with the output that follows it."""
    return re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page.read_text(), re.DOTALL)


def test_code_about_a_bundle_prints_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    blocks = extract_code(DOCS / "look-at-your-own-run.md")
    assert len(blocks) == 7
    names: dict[str, object] = {}
    for code, page_output in blocks:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(code, names)
        printed = [line.rstrip() for line in output.getvalue().splitlines()]
        assert printed == page_output.splitlines(), code


MESSAGE = re.compile(r"^\| `(.+?)` \|", re.MULTILINE)


def list_constant_texts() -> str:
    """All constant parts of texts in the packages; f-strings are split at their values."""
    texts = [
        node.value
        for package in ("harness", "reference", "rules", "checker", "reporting")
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return re.sub(r"\s+", " ", "\0".join(texts))


def test_messages_of_troubleshooting_are_those_of_the_code() -> None:
    """Each part of a message between two `…` occurs in a text of the code. One word is too common
    to be looked for."""
    code = list_constant_texts()
    messages = MESSAGE.findall((DOCS / "troubleshooting.md").read_text())
    assert len(messages) > 50
    parts = [part.strip() for message in messages for part in message.split("…")]
    assert [part for part in parts if len(part.split()) > 1 and part not in code] == []


def test_messages_of_troubleshooting_are_in_the_order_of_their_words() -> None:
    for section in (DOCS / "troubleshooting.md").read_text().split("\n## ")[1:]:
        words = [re.sub(r"[^a-z0-9 ]", "", m.lower()).strip() for m in MESSAGE.findall(section)]
        assert words == sorted(words)


def test_tests_that_pages_name_exist() -> None:
    test_names = {
        test for page in WRITTEN for test in re.findall(r"`(test_\w+)`", page.read_text())
    }
    defined = {
        name
        for path in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    assert test_names - defined == set()


MOST_HOPS = 12


def test_way_of_one_reading_names_functions_that_exist() -> None:
    text = (DOCS / "design.md").read_text()
    _, _, section = text.partition("### The way of one reading\n")
    hops = re.findall(r"^\| \d+ \| `([\w/.]+)` \| `(\w+)` \|", section, re.MULTILINE)
    assert 8 <= len(hops) <= MOST_HOPS
    for path, function in hops:
        tree = ast.parse((ROOT / path).read_text())
        assert function in {
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
        }, f"{path} defines no {function}"


def forget_rules() -> None:
    """Clear what the process remembers of the rule book, here and where bundles are judged."""
    rules_by_id.cache_clear()
    rule_choice._select_rules_for.cache_clear()


@pytest.fixture
def rule_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The rule that docs/write-a-rule.md shows, with its mutation, where discovery finds them."""
    page = DOCS / "write-a-rule.md"
    rule, case = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    for package, code in (("rules.checks.power", rule), ("rules.testing.cases.power", case)):
        folder = tmp_path / package
        folder.mkdir()
        (folder / "board_too_hot.py").write_text(code)
        module = importlib.import_module(package)
        monkeypatch.setattr(module, "__path__", [*module.__path__, str(folder)])
    forget_rules()
    yield "W190"
    for name in [name for name in sys.modules if name.endswith(".board_too_hot")]:
        del sys.modules[name]
    forget_rules()


def test_rule_of_the_page_finds_its_mutation_and_nothing_else(
    rule_of_the_page: str, submissions: Submissions
) -> None:
    assert rules_by_id()[rule_of_the_page].name == "board-too-hot"
    good_bundle = submissions.add(copy_evidence())
    assert judge(good_bundle).findings == ()
    shutil.rmtree(good_bundle)
    evidence = copy_evidence()
    importlib.import_module("rules.testing.cases.power.board_too_hot").hot_under_load(evidence)
    (finding,) = judge(submissions.add(evidence)).findings
    assert finding.rule == rule_of_the_page and "samples up to 97 °C" in finding.found
    assert finding.message == "Check the cooling of the node and run again."
