"""Write docs/bundle-fields.md, the fields of every JSON file. Run `python scripts/bundle_fields.py`
in the project's root.

The tables come from the schemas in `rules/bundle_format/schemas/`. A test requires that the
committed page is current.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "bundle-fields.md"
SCHEMAS = ROOT / "rules" / "bundle_format" / "schemas"
FILES = {
    "result": "`result.json`",
    "study": "`study.json`",
    "observation": "`observation.json`",
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


BREAK = "  "
"""At the end of a line: the next one begins on a line of its own."""

Row = tuple[str, str, str, bool]
"""A field: its path, the values it may have, its meaning, and whether it is required."""


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
        "`a/` is an object, `a/*` each of its values, `b[]` each member of the list `b`. `?` marks "
        "a field that may be absent,",
        "`/null` one that may be null, where nothing else is said because the value is not known. "
        "*As `a/`*: with the same fields,",
        "which are listed there. Every file has `format`.",
        "A field without a type is a string, and one of a plural type a list. The end of a name is "
        "its unit; `_sha256` is hexadecimal.",
    ]
    shown: dict[str, list[Row]] = {}
    for name, location in FILES.items():
        schema = read_schema(name)
        lines += [
            "",
            f"## {location}",
            "",
            f"{schema['title']} (`{schema['properties']['format']['const']}`).",
            "",
            *_render_rows(name, shown),
        ]
    return "\n".join(lines) + "\n"


def list_rows(name: str) -> list[Row]:
    """The fields of the schema called `name`."""
    schema = read_schema(name)
    return [
        (
            field,
            _describe_value(field_schema, schema),
            _shorten(field, field_schema.get("description", "")),
            is_required,
        )
        for field, field_schema, is_required in list_fields(schema, schema)
    ]


UNIT = re.compile(r",? in (ns|ms|s|W|mW|J|mJ|MHz|bytes|1/s)(?=[:;,.]|$)")
UNKNOWN = "unknown|it is not known|it could not be read|it was not read|it was not measured|none"
NEEDLESS = re.compile(
    rf"; null if ({UNKNOWN}|the board does not report it)(?=[.;]|$)"
    r"|, a count\b|, in hexadecimal|^(The|An?) |\.$"
)


def _shorten(name: str, description: str) -> str:
    """A description without what the head of the page or the unit in the name says."""
    text = NEEDLESS.sub("", description)
    if (unit := UNIT.search(text)) and f"_{unit[1].lower().replace('1/s', 'per_s')}" in name:
        text = text.replace(unit[0], "", 1)
    return text[:1].upper() + text[1:]


def _render_rows(name: str, shown: dict[str, list[Row]]) -> list[str]:
    """The lines of a file. An object with most fields of an earlier one refers to it. `shown` has
    the fields of each object by its place, and is added to."""
    rows = list_rows(name)[1:]  # the head of the page has `format`
    lines: list[str] = []
    left_out: set[str] = set()
    for number, (field, value, meaning, is_required) in enumerate(rows):
        if field in left_out:
            continue
        inside = [
            (path.removeprefix(field).removeprefix("[]"), *rest)
            for path, *rest in rows[number + 1 :]
            if _is_inside(path, field)
        ]
        reference, equal = _refer(inside, shown, f" of {FILES[name]}")
        left_out |= {f"{field}{lists}{path}" for path in equal for lists in ("", "[]")}
        if not reference:
            shown[f"`{field}` of {FILES[name]}"] = inside
        head = f"`{field}{FORMS.get(value.partition('/')[0], '')}`{'' if is_required else '?'}"
        line = f"{head} {_name_type(value)}".rstrip() + f": {meaning}.{reference}"
        before = rows[number - 1][0] if number else field
        if _top_of(field) != _top_of(before) and (inside or "/" in f"{field}{before}"):
            lines.append("")
        lines.append(f"{line}{BREAK}")
    return lines


def _top_of(field: str) -> str:
    """The name of the field of the file that holds a field."""
    return re.split(r"[/\[]", field)[0]


def _name_type(value: str) -> str:
    """The type of a field, without what its name or the head of the page says."""
    form, _, null = value.partition("/")
    if form in FORMS:
        return null and f"or {null}"
    return "" if value == "string" else value


def _refer(
    inside: Sequence[Row], shown: Mapping[str, Sequence[Row]], here: str
) -> tuple[str, list[str]]:
    """A reference to the first object of `shown` that has most of these fields, and the paths of
    those. The end of a place that is `here` is left out."""
    paths = {row[0] for row in inside}
    for place, fields in shown.items() if inside else ():
        equal = [row[0] for row in inside if row in fields]
        if len(equal) == len(inside) or len(equal) > max(3, len(inside) / 2):
            lacking = [f"`{row[0].lstrip('/')}`" for row in fields if row[0] not in paths]
            without = f" without {', '.join(lacking)}" if lacking else ""
            end = "." if len(equal) == len(inside) else ", but:"
            return f" As {place.removesuffix(here)}{without}{end}", equal
    return "", []


FORMS = {"object": "/", "objects": "[]/"}
"""What the name of a field ends in whose members have rows of their own."""


def _is_inside(path: str, field: str) -> bool:
    return path.startswith((f"{field}/", f"{field}[]"))


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
        return "/".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "anyOf" in schema:
        return "/".join(
            dict.fromkeys(_describe_value(alternative, root) for alternative in schema["anyOf"])
        )
    types = schema.get("type", "any")
    type_names = [types] if isinstance(types, str) else types
    if type_names[0] == "array" and isinstance(schema.get("items"), dict):
        members = _describe_value(schema["items"], root)
        list_name = f"{members}, each" if "/" in members else f"{members}s"
        type_names = [list_name, *type_names[1:]]
    return "/".join(type_names)


def main() -> None:
    PAGE.write_text(render_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
