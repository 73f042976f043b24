"""Whether a JSON value is valid by a schema, and only whether: ten times as fast as jsonschema, which says what is wrong.

Nearly every file of a round is valid, and asking jsonschema would take a tenth of the round's time. Known are the
keywords that the schemas in `rules/schemas/` use, with the same meaning; any other raises where the schema is compiled.
"""

import re
from collections.abc import Callable
from types import NoneType
from typing import Any

from rules.records import Json

Test = Callable[[Any], bool]

_NUMBERS = frozenset({int, float})
_TYPES: dict[str, frozenset[type]] = {
    "object": frozenset({dict}),
    "array": frozenset({list}),
    "string": frozenset({str}),
    "number": _NUMBERS,
    "integer": frozenset({int}),
    "boolean": frozenset({bool}),
    "null": frozenset({NoneType}),
}
_ANNOTATIONS = {"$schema", "$id", "title", "description"}
_EXTENSIONS: Json = {"^x-": {}}


def compiled(schema: Json) -> Test:
    """The test that `schema` (draft 2020-12) stands for. Raises ValueError for a keyword that is not known here."""
    if unknown := schema.keys() - _KEYWORDS.keys() - _ANNOTATIONS:
        raise ValueError(f"keywords that checker/shape.py does not know: {sorted(unknown)}")
    if "properties" in schema and "additionalProperties" not in schema:
        raise ValueError("checker/shape.py asks for additionalProperties wherever there are properties")
    tests = [make(schema) for keyword, make in _KEYWORDS.items() if keyword in schema and make]
    return lambda value: all(test(value) for test in tests)


def _type(schema: Json) -> Test:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    # By the exact type: to Python, True is an int.
    kinds = frozenset(kind for name in names for kind in _TYPES[name])
    return lambda value: type(value) in kinds


def _one_of(schema: Json) -> Test:
    texts = schema.get("enum", [schema.get("const")])
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("checker/shape.py knows only texts in enum and const")
    return lambda value: type(value) is str and value in texts


def _any_of(schema: Json) -> Test:
    branches = [compiled(branch) for branch in schema["anyOf"]]
    return lambda value: any(test(value) for test in branches)


def _pattern(schema: Json) -> Test:
    whole = re.compile(schema["pattern"]).fullmatch
    return lambda value: type(value) is not str or whole(value) is not None


def _within(keyword: str, kinds: frozenset[type], measure: Callable[[Any], Any]) -> Callable[[Json], Test]:
    def make(schema: Json) -> Test:
        bound = schema[keyword]
        if keyword.startswith("max"):
            return lambda value: type(value) not in kinds or measure(value) <= bound
        if keyword.startswith("min"):
            return lambda value: type(value) not in kinds or measure(value) >= bound
        return lambda value: type(value) not in kinds or measure(value) > bound

    return make


def _items(schema: Json) -> Test:
    test = compiled(schema["items"])
    return lambda value: type(value) is not list or all(map(test, value))


def _required(schema: Json) -> Test:
    keys = frozenset(schema["required"])
    return lambda value: type(value) is not dict or keys <= value.keys()


def _members(schema: Json) -> Test:
    known = {key: compiled(sub) for key, sub in schema.get("properties", {}).items()}
    additional = schema.get("additionalProperties", True)
    extensible = schema.get("patternProperties") == _EXTENSIONS
    if "patternProperties" in schema and not extensible:
        raise ValueError("checker/shape.py knows no patternProperties but those of x-")
    other: Test = (lambda _: additional) if isinstance(additional, bool) else compiled(additional)

    def test(value: Any) -> bool:
        if type(value) is not dict:
            return True
        return all(known.get(key, other)(v) or (extensible and key.startswith("x-")) for key, v in value.items())

    return test


def _itself(value: Any) -> Any:
    return value


_LIST, _TEXT = frozenset({list}), frozenset({str})
_KEYWORDS: dict[str, Callable[[Json], Test] | None] = {
    "type": _type,
    "enum": _one_of,
    "const": _one_of,
    "anyOf": _any_of,
    "pattern": _pattern,
    "minLength": _within("minLength", _TEXT, len),
    "maxLength": _within("maxLength", _TEXT, len),
    "minimum": _within("minimum", _NUMBERS, _itself),
    "maximum": _within("maximum", _NUMBERS, _itself),
    "exclusiveMinimum": _within("exclusiveMinimum", _NUMBERS, _itself),
    "items": _items,
    "minItems": _within("minItems", _LIST, len),
    "maxItems": _within("maxItems", _LIST, len),
    "required": _required,
    # These three are one test.
    "properties": None,
    "patternProperties": None,
    "additionalProperties": _members,
}
