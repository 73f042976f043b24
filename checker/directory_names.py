"""Check the names of the directories that a bundle lies in. They are written into the manifest and
the LOG, and people tell centers and systems apart by them."""

import os
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from checker.printable import INVISIBLE_LETTERS
from rules.bundle_format.files import build_refusal, shorten
from rules.finding import Problem
from rules.rule_ids import DIRECTORY_NAME_UNSAFE, DIRECTORY_NAMES_COLLIDE

MAX_PLACE_CHARACTERS = 1000
"""Longest path of a bundle below `submissions/` in `log-entry-1.json`."""
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories: control and format characters, surrogates, line and paragraph separators."""


def check_names(place: str) -> None:
    """Check that the path `place` below `submissions/` can be written into a manifest and the LOG.
    Raises Refused."""
    is_plain = place.isascii() and place.isprintable() and "\\" not in place
    unsafe = "" if is_plain else next((c for c in place if c == "\\" or _is_invisible(c)), "")
    # Python reads a byte of a path that is not UTF-8 as a surrogate.
    if "\udc80" <= unsafe <= "\udcff":
        observed = f"{shorten(place)}, which is not UTF-8"
    elif unsafe:
        observed = f"{shorten(place)}, which contains the character U+{ord(unsafe):04X}"
    elif len(place) > MAX_PLACE_CHARACTERS:
        observed = f"a path of {len(place)} characters"
    else:
        return
    raise build_refusal(
        DIRECTORY_NAME_UNSAFE,
        "",
        "",
        observed,
        f"at most {MAX_PLACE_CHARACTERS} characters of UTF-8, no backslash, no invisible character",
        "Rename the directory, and sign the bundle again there with bench-submit sign.",
    )


def _is_invisible(character: str) -> bool:
    is_letter = INVISIBLE_LETTERS.match(character) is not None
    return is_letter or unicodedata.category(character) in _INVISIBLE


def find_collisions(submissions: Path, place: str, accepted: Collection[str]) -> Iterator[Problem]:
    """Report each directory on the path `place` below `submissions` whose name differs only in case
    or in the form of its characters from that of a directory beside it. A directory that holds one
    of the `accepted` bundles (paths below `submissions`) keeps its name."""
    parts = place.split("/")
    for depth, name in enumerate(parts):
        parent = "/".join(parts[:depth])
        alike = [n for n in _list_alike(submissions / parent, name) if n != name]
        path = f"{parent}/{name}".lstrip("/")
        if alike and not any(a == path or a.startswith(f"{path}/") for a in accepted):
            yield from build_refusal(
                DIRECTORY_NAMES_COLLIDE,
                "",
                "",
                f"{shorten(path)} beside {shorten(alike[0])}",
                "names that differ in more than case and the form of characters",
                "Rename the directory, and sign its bundles again there with bench-submit sign.",
            ).problems


def _list_alike(directory: Path, name: str) -> Sequence[str]:
    """The names in `directory` that readers may confuse with `name`, itself among them."""
    try:
        return _names_by_form(directory, directory.stat().st_mtime_ns).get(fold_name(name), ())
    except OSError:
        # The user may enter the directory but not list it. Nobody who can list it is misled.
        return ()


@lru_cache(maxsize=256)
def _names_by_form(directory: Path, _modified_ns: int) -> Mapping[str, Sequence[str]]:
    """The names of the directories in `directory` by their folded form, sorted. The time of the
    last change is part of the key of the cache."""
    names: dict[str, list[str]] = defaultdict(list)
    with os.scandir(directory) as entries:
        # A link may lead to a directory. It is not followed, because it may lead to itself.
        listed = [e.name for e in entries if e.is_symlink() or e.is_dir(follow_symlinks=False)]
    for name in sorted(listed):
        names[fold_name(name)].append(name)
    return names


def fold_name(name: str) -> str:
    """The name without what readers overlook: case, and the form of characters (the Kelvin sign and
    the letter K, ß and ss)."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
