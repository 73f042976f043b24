"""Names of persons or hosts in the bundle

## What it does
Searches the log, the events, the environment, the system and the options of the run for names that
a bundle must not contain: home directories with a user name, addresses of the form user@host, and
full host names of a site network. The rule searches the first million characters of log and events.
Web addresses are skipped.

## Why it is bad
A bundle is published permanently and is signed, so it cannot be edited afterwards. User names are
personal data, and host names reveal the structure of a network. It is a note, because no
measurement depends on these names.

## What to do
Run in a path without a name, then sign. If the name may be public, ignore the note.

## Source
Bundle format: nodes have numbers instead of names, and variables that may contain a path are not
recorded.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from rules.bundle import Bundle
from rules.bundle_format.events import encode_events
from rules.bundle_format.records import EVENTS_FILE, LOG_FILE
from rules.bundle_format.table import ENVIRONMENT, RESULT, SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M113", Severity.NOTE, added="1.3.0")

MOST_CHARACTERS = 1_000_000
SHORT = 200  # characters; texts up to this length are cached
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


# Names have a maximum length and begin at a word boundary, so that the search takes linear time.
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
"""Every match contains one of these texts. Searching for them first is faster, because most texts
have none."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    settings = {
        "options": bundle.settings.options,
        "settings": bundle.implementation.settings,
    }
    yield from _search(LOG_FILE, "", bundle.log[:MOST_CHARACTERS])
    events = encode_events(bundle.events or ()).decode()
    yield from _search(EVENTS_FILE, "", events[:MOST_CHARACTERS])
    for file, value in (
        (ENVIRONMENT, bundle.environment),
        (SYSTEM, bundle.system),
        (RESULT, settings),
    ):
        for pointer, text in _texts("", value):
            yield from _search(file, pointer, text)


def _search(file: str, pointer: str, text: str) -> Iterator[Violation]:
    find = _find_leaks_cached if len(text) <= SHORT else _find_leaks
    # Long texts such as the log differ in every bundle, so caching them would only use memory.
    for kind, names in find(text):
        listed = ", ".join(name[:80] for name in names[:3])
        more = f" and {len(names) - 3} others" if len(names) > 3 else ""
        yield Violation(file, pointer, f"{kind}: {listed}{more}", "no names of persons or hosts")


def _find_leaks(text: str) -> list[tuple[str, list[str]]]:
    """The kinds of names that a text contains, each with its names without duplicates."""
    kinds = (kind for kind in LEAKS if any(sign in text for sign in SIGNS[kind]))
    leaks = ((kind, list(dict.fromkeys(LEAKS[kind].findall(text)))) for kind in kinds)
    return [(kind, names) for kind, names in leaks if names]


# The bundles of a round repeat many short texts, such as those of software and boards.
_find_leaks_cached = lru_cache(maxsize=4096)(_find_leaks)


def _texts(pointer: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with its pointer."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(f"{pointer}/{key}", inner)
