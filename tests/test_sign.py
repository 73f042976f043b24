"""Signing from the command line: what is signed, what is refused, and that the check then accepts it."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import PRINCIPAL, Submissions

from checker.engine import judge
from harness.cli import main


@pytest.fixture
def unsigned(submissions: Submissions) -> Path:
    bundle = submissions.add()
    shutil.rmtree(bundle / "signatures")
    return bundle


def sign(bundle: Path, key: Path, principal: str = PRINCIPAL) -> Result:
    return CliRunner().invoke(main, ["sign", str(bundle), "--key", str(key), "--principal", principal])


def test_a_signed_bundle_passes(unsigned, submissions):
    done = sign(unsigned, submissions.key)
    assert done.exit_code == 0 and f"submission.{PRINCIPAL}.sig" in done.output
    assert judge(unsigned, root=submissions.root).status == "pass"


def test_what_holds_bundles_and_is_none_is_not_signed(submissions):
    first, _ = submissions.add(run_id="a"), submissions.add(run_id="b")
    done = sign(first.parent, submissions.key)
    assert done.exit_code == 1 and len(done.output.splitlines()) == 1
    assert f"{first.parent}: this is not a bundle; it holds 2: sign each of them, as {first}" in done.output


def test_a_second_signature_takes_the_place_of_the_first(unsigned, submissions):
    sign(unsigned, submissions.key, "other@wattmark")
    assert judge(unsigned, root=submissions.root).status == "fail"
    sign(unsigned, submissions.key)
    assert judge(unsigned, root=submissions.root).status == "pass"


def test_files_that_are_not_those_of_the_run_are_not_signed(unsigned, submissions):
    with (unsigned / "log.txt.gz").open("ab") as file:
        file.write(b"x")
    done = sign(unsigned, submissions.key)
    assert done.exit_code == 1
    assert "not signed, for its files are not those that the run left" in done.output and "I101 log.txt.gz" in done.output
    assert not (unsigned / "signatures").exists()


@pytest.mark.parametrize("principal", ["example", "a b@x", "../x@y", "x@y/../z", "", "x@"])
def test_a_principal_must_be_like_an_address(unsigned, submissions, principal):
    done = sign(unsigned, submissions.key, principal)
    assert done.exit_code == 1 and "must be like CENTER@example.org" in done.output


def test_a_missing_key_is_said_with_how_to_make_one(unsigned, tmp_path):
    done = sign(unsigned, tmp_path / "nokey")
    assert done.exit_code == 1 and "no such key; make one with: ssh-keygen" in done.output


def test_what_is_no_key_is_said(unsigned, tmp_path):
    (tmp_path / "notes").write_text("hello")
    done = sign(unsigned, tmp_path / "notes")
    assert done.exit_code == 1 and "ssh-keygen could not sign with it" in done.output
