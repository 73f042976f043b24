"""How verdicts are printed: a file for each format, with a function `render` that gives the
text."""

FORMATS = ("text", "json", "sarif", "junit", "github")
