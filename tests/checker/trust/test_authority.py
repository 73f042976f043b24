"""Who may sign a bundle, and what a manifest must say of its files."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions, make_key
from support.rounds.trust import list_rules

from checker.engine import judge
from checker.trust.authority import check_published_location, find_authority
from checker.trust.keyring import read_keyring
from harness.sign import sign
from rules.bundle_format.files import Refused

SECOND = "example@second.org"
"""Another principal of the center `example`."""


def add_second_signature(submissions: Submissions, bundle: Path, key: Path) -> None:
    """Sign `bundle` with `key` as `SECOND` too, and keep the first signature."""
    first = bundle / "signatures" / f"submission.{PRINCIPAL}.sig"
    content = first.read_bytes()
    sign(bundle, key, SECOND)
    first.write_bytes(content)


def test_two_principals_of_a_center_sign_each_with_an_own_key(
    submissions: Submissions, tmp_path: Path
) -> None:
    key = make_key(tmp_path / "second")
    submissions.allow(key, SECOND)
    bundle = submissions.add()
    add_second_signature(submissions, bundle, key)
    verdict = judge(bundle)
    assert list_rules(verdict) == set()
    assert verdict.signer in (PRINCIPAL, SECOND)


@pytest.mark.parametrize("name", [PRINCIPAL, SECOND])
def test_signature_counts_for_the_principal_in_its_name_only(
    submissions: Submissions, tmp_path: Path, name: str
) -> None:
    """Both signatures are by one key: that of one of the two principals."""
    key = make_key(tmp_path / "second")
    submissions.allow(key, SECOND)
    bundle = submissions.add()
    add_second_signature(submissions, bundle, key)
    signatures = bundle / "signatures"
    other_principal = SECOND if name == PRINCIPAL else PRINCIPAL
    shutil.copy(
        signatures / f"submission.{name}.sig", signatures / f"submission.{other_principal}.sig"
    )
    verdict = judge(bundle)
    assert (list_rules(verdict), verdict.signer) == ({"I107"}, None)
    assert [f.file for f in verdict.findings] == [f"signatures/submission.{other_principal}.sig"]


def test_size_in_the_manifest_counts_as_well_as_the_hash(submissions: Submissions) -> None:
    bundle = submissions.add()
    manifest = json.loads((bundle / "MANIFEST.json").read_text())
    (entry,) = (e for e in manifest["files"] if e["path"] == "samples.csv.gz")
    entry["size"] += 1
    (bundle / "MANIFEST.json").write_text(json.dumps(manifest))
    sign(bundle, submissions.key, PRINCIPAL)
    (finding,) = judge(bundle).findings
    assert (finding.rule, finding.file) == ("I101", "samples.csv.gz")
    assert finding.found.split(", ")[1] == finding.expected.split(", ")[1], "the hash is the same"


@pytest.mark.parametrize(("place", "center"), [("a", ""), ("center/a", "center")])
def test_bundle_beside_the_keyring_belongs_to_no_center(
    submissions: Submissions, place: str, center: str
) -> None:
    bundle = submissions.root / place
    bundle.mkdir(parents=True)
    authority = find_authority(bundle, None, submissions.root)
    assert (authority.center, authority.place) == (center, place)


def test_path_that_is_listed_twice_is_refused(submissions: Submissions) -> None:
    bundle = submissions.add()
    manifest = json.loads((bundle / "MANIFEST.json").read_text())
    first, unknown = manifest["files"][0], list("dbeacf")
    manifest["files"] += [first, *({**first, "path": name} for name in unknown)]
    (bundle / "MANIFEST.json").write_text(json.dumps(manifest))
    found = [finding.found for finding in judge(bundle).findings if finding.rule == "I104"]
    assert found == [
        f"lists, though it is no file of a bundle, {sorted(unknown)}",
        f"lists twice {[first['path']]}",
    ]


@pytest.mark.parametrize(
    ("name", "rules"), [("samples.csv.gz", {"I104", "S101"}), ("events.jsonl.gz", {"I104"})]
)
def test_manifest_lists_every_file_that_a_bundle_has_or_must_have(
    submissions: Submissions, name: str, rules: set[str]
) -> None:
    bundle = submissions.add()
    manifest = json.loads((bundle / "MANIFEST.json").read_text())
    manifest["files"] = [entry for entry in manifest["files"] if entry["path"] != name]
    (bundle / "MANIFEST.json").write_text(json.dumps(manifest))
    if "S101" in rules:
        (bundle / name).unlink()
    assert rules <= list_rules(judge(bundle))


@pytest.mark.parametrize("path", ["/etc/passwd", "../result.json", "a\\b", "./result.json", "a//b"])
def test_path_that_may_leave_the_bundle_is_refused(submissions: Submissions, path: str) -> None:
    bundle = submissions.add()
    manifest = json.loads((bundle / "MANIFEST.json").read_text())
    manifest["files"][0]["path"] = path
    (bundle / "MANIFEST.json").write_text(json.dumps(manifest))
    assert "I103" in list_rules(judge(bundle))


def test_only_the_outermost_keyring_says_where_published_figures_belong(tmp_path: Path) -> None:
    for keyring in (tmp_path / "keyring", tmp_path / "published" / "keyring"):
        keyring.mkdir(parents=True)
        (keyring / "allowed_signers").write_text("")
    (tmp_path / "center" / "system").mkdir(parents=True)
    check_published_location(tmp_path / "published" / "paper.json")
    with pytest.raises(Refused) as refusal:
        check_published_location(tmp_path / "center" / "system" / "paper.json")
    assert [p.violation.file for p in refusal.value.problems] == ["paper.json"]


def test_named_keyring_leaves_the_center_to_the_keyring_above(submissions: Submissions) -> None:
    bundle = submissions.add()
    named = shutil.copytree(submissions.keyring, submissions.root.parent / "named")
    for root in (submissions.root, bundle.parent, bundle):
        authority = find_authority(bundle, named, root)
        assert (authority.center, authority.place) == ("example", f"example/h200x2/{bundle.name}")
        assert judge(bundle, named, root).status == "pass"


def test_directory_without_signers_is_no_keyring(submissions: Submissions, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    verdict = judge(submissions.add(), keyring=tmp_path / "empty")
    assert list_rules(verdict) == {"I110"}


def test_keyring_that_is_a_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "keyring").write_text("")
    with pytest.raises(Refused) as refusal:
        read_keyring(tmp_path / "keyring")
    assert "allowed_signers" in str(refusal.value.problems)


def test_optional_file_that_the_manifest_lists_must_be_there(submissions: Submissions) -> None:
    bundle = submissions.add()
    manifest = json.loads((bundle / "MANIFEST.json").read_text())
    assert "events.jsonl.gz" in [file["path"] for file in manifest["files"]]
    (bundle / "events.jsonl.gz").unlink()
    (bundle / "samples.csv.gz").unlink()
    missing = [f.file for f in judge(bundle).findings if f.rule == "S101"]
    assert sorted(missing) == ["events.jsonl.gz", "samples.csv.gz"]
