"""Records as bytes for the cache, of which only classes of the project are read."""

import pickle
from io import BytesIO
from typing import Any

_PACKAGES = ("reporting", "rules")
_OTHERS = frozenset(
    {
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("datetime", "timedelta"),
        ("datetime", "timezone"),
        ("pathlib", "PosixPath"),
        ("pathlib._local", "PosixPath"),  # Python 3.13
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"),
        ("checker.judging.judgement", "Judgement"),
    }
)
_PROTOCOL = 4
"""With the next one, arrays could not be written to."""
_DAMAGED = (
    *(pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError),
    *(TypeError, RecursionError, OverflowError, MemoryError),
)


def pack(kept: object) -> bytes:
    """The object as bytes; empty if `unpack_kept` would not read them."""
    try:
        content = pickle.dumps(kept, _PROTOCOL)
        unpack_kept(content)
    except (pickle.PicklingError, ValueError, TypeError, AttributeError, RecursionError):
        return b""
    return content


def unpack_kept(content: bytes) -> Any:
    """The object that `pack` wrote. Only classes of the project, and those of their values, become
    objects. Raises ValueError for other content."""
    try:
        return _Reader(BytesIO(content)).load()
    except _DAMAGED as error:
        raise ValueError(f"{error}") from None


def pack_plainly(kept: object) -> bytes:
    """The object as bytes that are equal for equal objects: `pack` writes once what occurs twice,
    which depends on what else has held the same text."""
    content = BytesIO()
    pickler = pickle.Pickler(content, _PROTOCOL)
    pickler.fast = True
    pickler.dump(kept)
    return content.getvalue()


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        # Before the module is imported. A name with dots would reach what the module imports.
        is_own = module.partition(".")[0] in _PACKAGES and "." not in name
        record_class = (
            super().find_class(module, name) if is_own or (module, name) in _OTHERS else None
        )
        if is_own and not (isinstance(record_class, type) and record_class.__module__ == module):
            record_class = None
        if record_class is None:
            raise pickle.UnpicklingError(f"a {module}.{name} is not read")
        return record_class
