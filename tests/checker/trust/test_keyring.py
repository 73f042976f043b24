"""Which keyring counts, what is wrong with its lines, and what may not lie where bundles lie."""

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions, copy_evidence, make_key
from support.rounds.trust import delay_samples, list_errors, list_rules, make_second_run

from checker.engine import judge, judge_all
from checker.trust import bundle_trust
from checker.trust.keyring import Keyring, read_keyring
from checker.trust.signature import sign_content
from harness.sign import sign
from reporting.collect import collect
from rules.bundle_format.files import Refused
from rules.testing import tampering as forge


def write_keyring(keyring: Path, *keys: tuple[Path, str, str]) -> None:
    """Make a keyring with these keys, principals and namespaces."""
    keyring.mkdir(parents=True)
    lines = (
        f'{principal} namespaces="{names}" {key.with_suffix(".pub").read_text()}'
        for key, principal, names in keys
    )
    (keyring / "allowed_signers").write_text("".join(lines))


def test_keyring_below_another_counts_for_nothing(submissions: Submissions, tmp_path: Path) -> None:
    """A center that brings its own, with its own system for a center, its own waivers and its own
    LOG."""
    bundle = submissions.add(delay_samples(copy_evidence()))
    key = make_key(tmp_path / "own")
    keyring = bundle.parents[1] / "keyring"
    write_keyring(
        keyring,
        (key, "h200x2@evil", "submission@wattmark"),
        (key, "friend@evil", "waiver@wattmark"),
    )
    shutil.rmtree(bundle / "signatures")
    sign(bundle, key, "h200x2@evil")
    for root in (submissions.root, bundle.parents[1], bundle.parent, bundle):
        verdicts = {v.path.resolve(): v for v in judge_all([root]).verdicts}
        assert list_errors(verdicts[bundle]) == {"I107", "P104"}
        assert (
            verdicts[keyring].status,
            verdicts[keyring].standing,
            list_rules(verdicts[keyring]),
        ) == (
            "fail",
            "keyring",
            {"I125"},
        )


def test_nothing_hides_in_a_directory_called_keyring(submissions: Submissions) -> None:
    bundle = submissions.add()
    hidden = bundle.parent / "keyring"
    bundle.rename(hidden.parent / "moved")
    hidden.mkdir()
    (hidden.parent / "moved").rename(hidden / "run")
    submissions.add()
    rules = {v.path: list_rules(v) for v in judge_all([submissions.root]).verdicts}
    assert rules == {bundle: set(), hidden: {"I125"}}


def test_keyring_that_is_removed_during_the_check_is_an_error(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    submissions.add()

    def read_and_remove(directory: Path) -> Keyring:
        shutil.rmtree(directory)
        return read_keyring(directory)

    monkeypatch.setattr(bundle_trust, "read_keyring", read_and_remove)
    verdicts = judge_all([submissions.root]).verdicts
    (problem,) = [f for verdict in verdicts for f in verdict.findings if f.severity == "error"]
    assert (problem.rule, problem.found) == ("S101", "cannot be read: No such file or directory")


def test_keyrings_side_by_side_count_each(submissions: Submissions, tmp_path: Path) -> None:
    """Of two rounds below one path; and the one that was named with --keyring for both."""
    bundle = submissions.add()
    other_round = Submissions(tmp_path / "another-round", submissions.key)
    other_round.allow(other_round.key)
    other_round.add(make_second_run(), run_id="another-run")
    verdicts = judge_all([tmp_path]).verdicts
    assert [(v.path.relative_to(tmp_path).parts[0], v.status) for v in verdicts] == [
        ("another-round", "pass"),
        ("submissions", "pass"),
    ]
    inner = bundle.parents[1] / "keyring"
    inner.mkdir()
    assert inner in {
        v.path
        for v in judge_all([tmp_path], submissions.keyring).verdicts
        if list_rules(v) == {"I125"}
    }


def test_linked_outer_keyring_lets_no_inner_one_in(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle = submissions.add()
    write_keyring(
        bundle.parents[1] / "keyring", (submissions.key, "h200x2@evil", "submission@wattmark")
    )
    signers = submissions.keyring / "allowed_signers"
    signers.unlink()
    signers.symlink_to(tmp_path / "nowhere")
    assert "S102" in list_rules(judge(bundle))


@pytest.mark.parametrize(
    ("place", "expected"),
    [("published", set()), ("example/published", {"I125"}), ("x/y/published", {"I125"})],
)
def test_published_figures_come_with_the_round(
    submissions: Submissions, place: str, expected: set[str]
) -> None:
    submissions.add()
    source = Path(__file__).parents[3] / "submissions" / "published" / "mayr2026.json"
    (submissions.root / place).mkdir(parents=True)
    file = Path(shutil.copy(source, submissions.root / place))
    verdicts = {v.path: v for v in judge_all([submissions.root]).verdicts}
    assert (verdicts[file].standing, list_rules(verdicts[file])) == ("published", expected)
    assert bool(collect([submissions.root]).papers) == (not expected)


def test_center_signs_in_any_letters(submissions: Submissions, tmp_path: Path) -> None:
    bundle = submissions.add()
    key = make_key(tmp_path / "capitals")
    submissions.allow(key, "EXAMPLE@wattmark")
    shutil.rmtree(bundle / "signatures")
    sign(bundle, key, "EXAMPLE@wattmark")
    assert judge(bundle).signer == "EXAMPLE@wattmark"


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xff\x00\xfe",
        b'x@y namespaces="',
        b"x@y ssh-ed25519",
        b"x@y " + b"A" * 200_000,
        b'"' * 5000,
        b"cert-authority",
    ],
    ids=[
        "no text",
        "open quote",
        "no key",
        "long",
        "quotes",
        "an option alone",
    ],  # a name this long is too long for a variable
)
def test_garbage_in_the_keyring_is_a_warning_and_good_lines_count(
    submissions: Submissions, garbage: bytes
) -> None:
    bundle = submissions.add()
    with (submissions.keyring / "allowed_signers").open("ab") as signers:
        signers.write(garbage + b"\n")
    verdicts = {v.standing: v for v in judge_all([submissions.root]).verdicts}
    assert (verdicts["closed"].status, list_rules(verdicts["closed"])) == ("pass", set())
    assert list_rules(verdicts["keyring"]) == {"I124"}
    assert judge(bundle).signer == PRINCIPAL


def test_fingerprints_are_those_of_ssh_keygen(submissions: Submissions) -> None:
    output = subprocess.run(
        ["ssh-keygen", "-l", "-f", submissions.key], capture_output=True, text=True, check=True
    ).stdout
    (line,) = read_keyring(submissions.keyring).lines
    assert line.fingerprint == output.split()[1]
    assert (line.principals, line.namespaces) == ((PRINCIPAL,), ("submission@wattmark",))


@pytest.mark.parametrize("name", ["allowed_signers", "revoked_signers"])
def test_linked_keyring_file_is_not_followed(
    submissions: Submissions, tmp_path: Path, name: str
) -> None:
    bundle = submissions.add()
    path = submissions.keyring / name
    path.unlink(missing_ok=True)
    path.symlink_to(tmp_path / "nowhere")
    assert judge(bundle).status == "fail"
    assert judge(bundle).signer is None


def test_role_counts_for_the_key_whose_line_names_it(
    submissions: Submissions, tmp_path: Path
) -> None:
    """The reviewer has two keys. OpenSSH accepts one without namespaces for every namespace."""
    reviewer = "reviewer@elsewhere.example"
    first, second = make_key(tmp_path / "first"), make_key(tmp_path / "second")
    submissions.allow(first, reviewer, 'valid-after="20200101"')
    submissions.allow(second, reviewer, 'namespaces="review@wattmark"')
    keyring = read_keyring(submissions.keyring)
    of_first, of_second = (
        line.fingerprint for line in keyring.lines if reviewer in line.principals
    )
    assert keyring.grants(reviewer, "review@wattmark")
    assert keyring.grants(reviewer, "review@wattmark", of_second)
    assert not keyring.grants(reviewer, "review@wattmark", of_first)
    assert not keyring.grants(reviewer, "waiver@wattmark", of_second)
    assert not keyring.grants(PRINCIPAL, "review@wattmark", of_second)


@pytest.mark.parametrize("key", ["first", "second"])
def test_review_counts_by_the_key_whose_line_names_the_role(
    submissions: Submissions, tmp_path: Path, key: str
) -> None:
    reviewer = "reviewer@elsewhere.example"
    submissions.allow(make_key(tmp_path / "first"), reviewer, 'valid-after="20200101"')
    submissions.allow(make_key(tmp_path / "second"), reviewer, 'namespaces="review@wattmark"')
    bundle = submissions.add()
    document = forge.add_review(bundle)
    signature = sign_content(document.read_bytes(), tmp_path / key, "review@wattmark")
    document.with_suffix(".sig").write_bytes(signature)
    verdict = judge(bundle)
    expected = (set(), (reviewer,)) if key == "second" else ({"I107"}, ())
    assert (list_rules(verdict), verdict.reviewers) == expected


@pytest.mark.parametrize(
    "principal",
    ["example@wattmark*", "example@wattmark?", "exam?le@wattmark", "*@wattmark", "!a@b"],
)
def test_pattern_in_a_principal_is_a_warning(submissions: Submissions, principal: str) -> None:
    submissions.add()
    submissions.allow(submissions.key, principal)
    (problem,) = read_keyring(submissions.keyring).problems
    assert (problem.rule, problem.violation.pointer) == ("I124", "line 2")
    assert problem.violation.found == f"the principal {principal!r}"


def test_names_of_options_have_any_case_as_for_openssh(submissions: Submissions) -> None:
    signers = submissions.keyring / "allowed_signers"
    signers.write_text(signers.read_text().replace(" namespaces=", " NameSpaces="))
    keyring = read_keyring(submissions.keyring)
    assert (keyring.lines[0].namespaces, keyring.problems) == (("submission@wattmark",), ())
    assert judge(submissions.add()).signer == PRINCIPAL


@pytest.mark.parametrize(
    "option",
    [
        'valid-before="2027-12-31"',
        'valid-after="20261301"',
        'valid-before=""',
        'namespace="x"',
        'valid-after="20270101",valid-before="20261231"',
        'valid-after="20270101Z",valid-before="202701010000Z"',
    ],
)
def test_option_that_openssh_cannot_read_is_a_warning(
    submissions: Submissions, option: str
) -> None:
    """OpenSSH skips the line, so the signature of the center is no good one."""
    bundle = submissions.add()
    write_option(submissions, option)
    (finding,) = judge(bundle).findings
    assert finding.rule == "I107" and "(line 1: bad options: " in finding.found
    (problem,) = read_keyring(submissions.keyring).problems
    assert (problem.rule, problem.violation.pointer) == ("I124", "line 1")
    assert problem.violation.found.startswith("the option '" + option[:9])


@pytest.mark.parametrize("date", ["20991231", "209912312359", "20991231235959", "20990230"])
def test_dates_that_openssh_reads_are_no_problem(submissions: Submissions, date: str) -> None:
    bundle = submissions.add()
    write_option(submissions, f'valid-before="{date}"')
    assert list_errors(judge(bundle)) == set()
    assert read_keyring(submissions.keyring).problems == ()


def write_option(submissions: Submissions, option: str) -> None:
    """Add an option to the first line of the keyring."""
    signers = submissions.keyring / "allowed_signers"
    signers.write_text(signers.read_text().replace("namespaces=", f"{option},namespaces=", 1))


def test_line_without_options_and_line_whose_key_is_no_base64(tmp_path: Path) -> None:
    public = make_key(tmp_path / "key").with_suffix(".pub").read_text().split()[1]
    (tmp_path / "allowed_signers").write_text(
        f"a@example ssh-ed25519 {public}\nb@example ssh-ed25519 {public[:8]}*{public[8:]}\n"
    )
    keyring = read_keyring(tmp_path)
    assert [(line.principals, line.namespaces) for line in keyring.lines] == [(("a@example",), ())]
    assert [problem.violation.pointer for problem in keyring.problems][-1] == "line 2"


def test_keyring_of_four_mib_with_empty_lines_and_comments_is_read(tmp_path: Path) -> None:
    signers, line = tmp_path / "allowed_signers", "\n  \n# a comment\n"
    signers.write_text(line + "#" * (4 * 2**20 - len(line)))
    assert read_keyring(tmp_path).problems == ()
    signers.write_text(line + "#" * (4 * 2**20 - len(line) + 1))
    with pytest.raises(Refused):
        read_keyring(tmp_path)
