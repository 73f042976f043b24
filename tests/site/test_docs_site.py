"""`make docs` builds the documentation site without network. Its pages load nothing
from another host, lead nowhere that does not exist, and are found by the search."""

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from rules.registry import rules_by_id

ROOT = Path(__file__).parents[2]
BIN = Path(sys.prefix) / "bin"
UNREACHABLE = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
PAGES_AT_WIDTHS = ["index.html", "docs/trust.html", "docs/api/rules.html", "docs/rules/index.html"]
pytestmark = pytest.mark.xdist_group("docs-site")


def run_offline(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in the clone without network: in a network namespace of its own where the user
    is root, else with proxies that do not answer."""
    namespace = ["unshare", "--net"] if os.geteuid() == 0 and shutil.which("unshare") else []
    return subprocess.run(
        [*namespace, *command],
        cwd=ROOT,
        env={**os.environ, **UNREACHABLE},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site() -> Path:
    """The site, built by `make docs` in the environment of the tests."""
    build = run_offline("make", "--old-file=.venv/site-ready", f"BIN={BIN}", "docs")
    assert build.returncode == 0, build.stdout + build.stderr
    assert "WARNING" not in build.stderr
    return ROOT / "build" / "site"


class Links(HTMLParser):
    """The addresses and the ids of an HTML page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.addresses: set[str] = set()
        self.ids: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.ids |= {attributes.get("id") or "", attributes.get("name") or ""}
        self.addresses |= {attributes.get("href") or "", attributes.get("src") or ""} - {""}


def test_every_link_and_anchor_of_the_site_exists(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}
    assert len(pages) > 200
    broken = []
    for page, links in pages.items():
        for address in links.addresses:
            if re.match(r"[a-z]+:", address):
                continue
            path, _, anchor = unquote(address).partition("#")
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            ids = pages[target].ids if target in pages else {anchor}
            if not target.is_file() or (anchor and anchor not in ids):
                broken.append(f"{page.relative_to(site)}: {address}")
    assert broken == []


def test_schemas_and_the_index_for_agents_are_at_the_root(site: Path) -> None:
    published = {path.name: path.read_bytes() for path in (site / "schemas").iterdir()}
    schemas = (ROOT / "rules/bundle_format/schemas").glob("*.json")
    assert published == {path.name: path.read_bytes() for path in schemas}
    links = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text("utf-8"))
    assert "SKILL.html" in links and "schemas/result-1.json" in links
    assert [link for link in links if not (site / link).is_file()] == []


def test_index_of_rules_leads_to_every_rule(site: Path) -> None:
    addresses = Links(site / "docs/rules/index.html").addresses
    named = {match[1] for address in addresses if (match := re.match(r"([A-Z]\d{3})-", address))}
    assert named == set(rules_by_id())


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("rules", "rules.rule.BundleRule"),
        ("rules", "rules.bundle.Bundle"),
        ("workloads", "rules.contract.Recorder"),
        ("meters", "harness.power.source.PowerSource"),
        ("dataset", "reporting.dataset.round.Round"),
    ],
)
def test_pages_of_interfaces_show_the_docstrings(site: Path, page: str, name: str) -> None:
    text = (site / f"docs/api/{page}.html").read_text("utf-8")
    assert f'id="{name}"' in text and ":::" not in text


def test_marks_of_blocks_are_not_shown(site: Path) -> None:
    text = (site / "docs/mayr.html").read_text("utf-8")
    assert "bench-submit" in re.sub("<[^>]*>", "", text)
    assert "executed with" not in re.sub("<!--.*?-->", "", text, flags=re.DOTALL)


@pytest.mark.parametrize(
    ("link", "warning"),
    [("missing.md", "page does not exist"), ("glossary.md#no-such-term", "anchor does not exist")],
)
def test_build_fails_for_a_broken_link(site: Path, tmp_path: Path, link: str, warning: str) -> None:
    pages = tmp_path / "pages"
    (pages / "docs").mkdir(parents=True)
    (pages / "docs/glossary.md").write_text("# Glossary\n\nFor tests.\n")
    (pages / "README.md").write_text(f"# Page\n\n[broken](docs/{link})\n")
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    settings = settings.replace("build/pages", "pages").replace("build/site", "site")
    settings = settings[: settings.index("\nnav:")] + "\nnav: [README.md, docs/glossary.md]\n"
    (tmp_path / "mkdocs.yml").write_text(settings)
    command = (BIN / "zensical", "build", "--strict", "--config-file", tmp_path / "mkdocs.yml")
    build = run_offline(*command)
    assert build.returncode != 0
    assert warning in build.stderr


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """A handler that writes no log."""

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address of a web server of the site."""
    handler = functools.partial(QuietHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def requested(browser: Any, address: str) -> Iterator[tuple[Any, list[str]]]:
    """A page of the browser, and the addresses outside of the site that it asks for."""
    context = browser.new_context()
    page = context.new_page()
    elsewhere: list[str] = []
    page.on(
        "request",
        lambda request: (
            request.url.startswith((address, "data:", "blob:")) or elsewhere.append(request.url)
        ),
    )
    yield page, elsewhere
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_pages_fit_the_screen_and_ask_no_other_host(
    requested: tuple[Any, list[str]], address: str, width: int, scheme: str
) -> None:
    page, elsewhere = requested
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    for name in PAGES_AT_WIDTHS:
        page.goto(f"{address}/{name}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        shown = page.evaluate("document.body.dataset.mdColorScheme")
        assert shown == {"light": "default", "dark": "slate"}[scheme]
    page.wait_for_load_state("networkidle")
    assert elsewhere == []


def test_search_finds_a_rule(requested: tuple[Any, list[str]], address: str) -> None:
    page, elsewhere = requested
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{address}/index.html", wait_until="networkidle")
    page.locator(".md-search__button").click()
    page.keyboard.type("M108")
    page.get_by_text("A closed result from modified code").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/M108-git-dirty.html*")
    assert page.locator("h1").inner_text().startswith("M108")
    assert elsewhere == []
