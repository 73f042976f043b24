"""Which models a study measures: the value of `--models`."""

import difflib
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from rules.bundle_format.files import shorten
from rules.studies.accuracy import AccuracyTable
from rules.studies.models import CURATED

ALL, CURATED_LIST = "all", "curated"
_SIZE = "[1-9][0-9]{0,4}"
_WILDCARDS = frozenset("*?[")

ModelInput = tuple[str, int]
"""An architecture and an input size."""


class SelectionError(Exception):
    """A selection names no model. The message says which part, and what to write."""


def select_models(text: str, table: AccuracyTable) -> tuple[ModelInput, ...]:
    """The architectures and input sizes that `text` names, each once, in its order.

    `text` is the path of a file with one selector a line, or selectors with commas between. A
    selector is `curated`, `all`, or the name of an architecture with or without a size:
    `resnet50@224`. Without a size, the sizes are those of the table. A name with wildcards selects
    from the table. `#` begins a comment in a file. Raises SelectionError.
    """
    selected: dict[ModelInput, None] = {}
    for place, selector in _list_selectors(text):
        inputs = _select(selector, table)
        if not inputs:
            raise SelectionError(f"{place}{_explain(selector, table)}")
        selected |= dict.fromkeys(inputs)
    return tuple(selected)


def _list_selectors(text: str) -> Iterator[tuple[str, str]]:
    """The selectors, each with the place that messages name. Raises SelectionError."""
    path = Path(text)
    if not _is_file(path):
        if "/" in text:
            raise SelectionError(
                f"{text}: {'a directory' if path.is_dir() else 'no such file'}; name a file with "
                "one model a line"
            )
        for selector in text.split(","):
            yield "", selector.strip()
        return
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SelectionError(f"{path}: {error}; name a text file with one model a line") from None
    selectors = [(n, line.partition("#")[0].strip()) for n, line in enumerate(lines, 1)]
    if not any(selector for _, selector in selectors):
        raise SelectionError(f"{path}: no models; write one a line, such as resnet50@224")
    for number, selector in selectors:
        if selector:
            yield f"{path}: line {number}: ", selector


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    # A long list of names is longer than the name of a file can be.
    except OSError:
        return False


def _select(selector: str, table: AccuracyTable) -> list[ModelInput]:
    """The models that a selector names; empty if there are none."""
    if selector == CURATED_LIST:
        return list(CURATED)
    pattern = "*" if selector == ALL else selector
    name, at, size = pattern.partition("@")
    if at and not re.fullmatch(_SIZE, size):
        return []
    inputs = [
        (architecture, table_size)
        for architecture, table_size in table.by_input
        if fnmatchcase(architecture, name)
    ]
    if not at:
        return sorted(inputs)
    if inputs and not _has_wildcard(name):
        # The table need not have the size of a model that is named: its accuracy is then unknown.
        return [(name, int(size))]
    return sorted(pair for pair in inputs if pair[1] == int(size))


def _has_wildcard(name: str) -> bool:
    return not _WILDCARDS.isdisjoint(name)


def _explain(selector: str, table: AccuracyTable) -> str:
    """Why a selector names no model, and what to write."""
    name, at, size = selector.partition("@")
    shown = shorten(selector)
    if at and not re.fullmatch(_SIZE, size):
        return f"{shown}: no size in pixels after @; write it as in resnet50@224"
    architectures = {architecture for architecture, _ in table.by_input}
    if _has_wildcard(name):
        return f"{shown}: no model of the table of accuracies matches"
    untagged, _, tag = name.partition(".")
    if tag and untagged in architectures:
        return f"{shown}: names weights, which do not matter for energy; write {untagged!r}"
    near = difflib.get_close_matches(name, architectures, 3)
    advice = f"did you mean {' or '.join(near)}?" if near else "use curated, all, or a name of timm"
    return f"{shorten(name)}: no such model in the table of accuracies; {advice}"
