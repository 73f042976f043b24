"""The handle of a child process that speaks JSON lines: answers, time limits and ends."""

import os
import threading
import time
from collections.abc import Callable

import pytest

from harness.json_child import ChildEnded, ChildSilent, JsonChild

ECHO = """
import sys
for line in sys.stdin:
    print(line, end="", flush=True)
"""
TIMEOUT_S = 60.0


def start(program: str, on_line: Callable[[str], None] | None = None) -> JsonChild:
    return JsonChild(["-c", program], os.environ, on_line)


def test_values_are_sent_and_answered_until_the_input_is_closed() -> None:
    child = start(ECHO)
    for value in ({"command": "stop"}, [1, None], "text"):
        child.send(value)
        assert child.receive(TIMEOUT_S) == value
    child.close(TIMEOUT_S)
    assert child.process.poll() == 0


def test_a_process_that_does_not_answer_is_not_waited_for() -> None:
    child = start(ECHO)
    with pytest.raises(ChildSilent):
        child.receive(0.1)
    child.kill()


def test_the_end_of_a_process_is_told_each_time_with_its_status() -> None:
    child = start("print('[1]'); raise SystemExit(7)")
    assert child.receive(TIMEOUT_S) == [1]
    for _ in range(2):
        with pytest.raises(ChildEnded) as end:
            child.receive(TIMEOUT_S)
        assert end.value.status == 7
    with pytest.raises(ChildEnded):
        child.send({"command": "stop"})


def test_lines_that_are_no_json_are_answers_in_text_or_go_to_the_log() -> None:
    program = "import sys; print('ready'); print('3'); print('lost', file=sys.stderr)"
    child = start("print('ready')")
    assert child.receive(TIMEOUT_S) == "ready"
    lines: list[str] = []
    child = start(program, lines.append)
    assert child.receive(TIMEOUT_S) == 3
    child.close(TIMEOUT_S)
    child.join(TIMEOUT_S)
    assert sorted(lines) == ["lost", "ready"]


def test_a_process_that_ignores_its_end_is_killed() -> None:
    child = start("import time; print('[]', flush=True); time.sleep(600)")
    child.receive(TIMEOUT_S)
    child.close(0.1)
    assert child.process.poll() == -9


def test_who_waits_for_a_killed_process_is_told() -> None:
    child = start(ECHO)
    killer = threading.Thread(target=lambda: (time.sleep(0.2), child.kill()))
    killer.start()
    with pytest.raises(ChildEnded):
        child.receive(TIMEOUT_S)
    killer.join()
