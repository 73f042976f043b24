"""Text as LaTeX that every engine can set, pdflatex with its default fonts among them, and its
width in print."""

import re
import unicodedata
from itertools import accumulate

_ESCAPES = {
    "\\": "\\textbackslash{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    # LaTeX would read these two at the start of a row as arguments of the preceding `\\`.
    "[": "{[}",
    "*": "{*}",
    # BibTeX counts the braces of `\\{` too.
    "{": "\\textbraceleft{}",
    "}": "\\textbraceright{}",
    # After `?` or `!` this quote would become another character.
    "`": "{`}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "\u2248": "$\\approx$",
    "\u2265": "$\\geq$",
    "\u2264": "$\\leq$",
    "\u00d7": "$\\times$",
    "\u2212": "$-$",
    "\u202f": "\\,",
    "\u2013": "--",
    "\u2014": "---",
    "\u2018": "`",
    "\u2019": "'",
    "\u201c": "``",
    "\u201d": "''",
    "\u2026": "\\ldots{}",
    "\u00b7": "$\\cdot$",
    "\u00b2": "$^2$",
    "\u00b3": "$^3$",
    "\u00b0": "$^\\circ$",
    "\u00b5": "$\\mu$",
    "\u03bc": "$\\mu$",
    "\u00b1": "$\\pm$",
    "\u2192": "$\\to$",
    "\u00a7": "\\S{}",
    "\u00df": "\\ss{}",
    "\u00e6": "\\ae{}",
    "\u00c6": "\\AE{}",
    "\u0153": "\\oe{}",
    "\u0152": "\\OE{}",
    "\u00f8": "\\o{}",
    "\u00d8": "\\O{}",
    "\u0142": "\\l{}",
    "\u0141": "\\L{}",
    "\u0131": "\\i{}",
} | {character: f"\\{character}" for character in "&%$#_"}
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r",
    "\u030b": "H",
    "\u030c": "v",
    "\u0327": "c",
}
"""The command of each combining accent that LaTeX sets over any letter."""


_TIMES_WIDTHS = (
    *(350, 333, 408, 500, 500, 833, 778, 333, 333, 333, 500, 564, 250, 333, 250, 278),
    *(500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 278, 278, 564, 564, 564, 444),
    *(921, 722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889, 722, 722),
    *(556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611, 333, 278, 333, 469, 500),
    *(333, 444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500, 278, 778, 500, 500),
    *(500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541),
)
"""Widths of the ASCII characters from the space on, in thousandths of the font size (font metrics
of Times-Roman, the text font of IEEEtran, which sets wider spaces)."""
_SYMBOLS, _SYMBOL_WIDTH = frozenset("\\{}<>|~^"), 800
"""Characters that LaTeX takes from a font of symbols, with wider shapes."""
_NARROW_BLANK = "\u202f"
_NOTHING = "\0"
_WIDEST, _USUAL_WIDTH = 1000, 500
_BREAKS_AFTER = re.compile(r"(?<=[-_/.,:;@=])")
_ALLOWED_BREAK = "\\allowbreak{}"
FONT_SIZE = 8.0
"""Of `\\footnotesize` in IEEEtran, in pt: the size of tables and references."""
MAX_CELL_LETTERS = 300
"""Longer texts are cut. Their whole is in the CSV file."""


def shorten(text: str, letters: int) -> str:
    """The text, cut to the width of this many usual letters if it is longer."""
    widths = accumulate(map(_measure_character, text))
    fitting = sum(width <= letters * _USUAL_WIDTH for width in widths)
    return text if fitting == len(text) else f"{text[:fitting]}\u2026"


def escape_latex(text: str) -> str:
    """The text on one line. A character that LaTeX may be unable to set becomes its code point,
    such as `[U+4EAC]`."""
    text = unicodedata.normalize("NFC", re.sub(r"[ \t\n]+", " ", text))
    # Two hyphens would become a dash.
    return "".join(map(_escape_character, re.sub("-(?=-)", f"-{_NOTHING}", text)))


def escape_breakable(text: str, width: float, font_size: float) -> str:
    """The text as LaTeX whose lines fit `width` in pt: words that are wider may break after their
    punctuation, and between all letters where that is not enough."""
    words = (_escape_word(word, width, font_size) for word in text.split())
    return " ".join(words)


def measure_text(text: str, font_size: float) -> float:
    """An upper bound of the width of the text in pt, in the text font of IEEEtran."""
    return sum(map(_measure_character, unicodedata.normalize("NFC", text))) * font_size / 1000


def wrap_text(text: str, width: float, font_size: float) -> list[str]:
    """The lines of the text. A line is wider than `width` in pt only if one word is."""
    lines: list[str] = []
    for word in text.split():
        if lines and measure_text(f"{lines[-1]} {word}", font_size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def measure_longest_word(text: str, font_size: float) -> float:
    """The width of the widest word in pt, which is the least width of the text."""
    return max((measure_text(word, font_size) for word in text.split()), default=0.0)


def _escape_word(word: str, width: float, font_size: float) -> str:
    if measure_text(word, font_size) <= width:
        return escape_latex(word)
    parts = _BREAKS_AFTER.split(word)
    if max(measure_text(part, font_size) for part in parts) > width:
        # The code points of unknown letters are wide, so each may be the last of its line.
        return _ALLOWED_BREAK.join(map(escape_latex, word))
    return _ALLOWED_BREAK.join(escape_latex(part) for part in parts if part)


def _measure_character(character: str) -> float:
    if character == _NARROW_BLANK:
        return 170
    if character in _SYMBOLS:
        return _SYMBOL_WIDTH
    code = ord(character)
    if 32 <= code < 127:
        return _TIMES_WIDTHS[code - 32]
    if character in _ESCAPES:
        return _WIDEST
    decomposed = unicodedata.normalize("NFD", character)
    if decomposed[0].isascii() and decomposed[1:] in _ACCENTS:
        return _TIMES_WIDTHS[ord(decomposed[0]) - 32]
    return sum(_TIMES_WIDTHS[ord(c) - 32] for c in f"[U+{ord(character):04X}]")


def _escape_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character == _NOTHING:
        return "{}"
    if character.isascii() and character.isprintable():
        return character
    decomposed = unicodedata.normalize("NFD", character)
    letter, accent = decomposed[0], decomposed[1:]
    if letter.isascii() and accent in _ACCENTS:
        # An accent takes the place of the dot of an i or j. BibTeX takes the whole group as one
        # letter.
        base = f"\\{letter}" if letter in "ij" else letter
        return f"{{\\{_ACCENTS[accent]}{{{base}}}}}"
    return f"{{[}}U+{ord(character):04X}{{]}}"
