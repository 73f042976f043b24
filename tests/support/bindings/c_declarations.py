"""Writes structures of ctypes as C declarations.

The layout of a structure is thus that of the installed binding, whose version the C source need not
know.
"""

import ctypes
from collections.abc import Iterator
from typing import Any

_SIGNED = (ctypes.c_int8, ctypes.c_int16, ctypes.c_int32, ctypes.c_int64)
_UNSIGNED = (ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64)
_NAMES = {
    ctypes.c_char: "char",
    ctypes.c_float: "float",
    ctypes.c_double: "double",
    **{number: f"int{8 * ctypes.sizeof(number)}_t" for number in _SIGNED},
    **{number: f"uint{8 * ctypes.sizeof(number)}_t" for number in _UNSIGNED},
}


def declare(*structures: Any) -> str:
    """A header with `structures` and everything that they contain. The compiler refuses a structure
    of another size than ctypes gives it."""
    declarations: dict[str, str] = {}
    for structure in structures:
        for kind in _list_parts(structure):
            declarations.setdefault(kind.__name__, _declare_one(kind))
    return "\n".join(("#pragma once", "#include <stdint.h>", *declarations.values(), ""))


def _list_parts(structure: Any) -> Iterator[Any]:
    """The structures within `structure`, innermost first, and itself."""
    for field in structure._fields_:
        kind = field[1]
        while issubclass(kind, ctypes.Array):
            kind = kind._type_
        if issubclass(kind, ctypes.Structure | ctypes.Union):
            yield from _list_parts(kind)
    yield structure


def _declare_one(structure: Any) -> str:
    keyword = "union" if issubclass(structure, ctypes.Union) else "struct"
    packed = " __attribute__((packed))" if getattr(structure, "_pack_", 0) == 1 else ""
    fields = "".join(f"    {_declare_field(*field)};\n" for field in structure._fields_)
    name, size = structure.__name__, ctypes.sizeof(structure)
    return (
        f"typedef {keyword}{packed} {{\n{fields}}} {name};\n"
        f'_Static_assert(sizeof({name}) == {size}, "{name}");'
    )


def _declare_field(name: str, kind: Any, bits: int | None = None) -> str:
    lengths = ""
    while issubclass(kind, ctypes.Array):
        lengths += f"[{kind._length_}]"
        kind = kind._type_
    type_name = _NAMES.get(kind, kind.__name__)
    return f"{type_name} {name}{lengths}" + (f" : {bits}" if bits else "")
