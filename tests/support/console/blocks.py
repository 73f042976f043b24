"""The blocks of commands in the pages: what they show, which mark says how they are tested, and how
an output is compared with a page."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), ROOT / "containers/README.md", *DOCS.rglob("*.md")]
    if page.parent != DOCS / "rules"
)

EXECUTED_BY = {"docs/trust.md": "tests/checker/trust/test_reviewing.py"}
"""Pages whose blocks a test of their own executes. tests/site/test_console_blocks.py executes the
blocks of the other pages."""

MARKS = ("executed by", "executed with", "checked against", "written by")
"""A mark is a comment above a block. `executed by TEST`: this file takes the commands from the
page; several files have commas between them. `executed by .ci/run`: this script makes the targets
of the block. `executed with OPTIONS`: the runs of the block have these further options, such as
`--simulate h200`. `checked against BUNDLE`: the output is that of the run in this bundle. `written
by scripts/round_pages.py`: the output is that of the committed round, numbers included. A block
without a mark is executed as it is."""

_BLOCK = re.compile(
    rf"(?:^ *<!-- (?P<mark>{'|'.join(MARKS)}):? (?P<detail>[^>]*?) *-->\n\n?)?"
    r"^(?P<indent> *)```(?P<language>console|sh)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
GAP = "…"
"""In a page: as a line, any number of lines of an output; in a line, any text."""


@dataclass(frozen=True)
class Step:
    """A command of a page, and the lines that the page shows below it. `lines` is None where the
    page shows no output: the command must succeed."""

    command: str
    lines: list[str] | None


@dataclass(frozen=True)
class Block:
    """A fenced block `console` or `sh`. `mark` is one of MARKS, or None."""

    page: Path
    line: int
    language: str
    text: str
    mark: str | None
    detail: str | None
    """What follows in the mark."""

    @property
    def place(self) -> str:
        """The page and the line of the block, for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def tests(self) -> list[Path]:
        """The files of the mark `executed by`."""
        names = self.detail.split(", ") if self.mark == "executed by" and self.detail else []
        return [ROOT / name for name in names]

    @property
    def is_executed(self) -> bool:
        """Whether tests/site/test_console_blocks.py executes the block, unless its page is in
        EXECUTED_BY."""
        return self.mark in (None, "executed with") and bool(self.list_steps())

    def list_steps(self) -> list[Step]:
        """The commands of the block: a block `sh` is one command, and a line of a block `console`
        that begins with `$ ` starts one. Runs have the options of the mark `executed with`."""
        options = self.detail if self.mark == "executed with" else None
        if self.language == "sh":
            return [Step(_add_options(self.text, options), None)]
        steps = []
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            command, _, output = re.sub(r"\\\n\s*", "", part).partition("\n")
            lines = [line.rstrip() for line in output.splitlines()]
            steps.append(Step(_add_options(command, options), lines or None))
        return steps


_RUN = re.compile(r"(?:\bbench-submit|\.sif) (?:run|sweep|burn|study)\b(?:\\\n|[^#|>&;)\n])*")


def _add_options(command: str, options: str | None) -> str:
    """A command whose runs, sweeps and studies have further options."""
    return _RUN.sub(rf"\g<0> {options} ", command) if options else command


def list_blocks(page: Path) -> list[Block]:
    """The blocks `console` and `sh` of a page, without the indent of the list they are in."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, match.start("language")) + 1,
            match["language"],
            re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE),
            match["mark"],
            match["detail"],
        )
        for match in _BLOCK.finditer(text)
    ]


def list_blocks_of(test: str, page: Path) -> list[Block]:
    """The blocks of a page that a test executes, given the `__file__` of this test."""
    return [block for block in list_blocks(page) if Path(test) in block.tests]


RUN_ID = re.compile(r"\b\d{8}T\d{6}Z-[\w.-]*?-[0-9a-f]{6}\b")
_HEX = re.compile(r"\b(?=[0-9a-f-]*\d)[0-9a-f]{7,}(?:-[0-9a-f]{4,})*\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d(?:T[\d:]+Z?)?")
_NUMBER = re.compile(r"(?<![\w.])~?[-\u2212+]?\d[\d\u2009\u202f]*(?:\.\d+)?(?:e[-+]\d+)?")


def mask_values(line: str) -> str:
    """A line of an output without its numbers, times, digests, the ids of runs, the widths
    of columns and the lengths of bars. The number 0 stays: `0 errors` differs from `1 errors`."""
    line = RUN_ID.sub(lambda match: f"ID{match[0][16:-7]}", line)
    line = _HEX.sub("HEX", _TIME.sub("TIME", line))
    line = re.sub(r"\babout \d+ (?:s|min|h)\b", "about TIME", line)
    line = _NUMBER.sub(lambda match: "0" if match[0] == "0" else "N", line)
    return re.sub(r"\s+", " ", re.sub(r"##+(.*?)(?: max)?$", r"##\1", line)).strip()


def match_lines(page_lines: list[str], printed: list[str]) -> list[int] | None:
    """For each line of a page but the gaps, the number of the line of an output that equals it up
    to what `mask_values` removes. None if the output differs from the page."""
    pattern = "".join(
        r"(?:.*\n)*?"
        if line.strip() == GAP
        else f"({re.escape(mask_values(line)).replace(GAP, '.*')}\n)"
        for line in page_lines
    )
    text = "".join(f"{mask_values(line)}\n" for line in printed)
    match = re.fullmatch(pattern, text)
    if match is None:
        return None
    return [text.count("\n", 0, start) for start, _ in match.regs[1:]]


def describe_difference(page_lines: list[str], printed: list[str]) -> str:
    """The lines of a page that an output does not have, or the output where it has more."""
    masked = {mask_values(line) for line in printed} | {GAP}
    missing = [line for line in page_lines if mask_values(line) not in masked]
    return "\n".join(["not in the output:", *missing] if missing else ["the output:", *printed])


PROGRAMS = ("bench-submit", "bench-check", "bench-report")


def list_program_calls(text: str) -> Iterator[tuple[str, list[str]]]:
    """The calls of the three programs in a block: program and arguments. A call in the quotes of
    another command counts, as does one that an image (`NAME.sif`) passes on to bench-submit."""
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
        while words:
            end = next((i for i, word in enumerate(words) if set(word) <= set("&|;<>()")), None)
            yield from _find_call(words[:end])
            words = words[end + 1 :] if end is not None else []


def _find_call(words: list[str]) -> Iterator[tuple[str, list[str]]]:
    for index, word in enumerate(words):
        name = Path(word).name
        if name in PROGRAMS:
            yield name, words[index + 1 :]
            return
        if word.endswith(".sif") and words[index + 1 : index + 2] == ["run"]:
            yield "bench-submit", words[index + 1 :]
            return
        if " " in word:
            yield from list_program_calls(word)
