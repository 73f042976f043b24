"""From nothing to an accepted bundle by what the commands print: a center that opens no page runs,
signs and checks, and the person who runs the round reviews and accepts."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import make_key

ROOT = Path(__file__).parents[2]
PROGRAMS = {"bench-submit": ["-m", "harness"], "bench-check": ["-m", "checker"]}
COMMAND = re.compile(r"\b(bench-(?:submit|check)|ssh-keygen) [^;\n]+")
CENTER = {"KEY": "center-key", "CENTER": "demo", "DOMAIN": "demo.example"}
OWNER = {"KEY": "owner-key", "REVIEWER": "owner", "DOMAIN": "round.example"}


class Person:
    """Somebody who types the commands that other commands print, with names of their own in place
    of the words in capitals."""

    def __init__(self, directory: Path, names: Mapping[str, str]) -> None:
        self.directory, self.names = directory, dict(names)

    def type(self, command: str, status: int = 0) -> str:
        """The output of a command. Fails for another exit status."""
        program, *arguments = [self._fill_in(word) for word in shlex.split(command)]
        full_command = [sys.executable, *PROGRAMS[program]] if program in PROGRAMS else [program]
        process = subprocess.run(
            [*full_command, *arguments],
            cwd=self.directory,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert process.returncode == status, process.stdout
        return process.stdout.strip()

    def _fill_in(self, word: str) -> str:
        return re.sub(r"[A-Z]{3,}", lambda match: self.names.get(match[0], match[0]), word)


def list_commands(printed: str) -> list[str]:
    """The commands that the last line of an output names."""
    return [match[0] for match in COMMAND.finditer(printed.splitlines()[-1])]


@pytest.fixture
def keyring(tmp_path: Path) -> Path:
    """The keyring of a new round, which knows the person who runs it, and no center."""
    public_key = make_key(tmp_path / OWNER["KEY"]).with_suffix(".pub").read_text()
    path = tmp_path / "submissions/keyring/allowed_signers"
    path.parent.mkdir(parents=True)
    path.write_text(f'owner@round.example namespaces="review@wattmark" {public_key}')
    return path


def test_commands_lead_from_a_run_to_an_accepted_bundle(tmp_path: Path, keyring: Path) -> None:
    center, owner = Person(tmp_path, CENTER), Person(tmp_path, OWNER)
    printed = center.type(
        "bench-submit run resnet50-train --simulate h200 --epoch-seconds 0.2 "
        "--out submissions/demo/h200"
    )
    (sign,) = list_commands(printed)
    (make,) = list_commands(center.type(sign, status=2))
    # Without a passphrase.
    center.type(f"{make} -q -N ''")
    printed = center.type(sign, status=1)
    assert "keyring/allowed_signers needs this line:" in printed
    with keyring.open("a") as signers:
        signers.write(printed.splitlines()[-1].strip() + "\n")
    check, accept = list_commands(center.type(sign))
    assert "1 judged: 1 pass, 0 fail; 0 errors" in center.type(check)
    refusal = owner.type(accept, status=1)
    (review,) = [match[0] for match in COMMAND.finditer(refusal)]
    (bundle,) = tmp_path.glob("submissions/demo/h200/*")
    owner.names["BUNDLE"] = str(bundle.relative_to(tmp_path))
    assert list_commands(owner.type(review)) == [accept]
    assert owner.type(accept).endswith("1 written to the LOG, 0 refused")
    assert ", reviewed by owner@round.example, accepted under rule book " in center.type(check)


def test_line_for_the_keyring_is_said_where_there_is_none(tmp_path: Path, keyring: Path) -> None:
    center = Person(tmp_path, CENTER)
    printed = center.type(
        "bench-submit run resnet50-train --simulate h200 --epoch-seconds 0.1 --out demo/h200"
    )
    (sign,) = list_commands(printed)
    make_key(tmp_path / CENTER["KEY"])
    reason, line = center.type(sign).splitlines()[-2:]
    assert reason == "next: whoever runs the round adds this line to keyring/allowed_signers:"
    with keyring.open("a") as signers:
        signers.write(line.strip() + "\n")
    (tmp_path / "demo").rename(keyring.parents[1] / "demo")
    assert "1 pass" in center.type("bench-check submissions")
