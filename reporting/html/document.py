"""What the HTML files of a report share: templates, embedded JSON, and a policy against injected
scripts."""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from markupsafe import Markup

from reporting.report_table import escape_invisible
from reporting.sections.cells import count_findings, pluralize


@cache
def make_environment() -> Environment:
    """The environment of the templates, which compiles each of them once."""
    environment = Environment(
        loader=PackageLoader("reporting"),
        # Bundles come from strangers, so all their text is escaped.
        autoescape=True,
        # A misspelt name in a template is an error, not an empty text.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Names of systems and signers come from strangers.
        finalize=lambda value: escape_invisible(value) if type(value) is str else value,
    )
    environment.filters.update(
        count_findings=count_findings,
        pluralize=pluralize,
        shorten_style=shorten_style,
        store_folds=store_folds,
    )
    return environment


def keep_compiled(directory: Path) -> None:
    """Keep the compiled templates in a directory that only this user may write."""
    make_environment().bytecode_cache = FileSystemBytecodeCache(str(directory))


def read_template(name: str) -> str:
    """The text of a file in `templates/`."""
    return (files("reporting") / "templates" / name).read_text(encoding="utf-8")


def read_page_script(*parts: str) -> str:
    """The script of a page: that of tables and search, with the parts of this page in its scope."""
    texts = (read_template(name) for name in ("search.js", "figures.js", *parts))
    return shorten_script(read_template("report.js").replace("PARTS\n", "\n".join(texts)))


PLOT_PARTS = tuple(f"study/{name}.js" for name in ("all_rows", "plot", "labels", "export"))
"""The parts that the pages of studies and of trends share."""


def embed_json(value: object) -> Markup:
    """JSON for a script element. `<` is escaped, so that no text of a bundle ends the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    # Markup: HTML entities are not decoded in a script.
    return Markup(text)


def compress_text(text: str) -> str:
    """The text compressed with zlib, as base64. `DecompressionStream("deflate")` reads it."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def store_folds(html: str) -> Markup:
    """The HTML with the content of its folds moved into a compressed list behind it.

    `<noscript data-fold="n"></noscript>` stands where the n-th content belongs. `unfold` of
    report.js puts it back.
    """
    folds: list[str] = []

    def take_out(found: re.Match[str]) -> str:
        folds.append(found[1])
        return f'<noscript data-fold="{len(folds) - 1}"></noscript>'

    html = re.sub(r"<noscript data-fold>(.*?)</noscript>", take_out, html, flags=re.DOTALL)
    stored = compress_text(json.dumps(folds, ensure_ascii=False))
    return Markup(f'{html}\n<script type="text/plain" id="folds">{stored}</script>')


def shorten_script(script: str) -> str:
    """The script without indentation and comments. A comment behind code has no quotes."""
    script = re.sub(r"^\s+(//.*\n)?|^//.*\n", "", script, flags=re.MULTILINE)
    return re.sub(r"(?<=[;,{(]) // [^'\"`\n]*$", "", script, flags=re.MULTILINE)


def shorten_style(style: str) -> Markup:
    """The style sheet without indentation and comments."""
    return Markup(re.sub(r"/\*.*?\*/\s*|^\s+", "", style, flags=re.DOTALL | re.MULTILINE))


def make_policy(scripts: Sequence[str]) -> str:
    """A Content-Security-Policy that allows only these scripts and no network access."""
    # The policy names each script by its hash, so that injected scripts do not run.
    digests = (
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts
    )
    script_sources = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = (
        # Vega writes style attributes, so inline styles are allowed. They cannot run code.
        f"default-src 'none'; script-src {script_sources}; style-src 'unsafe-inline'; "
        "connect-src 'none'"
    )
    return f"{policy}; base-uri 'none'; form-action 'none'"
