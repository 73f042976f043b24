"""Write docs/bundle-fields.md, the fields of every JSON file. Run `python scripts/bundle_fields.py`
in the project's root.

The tables come from the schemas in `rules/bundle_format/schemas/`. A test requires that the
committed page is current.
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
    "study": "`study.json`",
    "system": "`system.json`",
    "environment": "`environment.json`",
    "event": "A line of `events.jsonl.gz`",
    "manifest": "`MANIFEST.json`",
    "review": "`signatures/review.PRINCIPAL.json`",
    "withdrawal": "`signatures/withdrawal.PRINCIPAL.json`",
    "request": "`signatures/request.PRINCIPAL.json`",
    "challenge": "`signatures/challenge.PRINCIPAL.json`",
    "commitment": "`submissions/commitments/`",
    "waiver": "`submissions/waivers/`",
    "log-entry": "A line of `submissions/LOG`",
    "published": "`submissions/published/`, figures",
    "published-study": "`submissions/published/`, studies",
    "verdict": "`bench-check --format json`",
    "sweep": "The plan of a sweep",
}
"""Where the objects of each schema are, by name of the schema, in the order of the page."""


def render_page() -> str:
    """Return the text of the page."""
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
    for name, location in FILES.items():
        schema = read_schema(name)
        lines += [
            "",
            f"## {location}",
            "",
            f"{schema['title']} (`{schema['properties']['format']['const']}`).",
            "",
        ]
        lines += ["| field | value | meaning |", "|---|---|---|"]
        for field, field_schema, is_required in list_fields(schema, schema):
            absence_note = "" if is_required else " May be absent."
            meaning = field_schema.get("description", "").rstrip(".")
            value = _escape_cell(_describe_value(field_schema, schema))
            lines.append(f"| `{field}` | {value} | {_escape_cell(meaning)}.{absence_note} |")
    return "\n".join(lines) + "\n"


def read_schema(name: str) -> dict[str, Any]:
    """Read the newest version of the schema called `name`."""
    newest = max(SCHEMAS.glob(f"{name}-[0-9]*.json"))
    schema: dict[str, Any] = json.loads(newest.read_text())
    return schema


def list_fields(
    schema: Any, root: dict[str, Any], parent: str = ""
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield every field below `schema`: its name, its schema, and whether it is required."""
    schema = _resolve_reference(schema, root)
    for name, field_schema in schema.get("properties", {}).items():
        if field_schema is True:  # the schema that this one refines describes it
            continue
        field = f"{parent}/{name}" if parent else name
        yield field, field_schema, name in schema.get("required", ())
        yield from list_fields(field_schema, root, field)
    for member_schema, suffix in (
        (schema.get("items"), "[]"),
        (schema.get("additionalProperties"), "/*"),
    ):
        if isinstance(member_schema, dict):
            yield from list_fields(member_schema, root, f"{parent}{suffix}")
    for alternative in schema.get("anyOf", ()):
        yield from list_fields(alternative, root, parent)
    for case in schema.get("allOf", ()):  # the fields that one value of `event` has
        yield from list_fields(case["then"], root, case["if"]["properties"]["event"]["const"])


def _resolve_reference(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    _, _, name = schema["$ref"].partition("#/$defs/")
    target: dict[str, Any] = root["$defs"][name]
    return {**target, **schema}


def _describe_value(schema: dict[str, Any], root: dict[str, Any]) -> str:
    """Describe the allowed values of a field in words."""
    schema = _resolve_reference(schema, root)
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(
            dict.fromkeys(_describe_value(alternative, root) for alternative in schema["anyOf"])
        )
    types = schema.get("type", "any")
    type_names = [types] if isinstance(types, str) else types
    if type_names[0] == "array" and isinstance(schema.get("items"), dict):
        members = _describe_value(schema["items"], root)
        list_name = f"list, each {members}" if " or " in members else f"list of {members}s"
        type_names = [list_name, *type_names[1:]]
    return " or ".join(type_names)


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    PAGE.write_text(render_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
