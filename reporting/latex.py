"""Text as LaTeX that every engine can set, pdflatex with its default fonts among them."""

import re
import unicodedata

_ESCAPES = {
    "\\": "\\textbackslash{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    # LaTeX would read these two at the start of a row as arguments of the preceding `\\`.
    "[": "{[}",
    "*": "{*}",
    "{": "\\{",
    "}": "\\}",
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


def escape_latex(text: str) -> str:
    """The text on one line. A character that LaTeX may be unable to set becomes its code point."""
    return "".join(map(_escape_character, re.sub(r"[ \t\n]+", " ", text)))


def _escape_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isascii():
        return character
    decomposed = unicodedata.normalize("NFD", character)
    letter, accent = decomposed[0], decomposed[1:]
    if letter.isascii() and accent in _ACCENTS:
        # An accent takes the place of the dot of an i or j.
        base = f"\\{letter}" if letter in "ij" else letter
        return f"\\{_ACCENTS[accent]}{{{base}}}"
    return f"{{[}}U+{ord(character):04X}{{]}}"
