"""Reads a JSON file strictly and validates it against the schema of its format."""

# jsonschema_rs imports this module when it loads, and panics with a traceback on an interrupt.
import decimal  # noqa: F401
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

import jsonschema_rs

from rules import RELEASED
from rules.bundle_format.counts import check_document
from rules.bundle_format.files import Refused, build_refusal, build_size_refusal, shorten
from rules.bundle_format.observation_records import (
    FIRST_BOOK_WITH_OBSERVATIONS,
    OBSERVATION_FORMAT,
)
from rules.bundle_format.records import RESULT_FORMAT, Json
from rules.bundle_format.study_records import FIRST_BOOK_WITH_STUDIES, STUDY_FORMAT
from rules.finding import Problem, Violation
from rules.protocol import PROTOCOLS, STUDY_METHODS
from rules.rule_ids import FORMAT_UNKNOWN, JSON_AMBIGUOUS, JSON_MALFORMED, SCHEMA_VIOLATED

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

MAX_VALUES = 500_000
"""Values in a JSON file: numbers, texts, lists and objects. The result of 512 accelerators has
a third of it."""
_MAX_EXPLAINED_VALUES = 20_000
"""Up to so many values, the validator with detailed errors is used. It takes 20 µs for each."""
_MAX_NUMBER_LENGTH = 1_000
_MAX_ERRORS = 10
_SCHEMA_ADVICE = (
    "The file does not match the schema of its format. bench-submit writes bundles; do not edit "
    "them."
)
_MAX_SHOWN = 200
"""Characters of a message of the fast validator, which contains the value."""
# Many JSON readers hold integers in 64 bits and would read a larger number differently.
_INT64 = range(-(2**63), 2**63)
_VERSIONS: Mapping[str, Mapping[str, Collection[str]]] = {
    RESULT_FORMAT: {"protocol": PROTOCOLS, "rules_version": RELEASED},
    STUDY_FORMAT: {
        "method": STUDY_METHODS,
        "rules_version": RELEASED[RELEASED.index(FIRST_BOOK_WITH_STUDIES) :],
    },
    OBSERVATION_FORMAT: {
        "rules_version": RELEASED[RELEASED.index(FIRST_BOOK_WITH_OBSERVATIONS) :],
    },
}
"""The versions that this rule book knows, by the format and the key of a document."""


class _Ambiguous(Exception):
    """Different programs would read different values from the text."""


def read_document(name: str, raw: bytes, *expected_formats: str) -> Json:
    """Read the object in the JSON text `raw` of the file `name`. It must have one of the formats
    and be valid by the schema of that format. Raises Refused."""
    value = read_json(name, raw)
    if not isinstance(value, dict):
        raise build_refusal(
            SCHEMA_VIOLATED,
            name,
            "",
            shorten(value),
            "an object",
            "The content of the file does not match its name.",
        )
    document_format = value.get("format")
    if document_format not in expected_formats:
        raise _refuse_format(name, "/format", document_format, " or ".join(expected_formats))
    # Another version may have another schema, so check the versions first.
    for key, versions in _VERSIONS.get(document_format, {}).items():
        version = value.get(key)
        if isinstance(version, str) and version not in versions:
            raise _refuse_format(name, f"/{key}", version, f"one of {', '.join(versions)}")
    check_document(name, value)
    if _fast_validator(document_format).is_valid(value):
        return value
    if count_values(raw) > _MAX_EXPLAINED_VALUES:
        raise Refused(Problem(SCHEMA_VIOLATED, _find_first_violation(name, value, document_format)))
    # The validator reports each missing key alone. `dict.fromkeys` makes them one finding.
    problems = [
        Problem(SCHEMA_VIOLATED, violation)
        for violation in dict.fromkeys(_find_violations(name, value, document_format))
    ]
    if problems:
        raise Refused(*problems)
    return value


def read_json(name: str, raw: bytes) -> Any:
    """The value of the JSON text `raw` (RFC 8259, UTF-8, no BOM). Raises Refused, also for text
    that other programs may read differently."""
    if (count := count_values(raw)) > MAX_VALUES:
        raise build_size_refusal(name, f"about {count} values", f"at most {MAX_VALUES} values")
    try:
        # Some readers skip a byte order mark, others fail.
        if raw.startswith(b"\xef\xbb\xbf"):
            raise _refuse_text(name, "a byte order mark")
        value = json.loads(
            raw.decode(),
            object_pairs_hook=_parse_object,
            parse_int=_parse_integer,
            parse_float=_parse_float,
            parse_constant=_refuse_constant,
        )
        if rb"\u" in raw:
            # JSON allows half of a surrogate pair as an escape. It is no valid text and cannot be
            # encoded for output.
            json.dumps(value, ensure_ascii=False).encode()
    except _Ambiguous as error:
        message = (
            "Programs read this as different values, so the signed content could differ from the "
            "judged content. Use unique keys and numbers that fit."
        )
        raise build_refusal(
            JSON_AMBIGUOUS, name, "", str(error), "unique keys and numbers in range", message
        ) from None
    except UnicodeDecodeError as error:
        raise _refuse_text(
            name, f"bytes that are not UTF-8, first at offset {error.start}"
        ) from None
    except UnicodeEncodeError:
        raise _refuse_text(name, "an escaped half of a surrogate pair") from None
    except json.JSONDecodeError as error:
        raise _refuse_text(name, f"line {error.lineno} column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise _refuse_text(name, "values nested too deeply") from None
    return value


def count_values(raw: bytes) -> int:
    """At least the number of values in a JSON text. A comma in a text counts as one more."""
    return 1 + raw.count(b",") + raw.count(b"[") + raw.count(b"{")


def _parse_object(pairs: list[tuple[str, Any]]) -> Json:
    # Python keeps the last of two equal keys. Other readers keep the first.
    value = dict(pairs)
    if len(value) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise _Ambiguous(f"the key {shorten(repeated)} twice in one object")
    return value


def _parse_integer(text: str) -> int:
    # Check the length first: Python converts thousands of digits slowly, or refuses to.
    if len(text) < 19:
        return int(text)
    if len(text) > 20 or int(text) not in _INT64:
        raise _Ambiguous(f"the number {shorten(text)}, which does not fit into 64 bits")
    return int(text)


def _parse_float(text: str) -> float:
    # 1e999 is valid JSON, but becomes infinite. The conversion of millions of digits takes long.
    if len(text) > _MAX_NUMBER_LENGTH or not isfinite(value := float(text)):
        raise _Ambiguous(f"the number {shorten(text)}, which no double holds")
    return value


def _refuse_constant(text: str) -> NoReturn:
    raise _Ambiguous(f"{text}, which is not JSON")


def _find_first_violation(name: str, value: Json, expected_format: str) -> Violation:
    """The first violation in a large document, by the fast validator."""
    error = next(_fast_validator(expected_format).iter_errors(value))
    pointer = _format_pointer(error.instance_path)
    return Violation(name, pointer, error.message[:_MAX_SHOWN], "a valid value", _SCHEMA_ADVICE)


def _format_pointer(path: Iterable[str | int]) -> str:
    # The escapes of a JSON pointer (RFC 6901).
    return "".join("/" + str(p).replace("~", "~0").replace("/", "~1") for p in path)


def _find_violations(name: str, value: Json, expected_format: str) -> Iterator[Violation]:
    # Bounded, because a wrong list of a million entries has a million errors.
    errors = islice(_validator(expected_format).iter_errors(value), _MAX_ERRORS)
    # The validator reports unknown keys in the order of a set, which differs between processes.
    for error in sorted(errors, key=lambda e: [str(p) for p in e.absolute_path]):
        pointer, expected = _format_pointer(error.absolute_path), _describe_expected(error)
        yield Violation(name, pointer, shorten(error.instance), expected, _SCHEMA_ADVICE)


def _describe_expected(error: "ValidationError") -> str:
    constraint: Any = error.validator_value
    schema: Any = error.schema
    instance: Any = error.instance
    if error.validator == "required":
        return f"the keys {shorten([key for key in constraint if key not in instance])} as well"
    if error.validator == "additionalProperties":
        extra = [
            key for key in instance if key not in schema["properties"] and not key.startswith("x-")
        ]
        return f"no keys {shorten(extra)}"
    if error.validator in ("anyOf", "oneOf"):
        return " or ".join(dict.fromkeys(_describe_schema(part) for part in constraint))
    return f"{error.validator} {shorten(constraint)}"


def _describe_schema(schema: Any) -> str:
    """What one of several alternative schemas requires, in words."""
    if keys := schema.get("required"):
        return (
            f"{'an object with ' if 'type' in schema else ''}the "
            f"key{'' if len(keys) == 1 else 's'} {', '.join(keys)}"
        )
    if "$ref" in schema:
        return f"a value like {schema['$ref'].rpartition('/')[2]}"
    kinds = schema.get("type", schema.get("const", schema.get("enum", "another value")))
    return " or ".join(map(str, kinds)) if isinstance(kinds, list) else str(kinds)


class _WholeKeyword:
    """A schema keyword that requires integers to be written as integers. JSON Schema accepts 1.0 as
    an integer, which Python reads as a float.
    """

    def __init__(self, *_: object) -> None:
        pass

    def validate(self, instance: object) -> None:
        if type(instance) is float:
            raise ValueError("not written as an integer")


def _add_whole(schema: Any) -> Any:
    """The schema with the keyword `whole` added wherever it allows integers and no other
    numbers."""
    if isinstance(schema, list):
        return [_add_whole(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    declared = schema.get("type", [])
    types = declared if isinstance(declared, list) else [declared]
    whole = {"whole": True} if "integer" in types and "number" not in types else {}
    return {key: _add_whole(part) for key, part in schema.items()} | whole


@cache
def _fast_validator(format_name: str) -> "jsonschema_rs.Validator":
    """The fast validator. It accepts valid documents in a hundredth of the time that the validator
    with detailed errors takes."""
    return jsonschema_rs.validator_for(
        _add_whole(read_schema(format_name)), keywords={"whole": _WholeKeyword}
    )


@cache
def _validator(format_name: str) -> "Validator":
    """The validator that decides and gives detailed errors. It is loaded only for documents that
    the fast one refuses, because loading takes a tenth of a second."""
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def whole(
        validator: "Validator", pattern: str, value: object, schema: Json
    ) -> "Iterator[ValidationError]":
        # All patterns are anchored. `$` alone would accept a newline at the end in Python.
        if isinstance(value, str) and not re.fullmatch(pattern, value):
            yield ValidationError(f"does not match {pattern}")

    strict = extend(  # type: ignore[no-untyped-call]
        Draft202012Validator,
        {"pattern": whole},
        type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
            "integer", lambda _, v: type(v) is int
        ),
    )
    result: Validator = strict(read_schema(format_name))
    return result


def read_schema(format_name: str) -> Json:
    """Read the JSON Schema of a format such as `wattmark-result/1`."""
    name = format_name.removeprefix("wattmark-").replace("/", "-") + ".json"
    schema: Json = json.loads(files("rules.bundle_format").joinpath("schemas", name).read_text())
    return schema


def _refuse_format(name: str, pointer: str, found: object, expected: str) -> Refused:
    message = (
        "This version of the rule book does not know it. Use a newer bench-check, or check that "
        "the content of the file matches its name."
    )
    return build_refusal(FORMAT_UNKNOWN, name, pointer, shorten(found), expected, message)


def _refuse_text(name: str, found: str) -> Refused:
    message = "The file was cut or edited. Restore the original from the machine of the run."
    return build_refusal(JSON_MALFORMED, name, "", found, "JSON in UTF-8", message)
