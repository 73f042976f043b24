"""Modules that take long to import and that few tests use."""

from importlib import import_module
from typing import Any


class LazyModule:
    """A module that is imported when one of its attributes is first used.

    Each test process collects all test files. torch and timm take 3 s of CPU to import, and later
    slow down each collection of garbage. The tests that compute with torch are in the xdist group
    `torch`, so that one test process imports it.
    """

    def __init__(self, name: str) -> None:
        vars(self)["_name"] = name

    def __getattr__(self, attribute: str) -> Any:
        # pytest asks each global name of a test file for `__test__`.
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)

    def __setattr__(self, attribute: str, value: Any) -> None:
        setattr(import_module(self._name), attribute, value)

    def __delattr__(self, attribute: str) -> None:
        delattr(import_module(self._name), attribute)
