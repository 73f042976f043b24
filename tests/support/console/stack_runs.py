"""The commands of pages that need the environment of a stack."""

import shlex
from pathlib import Path

from support.console.blocks import DOCS, list_blocks_of


def read_arguments(test: str, page: str, words: str) -> list[str]:
    """The arguments of a call of bench-submit that a test executes, given the `__file__` of the
    test, the name of the page and words of the call."""
    texts = [block.text for block in list_blocks_of(test, DOCS / page)]
    (line,) = (line for text in texts for line in text.splitlines() if words in line)
    program, *arguments = shlex.split(line, comments=True)
    assert Path(program).name == "bench-submit"
    return arguments
