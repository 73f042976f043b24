"""Records as JSON and back, by the types of their fields.

| type of a field | JSON |
|---|---|
| a dataclass | an object with a key for each field |
| a class with `KIND_KEY` and its subclasses | the same, with their `kind` under that key |
| `tuple`, `list`, `Sequence` | a list |
| `Mapping`, `dict` | an object |
| `datetime`, `Path` | text |
| `str`, `int`, `float`, `bool`, `None`, `Any` | the value itself |
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from itertools import cycle
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

_SCALARS = frozenset({str, int, float, bool, NoneType})
_TEXTS: dict[Any, Callable[[str], Any]] = {datetime: datetime.fromisoformat, Path: Path}
_POINTER = "pointer"
_Record = TypeVar("_Record")
_Read = Callable[[Any, str], Any]
"""Makes a value from its JSON and the JSON pointer of that."""


class RecordError(ValueError):
    """A document does not have the form of its record. The message names the JSON pointer."""

    def __init__(self, pointer: str, found: str, expected: str) -> None:
        super().__init__(f"{pointer or 'the document'} is {found}, expected {expected}")


def to_json(value: Any) -> Any:
    """The JSON of a record or of a part of one. Keys have the order of the fields."""
    if value.__class__ in _SCALARS:
        return value
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if is_dataclass(value):
        head, names = _list_keys(value.__class__)
        return {**head, **{name: to_json(getattr(value, name)) for name in names}}
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Path) else value


def from_json(
    kind: type[_Record], value: Any, pointer: str = "", *, is_validated: bool = False
) -> _Record:
    """The record in a JSON value, which is at `pointer` in its document.

    An absent key gives the default of its field. A field `pointer` is no key: it takes the JSON
    pointer of the object, and every absent key of such a record gives None. `is_validated` is for a
    document that follows its schema: other keys are extensions of the format, and the types of
    scalars are not checked. Raises RecordError.
    """
    read: Callable[[Any, str], _Record] = _make_reader(kind, is_validated)  # type: ignore[arg-type]
    return read(value, pointer)


@cache
def _list_keys(record_class: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    """The key that names the kind of a record, with its value, and the other keys."""
    key = getattr(record_class, "KIND_KEY", None)
    head = {} if key is None else {key: record_class.kind}
    return head, tuple(field.name for field in fields(record_class))


@cache
def _make_reader(kind: Any, is_validated: bool) -> _Read:
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if is_dataclass(origin):
        make = _make_record_reader if not hasattr(origin, "KIND_KEY") else _make_kinds_reader
        return make(origin, is_validated)
    if origin in (tuple, list, Sequence):
        return _make_list_reader(tuple if origin is tuple else list, arguments, is_validated)
    if origin in (dict, Mapping):
        read_item = _make_reader(arguments[1], is_validated)
        return lambda value, pointer: {
            key: read_item(item, f"{pointer}/{_escape(key)}")
            for key, item in _check(value, dict, pointer, "an object").items()
        }
    if origin in _TEXTS:
        return lambda value, pointer: _read_text(_TEXTS[origin], value, pointer)
    kinds = [argument for argument in arguments if argument is not NoneType] or [kind]
    if len(kinds) == 1 and NoneType in arguments:
        read_present = _make_reader(kinds[0], is_validated)
        if read_present is _keep:
            return _keep  # So lists of thousands of losses are not read one by one.
        return lambda value, pointer: None if value is None else read_present(value, pointer)
    return _keep if is_validated or Any in kinds else _make_scalar_reader(arguments or (kind,))


def _make_record_reader(record_class: Any, is_validated: bool) -> _Read:
    types = get_type_hints(record_class)
    readers = {f.name: _make_reader(types[f.name], is_validated) for f in fields(record_class)}
    required = {f.name for f in fields(record_class) if f.default is f.default_factory is MISSING}
    takes_pointer = readers.pop(_POINTER, None) is not None

    def read(value: Any, pointer: str) -> Any:
        _check(value, dict, pointer, "an object")
        values = {**dict.fromkeys(required), _POINTER: pointer} if takes_pointer else {}
        if not takes_pointer and (absent := required - value.keys()):
            raise RecordError(f"{pointer}/{min(absent)}", "absent", "a value")
        if not is_validated and (unknown := value.keys() - readers.keys()):
            raise RecordError(f"{pointer}/{_escape(min(unknown))}", "unknown", "a known key")
        for name, read_part in readers.items():
            if name in value:
                part = value[name]
                keeps = read_part is _keep
                values[name] = part if keeps else read_part(part, f"{pointer}/{name}")
        return record_class(**values)

    return read


def _make_kinds_reader(base: Any, is_validated: bool) -> _Read:
    key, kinds = base.KIND_KEY, base.__subclasses__() or (base,)
    readers = {kind.kind: _make_record_reader(kind, is_validated) for kind in kinds}

    def read(value: Any, pointer: str) -> Any:
        document = dict(_check(value, dict, pointer, "an object"))
        kind = document.pop(key, None)
        if not isinstance(kind, str) or kind not in readers:
            raise RecordError(f"{pointer}/{key}", f"{kind!r:.80}", " or ".join(readers))
        return readers[kind](document, pointer)

    return read


def _make_list_reader(container: Any, kinds: tuple[Any, ...], is_validated: bool) -> _Read:
    readers = [_make_reader(kind, is_validated) for kind in kinds if kind is not ...]
    length = len(kinds) if container is tuple and ... not in kinds else None

    def read(value: Any, pointer: str) -> Any:
        items = _check(value, list, pointer, "a list")
        if length is not None and len(items) != length:
            raise RecordError(pointer, f"a list of {len(items)}", f"one of {length}")
        if readers == [_keep]:
            return container(items)
        pairs = enumerate(zip(items, cycle(readers), strict=False))
        return container(read_item(item, f"{pointer}/{i}") for i, (item, read_item) in pairs)

    return read


def _make_scalar_reader(kinds: tuple[type, ...]) -> _Read:
    # JSON has one kind of number. Its `true` is none, although bool is a subclass of int.
    accepted = {*kinds, int} if float in kinds else set(kinds)
    expected = " or ".join(kind.__name__ for kind in kinds)

    def read(value: Any, pointer: str) -> Any:
        if value.__class__ not in accepted:
            raise RecordError(pointer, f"{value!r:.80}", expected)
        return value

    return read


def _read_text(parse: Callable[[str], Any], value: Any, pointer: str) -> Any:
    text = _check(value, str, pointer, "text")
    try:
        return parse(text)
    except ValueError:
        raise RecordError(pointer, f"{value!r:.80}", "a time in ISO 8601") from None


def _keep(value: Any, _pointer: str) -> Any:
    return value


def _check(value: Any, kind: type, pointer: str, expected: str) -> Any:
    if not isinstance(value, kind):
        raise RecordError(pointer, f"{value!r:.80}", expected)
    return value


def _escape(key: str) -> str:
    """The key as a part of a JSON pointer. Source: RFC 6901, section 3."""
    return key.replace("~", "~0").replace("/", "~1")
