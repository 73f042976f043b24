"""Output formats: a module for each, with a function `render` that returns the text."""

FORMATS = ("text", "json", "sarif", "junit", "github")
