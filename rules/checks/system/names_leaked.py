"""Names of people or hosts in the bundle

## What it does
Looks in the log, the events, the environment, the system and the run's options for what bundles
are meant to leave out: home directories with a name in them, addresses of the form user@host, and
full names of hosts of a site's network. Of log and events the first million characters are looked
at. Addresses on the web are left alone.

## Why it is bad
A bundle is published for good, and signed: it cannot be edited afterwards. Names of users are
personal data, and names of hosts tell outsiders what a network looks like. It is a note, because
nothing that is measured depends on it.

## What to do
Run under a path without a name in it, then sign. If it is a name that may be public, leave it.

## Source
Bundle format: nodes are called by number, and no variable that may hold a path is kept.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from rules.bundle import Bundle
from rules.bundle_format.events import event_lines
from rules.bundle_format.records import EVENTS_FILE, LOG_FILE
from rules.bundle_format.table import ENVIRONMENT, RESULT, SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M113", Severity.NOTE, added="1.3.0")

MOST_CHARACTERS = 1_000_000
SHORT = 200
_SITES = ("local", "internal", "intranet", "intern", "lan", "cluster", "localdomain", "hpc")
_DOMAINS = (
    "edu",
    "gov",
    "mil",
    "de",
    "fr",
    "ch",
    "uk",
    "eu",
    "es",
    "nl",
    "se",
    "fi",
    "dk",
    "jp",
    "cn",
    "kr",
)


# Names are bounded in length, and begin where a word does, so that no text takes long.
_HOST = r"[A-Za-z0-9][A-Za-z0-9-]{0,62}"
LEAKS = {
    "a home directory": re.compile(
        r"(?<![\w.])/(?:home|Users|homes|scratch)/(?!(?:ubuntu|user|users|root|runner|nonroot|wattmark)\b)[A-Za-z][\w.-]{0,63}"
    ),
    "user@host": re.compile(
        rf"(?<![\w.+-])(?!git@)[A-Za-z][\w.+-]{{0,63}}@{_HOST}(?:(?:\.{_HOST}){{0,5}}\.[A-Za-z]{{2,18}}\b|:[~/])"
    ),
    "the name of a host": re.compile(
        rf"(?<![\w./@-])(?:{_HOST}\.){{1,6}}(?:{'|'.join(_SITES)})\b(?![\w.([]|/)"
        rf"|(?<![\w./@-])(?:{_HOST}\.){{2,6}}(?:ac\.[a-z]{{2}}|{'|'.join(_DOMAINS)})\b(?![\w.([]|/)"
    ),
}
SIGNS = {
    "a home directory": ("/home", "/Users/", "/scratch/"),
    "user@host": ("@",),
    "the name of a host": (".ac.", *(f".{name}" for name in (*_SITES, *_DOMAINS))),
}
"""Each has one of these in it, which is looked for first: most texts have none."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    result = bundle.result
    options = {k: result["settings"].get(k) for k in ("options",)} | {
        "settings": result["implementation"]["settings"]
    }
    yield from _search(LOG_FILE, "", bundle.log[:MOST_CHARACTERS])
    events = event_lines(bundle.events or ()).decode()
    yield from _search(EVENTS_FILE, "", events[:MOST_CHARACTERS])
    for file, value in (
        (ENVIRONMENT, bundle.environment),
        (SYSTEM, bundle.system),
        (RESULT, options),
    ):
        for pointer, text in _texts("", value):
            yield from _search(file, pointer, text)


def _search(file: str, pointer: str, text: str) -> Iterator[Violation]:
    for what, found in (_leaks_of_short if len(text) <= SHORT else _leaks)(text):
        shown = ", ".join(name[:80] for name in found[:3])
        more = f" and {len(found) - 3} others" if len(found) > 3 else ""
        message = (
            "A bundle is published for good. Take the name out before it is signed, by running "
            "where there is none."
        )
        yield Violation(
            file, pointer, f"{what}: {shown}{more}", "no names of people or hosts", message
        )


def _leaks(text: str) -> list[tuple[str, list[str]]]:
    """What leaks, and the names, each once."""
    asked = (what for what in LEAKS if any(sign in text for sign in SIGNS[what]))
    found = ((what, list(dict.fromkeys(LEAKS[what].findall(text)))) for what in asked)
    return [(what, names) for what, names in found if names]


# The runs of a round have the same software and boards.
_leaks_of_short = lru_cache(maxsize=4096)(_leaks)


def _texts(pointer: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with its pointer."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(f"{pointer}/{key}", inner)
