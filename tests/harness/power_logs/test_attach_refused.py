"""Power logs, meters and bundles that are refused, and that a crash leaves the bundle whole."""

import copy
import errno
import gzip
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bundles import write_bundle
from support.harness.attached_logs import (
    METER,
    attach,
    hash_files,
    make_bundle,
    make_metered_evidence,
    read_measured,
)
from support.harness.attached_logs import log_text as log_text
from support.harness.attached_logs import metered as metered

from harness.power_logs.attaching import replace
from rules.bundle_format import write
from rules.bundle_format.files import read_files
from rules.bundle_format.load import read_evidence


def sign_it(bundle: Path) -> None:
    (bundle / "signatures").mkdir()
    (bundle / "signatures" / "submission.a@b.sig").write_text("signature\n")


def alter_it(bundle: Path) -> None:
    path = bundle / "log.txt.gz"
    path.write_bytes(gzip.compress(b"another log\n", mtime=0))


def age_it(bundle: Path) -> None:
    evidence = copy.deepcopy(read_measured())
    evidence.result["protocol"] = "1.0"
    shutil.rmtree(bundle)
    write_bundle(evidence, bundle)


def damage_it(bundle: Path) -> None:
    (bundle / "result.json").write_text("{")


def meter_it(bundle: Path) -> None:
    shutil.rmtree(bundle)
    write_bundle(make_metered_evidence(), bundle)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (sign_it, "the bundle is signed"),
        (alter_it, "the files are not those of MANIFEST.json"),
        (age_it, "protocol 1.0, which has no node power"),
        (damage_it, "this bundle cannot be read (S1"),
        (meter_it, "the bundle has node power already"),
    ],
)
def test_bundle_that_must_not_change_is_refused_and_stays(tmp_path, log_text, change, message):
    bundle = make_bundle(tmp_path)
    change(bundle)
    before = {p: p.read_bytes() for p in bundle.rglob("*") if p.is_file()}
    result = attach(bundle, log_text)
    assert result.exit_code == 1 and message in result.output
    assert {p: p.read_bytes() for p in bundle.rglob("*") if p.is_file()} == before
    assert not list(bundle.parent.glob(".*"))


@pytest.mark.parametrize(
    ("meter", "message"),
    [
        ("", "expected one table [[meter]]"),
        (METER + METER, "expected one table [[meter]]"),
        ("[meter]\nid = 'a'", "expected one table [[meter]]"),
        ("colour = 1" + METER, "unknown key 'colour'"),
        (METER.replace('scope = "node"', ""), "meter: found"),
        (METER.replace('"node"', '"desk"'), "meter.scope: found"),
        (METER + "colour = 1", "meter: found"),
        (METER + 'clock = "own"', "meter.clock: found 'own', expected 'import'"),
        (METER + 'kind = "scpi"', "meter.kind: found 'scpi', expected 'ptd'"),
        (METER.replace('"2026-05-01"', "2026-05-01"), "write texts in quotes"),
        (METER + 'feeds = [{feed = "A", node = "node0"}]', "but the log has the feeds Ch1, Ch2"),
        (
            METER + 'feeds = [{feed="Ch1", node="n9"}, {feed="Ch2", node="n9"}]',
            "found the node 'n9', expected one of node0",
        ),
        ("[[meter", "no valid TOML"),
    ],
)
def test_bad_meter_file_is_refused_with_file_and_key(tmp_path, log_text, meter, message):
    result = attach(make_bundle(tmp_path), log_text, meter=meter)
    assert result.exit_code == 1 and "meter.toml: " in result.output
    assert message in result.output


def test_log_that_ends_before_the_run_is_refused(tmp_path, log_text):
    half = "".join(log_text.splitlines(keepends=True)[:150])
    bundle = make_bundle(tmp_path)
    result = attach(bundle, half)
    assert result.exit_code == 1 and "the log has readings from" in result.output
    few = "".join(log_text.splitlines(keepends=True)[:-40])
    result = attach(bundle, few)
    assert result.exit_code == 1 and "do not cover the scored epochs" in result.output


def test_torn_lines_of_an_attached_log_are_reported_and_left_out(tmp_path, log_text):
    lines = log_text.splitlines(keepends=True)
    lines[20] = lines[20][:50] + "\n"
    result = attach(make_bundle(tmp_path), "".join(lines))
    assert result.exit_code == 0 and "line 21: torn-line" in result.output


class Crash(BaseException):
    """Stands for the end of the process."""


def crash(*_args: object, **_kwargs: object) -> None:
    raise Crash


def crash_at_rename(number: int) -> Callable[[Path, Path], Path]:
    """A `Path.rename` that ends the process before its call `number`."""
    calls, rename = itertools.count(1), Path.rename

    def rename_or_crash(path: Path, target: Path) -> Path:
        if next(calls) == number:
            raise Crash
        return rename(path, target)

    return rename_or_crash


def attach_until_crash(bundle: Path, log: str) -> None:
    with pytest.raises(Crash):
        attach(bundle, log)


@pytest.mark.parametrize(
    ("target", "name"),
    [(replace, "_exchange"), (replace, "sync_directory"), (replace.shutil, "rmtree")],
)
def test_crash_leaves_a_whole_bundle(tmp_path, log_text, monkeypatch, target, name):
    bundle = make_bundle(tmp_path)
    before = hash_files(bundle)
    with monkeypatch.context() as patch:
        patch.setattr(target, name, crash)
        attach_until_crash(bundle, log_text)
    evidence, problems = read_evidence(read_files(bundle))
    assert evidence is not None and not problems
    is_new = evidence.node_samples is not None
    assert is_new == (name == "sync_directory")
    if not is_new:
        assert hash_files(bundle) == before
        # The next call finishes the work, whatever the crash left behind.
        assert attach(bundle, log_text).exit_code == 0
        assert not list(bundle.parent.glob(".*"))


@pytest.mark.parametrize(
    ("number", "name"), [(1, "run"), (2, "run"), (3, ".run.replaced"), (4, "run")]
)
def test_crash_without_exchange_of_names_keeps_the_former_bundle(
    tmp_path, log_text, monkeypatch, number, name
):
    bundle = make_bundle(tmp_path)
    before = hash_files(bundle)
    monkeypatch.setattr(replace, "_exchange", lambda first, second: False)
    if number < 4:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", crash_at_rename(number))
            attach_until_crash(bundle, log_text)
        assert hash_files(bundle.with_name(name)) == before
        bundle.with_name(name).rename(bundle)
    assert attach(bundle, log_text).exit_code == 0
    assert "node_samples.csv.gz" in hash_files(bundle)
    assert not list(bundle.parent.glob(".*"))


def test_full_disk_leaves_the_bundle_and_names_it(tmp_path, log_text, monkeypatch):
    bundle = make_bundle(tmp_path)
    before = hash_files(bundle)

    def fail(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(write, "write_durable", fail)
    result = attach(bundle, log_text)
    assert result.exit_code == 3 and "No space left on device" in result.output
    assert hash_files(bundle) == before
