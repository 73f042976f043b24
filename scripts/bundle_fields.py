"""Writes docs/bundle-fields.md, the fields of every JSON file: `python scripts/bundle_fields.py`
from the project's root.

The tables are made from the schemas in `rules/bundle_format/schemas/`; a test
requires that the committed page is current.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "bundle-fields.md"
SCHEMAS = ROOT / "rules" / "bundle_format" / "schemas"
FILES = {
    "result": "`result.json`",
    "system": "`system.json`",
    "environment": "`environment.json`",
    "event": "A line of `events.jsonl.gz`",
    "manifest": "`MANIFEST.json`",
    "review": "`signatures/review.PRINCIPAL.json`",
    "withdrawal": "`signatures/withdrawal.PRINCIPAL.json`",
    "waiver": "`submissions/waivers/`",
    "log-entry": "A line of `submissions/LOG`",
    "published": "`submissions/published/`",
    "verdict": "`bench-check --format json`",
    "sweep": "The plan of a sweep",
}
"""By the name of the schema, in the order of the page: where such an object is."""


def page() -> str:
    """The text of the page."""
    lines = [
        "# The fields of the JSON files",
        "",
        "For authors of tools that read or write bundles: every field of every JSON file. "
        "[bundle-format.md](bundle-format.md)",
        "describes the files. `scripts/bundle_fields.py` makes this page from "
        "`rules/bundle_format/schemas/`.",
        "",
        "`a[]` stands for each member of the list `a`, `a/*` for each value of the object `a`.",
    ]
    for name, where in FILES.items():
        schema = read(name)
        lines += [
            "",
            f"## {where}",
            "",
            f"{schema['title']} (`{schema['properties']['format']['const']}`).",
            "",
        ]
        lines += ["| field | value | meaning |", "|---|---|---|"]
        for field, own, needed in fields(schema, schema):
            absent = "" if needed else " May be absent."
            meaning = own.get("description", "").rstrip(".")
            lines.append(
                f"| `{field}` | {_cell(_value(own, schema))} | {_cell(meaning)}.{absent} |"
            )
    return "\n".join(lines) + "\n"


def read(name: str) -> dict[str, Any]:
    """The schema called `name`."""
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{name}-1.json").read_text())
    return schema


def fields(
    schema: Any, root: dict[str, Any], at: str = ""
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Every field below `schema`: its name, its schema, and whether it must be there."""
    schema = _followed(schema, root)
    for name, own in schema.get("properties", {}).items():
        if own is True:  # described by the schema that this one refines
            continue
        field = f"{at}/{name}" if at else name
        yield field, own, name in schema.get("required", ())
        yield from fields(own, root, field)
    for inner, suffix in ((schema.get("items"), "[]"), (schema.get("additionalProperties"), "/*")):
        if isinstance(inner, dict):
            yield from fields(inner, root, f"{at}{suffix}")
    for other in schema.get("anyOf", ()):
        yield from fields(other, root, at)
    for case in schema.get("allOf", ()):  # the fields that one value of `event` has
        yield from fields(case["then"], root, case["if"]["properties"]["event"]["const"])


def _followed(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    _, _, name = schema["$ref"].partition("#/$defs/")
    target: dict[str, Any] = root["$defs"][name]
    return {**target, **schema}


def _value(schema: dict[str, Any], root: dict[str, Any]) -> str:
    """What may stand there, in words."""
    schema = _followed(schema, root)
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_value(other, root) for other in schema["anyOf"]))
    types = schema.get("type", "any")
    named = [types] if isinstance(types, str) else types
    if named[0] == "array" and isinstance(schema.get("items"), dict):
        named = [f"list of {_value(schema['items'], root)}s", *named[1:]]
    return " or ".join(named)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
