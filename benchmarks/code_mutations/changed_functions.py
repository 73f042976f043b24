"""Runs tests on changed code in forks of one process that has collected them.

    python changed_functions.py TEST_FILE...

Each line of standard input is a request: the changed file, its source before and after, and the
tests with the seconds that each may take. The answer is the test that fails or takes longer, or
nothing.
A fork gives the functions of the changed file their new code, wherever they have been imported to,
so that nothing is imported or collected again. What runs on import does not change that way: such
a change needs a new process, for which the file itself is changed as well.
"""

import functools
import gc
import importlib
import json
import os
import signal
import sys
import tempfile
import types
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from code_mutation_table import PACKAGES
from record_contexts import pytest_collection_modifyitems as leave_out_long_tests

OPTIONS = "-q", "-p", "no:cacheprovider", "--tb=no"


class Server:
    """A plugin of pytest that runs tests on request, once they are collected."""

    def __init__(self, requests: Any, answers: Any) -> None:
        self._requests, self._answers = requests, answers
        self._noticed, self._running = (Path(tempfile.mkstemp()[1]) for _ in range(2))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        leave_out_long_tests(items)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        _import_packages()
        _clear_caches()
        self._answer({"tests": list(items)})
        for line in self._requests:
            request = json.loads(line)
            self._noticed.write_text("")
            self._running.write_text("the change itself")
            child = os.fork()
            if child == 0:
                os.setsid()
                try:
                    _replace_functions(**request["change"])
                    limits = request["limits_s"].items()
                    self._run({items[test]: limit_s for test, limit_s in limits if test in items})
                    os._exit(0)
                finally:  # an error would go on in pytest here, which would answer a second time
                    os._exit(1)
            is_ended = os.waitpid(child, 0)[1] == 0
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            noticed = self._noticed.read_text() or ("" if is_ended else self._running.read_text())
            self._answer({"noticed": noticed})
        return True

    def _answer(self, answer: dict[str, Any]) -> None:
        self._answers.write(json.dumps(answer) + "\n")
        self._answers.flush()

    def _run(self, limits_s: dict[pytest.Item, float]) -> None:
        tests = list(limits_s)
        for test, following in zip_longest(tests, tests[1:]):
            self._running.write_text(test.nodeid)
            signal.setitimer(signal.ITIMER_REAL, limits_s[test])  # SIGALRM ends the fork
            test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            if self._noticed.stat().st_size:
                return

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self._noticed.stat().st_size:
            self._noticed.write_text(report.nodeid)


def _import_packages() -> None:
    """Import what tests would import, once for all forks."""
    for path in sorted(p for name in PACKAGES for p in Path(name).rglob("*.py")):
        with suppress(Exception):  # a stack that is not installed
            importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))


def _clear_caches() -> None:
    """Forget what functions of this tree returned while the tests were collected: unchanged code
    computed it."""
    for cached in gc.get_objects():
        if isinstance(cached, functools._lru_cache_wrapper):
            module = sys.modules.get(getattr(cached, "__module__", ""))
            if str(getattr(module, "__file__", "")).startswith(f"{Path.cwd()}/"):
                cached.cache_clear()


def _replace_functions(file: str, before: str, after: str) -> None:
    """Give the functions of `file` that are in memory the code that they have in `after`."""
    path = str(Path.cwd() / file)
    new = _find_codes(compile(after, path, "exec", dont_inherit=True))
    codes = {}
    for name, olds in _find_codes(compile(before, path, "exec", dont_inherit=True)).items():
        if len(olds) == len(new[name]):
            codes |= {
                (name, old.co_firstlineno): code
                for old, code in zip(olds, new[name], strict=True)
                if old.co_freevars == code.co_freevars
            }
    for function in gc.get_objects():
        if isinstance(function, types.FunctionType) and function.__code__.co_filename == path:
            place = function.__code__.co_qualname, function.__code__.co_firstlineno
            function.__code__ = codes.get(place, function.__code__)


def _find_codes(module: types.CodeType) -> dict[str, list[types.CodeType]]:
    """The code of each function by its name, in the order of the lines."""

    def walk(code: types.CodeType) -> Iterator[types.CodeType]:
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                yield inner
                yield from walk(inner)

    by_name = defaultdict(list)
    for code in walk(module):
        by_name[code.co_qualname].append(code)
    return by_name


def main() -> None:
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for stream in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    temporary = tempfile.mkdtemp()
    server = Server(requests, answers)
    code = pytest.main([*OPTIONS, f"--basetemp={temporary}/t", *sys.argv[1:]], plugins=[server])
    server._answer({"noticed": f"import {code}"})  # nothing has been collected


if __name__ == "__main__":
    main()
