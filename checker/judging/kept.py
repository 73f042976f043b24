"""What a caller of the check keeps of a bundle, as bytes for the cache."""

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
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"),
    }
)


def pack(kept: object) -> bytes:
    """The object as bytes; empty if `unpack_kept` would not read them."""
    try:
        content = pickle.dumps(kept, pickle.HIGHEST_PROTOCOL)
        unpack_kept(content)
    except (pickle.PicklingError, ValueError, TypeError, RecursionError):
        return b""
    return content


def unpack_kept(content: bytes) -> Any:
    """The object that `pack` wrote. Only classes of the project, and those of their values, become
    objects. Raises ValueError for other content."""
    try:
        return _Reader(BytesIO(content)).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError) as error:
        raise ValueError(f"{error}") from None


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        is_own = module.partition(".")[0] in _PACKAGES and isinstance(found, type)
        if not is_own and (module, name) not in _OTHERS:
            raise pickle.UnpicklingError(f"a {module}.{name} is not read")
        return found
