"""Finds plug-ins: files in a package, or in directories of the user, that define one class each."""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Generic, TypeVar

from harness.errors import MeterError, MeterNameError

Plugin = TypeVar("Plugin")


@dataclass(frozen=True)
class Plugins(Generic[Plugin]):
    """The plug-ins in `package`, whose `__path__` lists the directories to search."""

    package: ModuleType
    base: type[Plugin]
    """The class that each file subclasses once."""
    noun: str
    """What a plug-in is called in messages, such as `meter`."""

    def list_names(self) -> list[str]:
        """The names of all plug-ins, sorted. A file whose name starts with an underscore is
        none."""
        names = {module.name for module in pkgutil.iter_modules(self.package.__path__)}
        return sorted(name for name in names if not name.startswith("_"))

    def load_class(self, name: str) -> type[Plugin]:
        """The class in the file `name`. Raises MeterError if there is no such file or it defines no
        usable class."""
        module_name = f"{self.package.__name__}.{name}"
        # A watchdog restores limits also while an upgrade replaces the files of the sources.
        if module_name not in sys.modules and name not in self.list_names():
            raise MeterNameError(
                f"there is no {self.noun} called {name!r}; there are {', '.join(self.list_names())}"
            )
        try:
            module = importlib.import_module(module_name)
        except Exception as error:  # the file may be a user's, with any mistake in it
            raise MeterError(
                f"the {self.noun} {name} cannot be loaded ({type(error).__name__}: {error})"
            ) from error
        classes = [
            member
            for member in vars(module).values()
            if inspect.isclass(member)
            and issubclass(member, self.base)
            # Classes that the file imports, such as a base class, are not its own.
            and member.__module__ == module.__name__
            and not member.__name__.startswith("_")
        ]
        if len(classes) != 1:
            raise MeterError(
                f"{module.__file__}: defines {len(classes)} public subclasses of "
                f"{self.base.__name__}; define exactly one"
            )
        return classes[0]


def list_missing_methods(plugin: type) -> Iterable[str]:
    """The abstract methods that the class lacks, sorted. Python's own TypeError does not name the
    plug-in."""
    return sorted(getattr(plugin, "__abstractmethods__", ()))
