"""The commands of `bench-check` that sign statements on bundles, write the LOG and verify both."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from checker import CheckerError
from checker.command_line.completion import complete_from, list_rules
from checker.engine import judge_all
from checker.find import display_path
from checker.formats.common import format_withdrawal
from checker.options import EXPECT_HEAD, KEY, KEYRING, PRINCIPAL, BundlePath, RoundPath
from checker.printable import printable
from checker.terminal import (
    SEVERITY_COLOURS,
    UnwritableError,
    colour_mode,
    describe_unwritable,
    fit_text,
    show_progress,
)
from checker.trust.acceptance_log import AcceptanceLog, read_log
from checker.trust.records import utc_now
from checker.trust.signature import NoKeyError, SigningError
from checker.trust.statements import (
    StatementError,
    find_log_directory,
    find_submissions,
    format_problems,
)
from checker.trust_commands import accepting, signing
from checker.verdict import NON_BUNDLE_STANDINGS, Round, Verdict
from rules.bundle_format.records import ACCEPTANCE_FILE
from rules.registry import rules_by_id

_FAILED, _INTERNAL = 1, 3
_GOOD, _BAD = click.style("good", fg="green", bold=True), click.style("bad", fg="red", bold=True)
_MAX_CHARACTERS = 4000
_T = TypeVar("_T")
_HELP = {"help_option_names": ["-h", "--help"]}
_BUNDLE = click.argument("bundle", type=BundlePath())
_PATHS = click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=RoundPath(),
)


def _check_text(_: click.Context, parameter: click.Parameter, value: str) -> str:
    if not value.strip() or len(value) > _MAX_CHARACTERS:
        raise click.BadParameter(
            f"write between 1 and {_MAX_CHARACTERS} characters", param=parameter
        )
    return value


def _check_optional_text(context: click.Context, parameter: click.Parameter, value: str) -> str:
    return _check_text(context, parameter, value) if value else ""


def _check_reasons(
    context: click.Context, parameter: click.Parameter, values: Sequence[tuple[Path, str]]
) -> Mapping[Path, str]:
    return {path: _check_text(context, parameter, reason) for path, reason in values}


@click.command(context_settings=_HELP)
@_BUNDLE
@KEY
@PRINCIPAL
@click.option(
    "--verdict",
    type=click.Choice(["accept", "reject"]),
    required=True,
    help="Your verdict on the bundle.",
)
@click.option(
    "--comment",
    default="",
    callback=_check_optional_text,
    help="Your comment for readers. Required with --verdict reject.",
)
@click.option("--replace", is_flag=True, help="Replace your earlier review of the bundle.")
def review(
    bundle: Path, key: Path, principal: str, verdict: str, comment: str, replace: bool
) -> None:
    """Judge BUNDLE and sign the findings as a reviewer of another center.

    The review is two files in the directory signatures/ of the bundle. Commit both. A bundle that
    fails can only be rejected.
    """
    if verdict == "reject" and not comment.strip():
        raise click.BadParameter(
            "state what is wrong, so that the center can answer", param_hint="--comment"
        )
    path = _run(lambda: signing.review(bundle, key, principal, verdict, comment, replace))
    click.echo(f"reviewed ({verdict}): {path}")
    if verdict == "accept":
        submissions = display_path(_run(lambda: find_submissions(bundle)), [bundle])
        where = printable(str(submissions))
        click.echo(f"next, by whoever runs the round: bench-check accept {where}")


@click.command(context_settings=_HELP)
@_BUNDLE
@KEY
@PRINCIPAL
@click.option(
    "--reason", required=True, callback=_check_text, help="Why it is withdrawn, for readers."
)
def withdraw(bundle: Path, key: Path, principal: str, reason: str) -> None:
    """Sign that BUNDLE is withdrawn. It stays visible, but is no longer compared.

    A bundle is withdrawn by its own center, or by a principal whom the keyring lets withdraw but
    not submit. A withdrawal is final.
    """
    path = _run(lambda: signing.withdraw(bundle, key, principal, reason))
    click.echo(f"withdrawn: {path}")


_BUNDLES = click.argument(
    "bundles",
    nargs=-1,
    required=True,
    metavar="BUNDLE...",
    type=BundlePath(),
)


@click.command(context_settings=_HELP)
@_BUNDLES
@KEY
@PRINCIPAL
def request(bundles: tuple[Path, ...], key: Path, principal: str) -> None:
    """Sign that the own center hands BUNDLE... in to the round.

    The request is two files in the directory signatures/ of the bundle. Without them the bundle
    wins no comparison, so that nobody else can hand in a run that its center discarded.
    bench-submit sign makes them too, in a directory with a keyring.
    """
    for bundle in bundles:
        path = _run(partial(signing.request, bundle, key, principal))
        click.echo(f"requested: {path}")


@click.command(context_settings=_HELP)
@_BUNDLE
@KEY
@PRINCIPAL
def challenge(bundle: Path, key: Path, principal: str) -> None:
    """Draw and sign the seed that a reproduction of BUNDLE has to use.

    For reviewers and for whoever runs the round: somebody of another center than that of BUNDLE and
    than the one that reproduces it. bench-submit reproduce takes the seed from the bundle.
    """
    path, seed = _run(lambda: signing.challenge(bundle, key, principal))
    click.echo(f"challenged with seed {seed}: {path}")


@click.command(context_settings=_HELP)
@_BUNDLES
@KEY
@PRINCIPAL
def commit(bundles: tuple[Path, ...], key: Path, principal: str) -> None:
    """Publish the hash of BUNDLE... before the bundle itself.

    Writes two files into submissions/commitments/. Hand them in alone. Once the LOG has them, the
    bundle comes before every copy of it.
    """
    for bundle in bundles:
        path = _run(partial(signing.commit, bundle, key, principal))
        click.echo(f"committed: {display_path(path, bundles)}")


@click.command(context_settings=_HELP)
@click.argument("rule", shell_complete=complete_from(list_rules))
@_PATHS
@KEY
@PRINCIPAL
@click.option(
    "--reason", required=True, callback=_check_text, help="Why the rule is waived, for readers."
)
@click.option(
    "--expires",
    type=click.DateTime(["%Y-%m-%d"]),
    help="First day on which the waiver no longer counts.",
)
def waive(
    rule: str,
    paths: tuple[Path, ...],
    key: Path,
    principal: str,
    reason: str,
    expires: datetime | None,
) -> None:
    """Sign that RULE is waived for the bundles PATH..., or for all bundles below one directory.

    The principal needs the namespace waiver@wattmark in the keyring, and must be of another center
    than the bundles. Rules on form and integrity (S, I) and rules on false statements cannot be
    waived (docs/trust.md). Waived findings are still shown.
    """
    known = rules_by_id().get(rule)
    if known is None or not known.waivable:
        reason_against = (
            "it cannot be waived; see docs/trust.md"
            if known
            else "there is no such rule; see bench-check rules"
        )
        raise click.BadParameter(f"{rule}: {reason_against}", param_hint="RULE")
    expiry_date = expires.strftime("%Y-%m-%d") if expires else ""
    if expiry_date and expiry_date <= utc_now()[:10]:
        raise click.BadParameter(f"{expiry_date} is not in the future", param_hint="--expires")
    waiver = _run(lambda: signing.waive(rule, paths, key, principal, reason, expiry_date))
    click.echo(f"waived: {display_path(waiver, paths)}")
    findings, bundles = _run(lambda: signing.count_waived(waiver, paths))
    click.echo(
        f"it waives {findings} finding{'s' * (findings != 1)} of {bundles} "
        f"bundle{'s' * (bundles != 1)} now"
    )
    if not expiry_date and signing.is_directory_of_bundles(paths[0]):
        warning = (
            "without --expires the waiver also covers every bundle that is added to "
            f"{printable(str(paths[0]))} later"
        )
        click.echo(f"bench-check: {warning}", err=True)


@click.command(context_settings=_HELP)
@_PATHS
@click.option(
    "--despite",
    "reasons",
    nargs=2,
    multiple=True,
    metavar="BUNDLE REASON",
    type=(BundlePath(), str),
    callback=_check_reasons,
    help="Also accept BUNDLE, for REASON, although nobody has reviewed it, a reviewer rejects it "
    "or it may not win. The LOG keeps the reason. May be repeated.",
)
def accept(paths: tuple[Path, ...], reasons: Mapping[Path, str]) -> None:
    """Write into submissions/LOG each bundle at or below PATH... that passes or was withdrawn, and
    each new commitment.

    The command judges all submissions, since some rules compare them. It refuses bundles that fail,
    that no center has reviewed, that a reviewer rejects, and that have findings which bar winning.
    Acceptance lifts none of these findings. Exits with 1 if any bundle at or below PATH... is
    refused.
    """
    outcomes = _run(lambda: accepting.accept(paths, reasons))
    for outcome in outcomes:
        if outcome.outcome != accepting.UNCHANGED:
            reason = f": {outcome.reason}" if outcome.reason else ""
            text = f"{outcome.outcome}: {printable(outcome.path)}{reason}"
            click.echo(fit_text(text, sys.stdout))
    counts = Counter(outcome.outcome for outcome in outcomes)
    refused, left_out = counts[accepting.REFUSED], counts[accepting.LEFT_OUT]
    unchanged = counts[accepting.UNCHANGED]
    written = len(outcomes) - refused - left_out - unchanged
    summary = [f"{written} written to the LOG, {refused} refused"]
    summary += [f"{left_out} left out"] if left_out else []
    summary += [f"{unchanged} already in the LOG"] if unchanged else []
    click.echo(", ".join(summary))
    sys.exit(_FAILED if refused else 0)


@click.command(context_settings=_HELP)
@_PATHS
@KEYRING
@EXPECT_HEAD
def verify(paths: tuple[Path, ...], keyring: Path | None, expected_head: str) -> None:
    """Verify integrity and signatures below each PATH, without judging the evidence.

    The command compares files with manifests, and verifies the signatures of manifests, reviews,
    withdrawals and waivers against the keyring and the LOG. It prints the head of the LOG: compare
    it with the published one. Exits with 1 if anything is wrong.
    """
    judged = _run(
        lambda: judge_all(
            paths, keyring, evidence=False, watch=show_progress, expected_head=expected_head
        )
    )
    text = fit_text("\n".join(_format_verification(judged)), sys.stdout)
    click.echo(text, color=colour_mode())
    sys.exit(_FAILED if any(v.status == "fail" for v in judged.verdicts) else 0)


@click.group(context_settings=_HELP)
def log() -> None:
    """Print what the LOG says of itself."""


@log.command(context_settings=_HELP)
@click.argument("path", type=click.Path(exists=True, path_type=Path))
def head(path: Path) -> None:
    """Print the number of lines and the head of the LOG that PATH belongs to.

    The head is the hash of the last line. Publish it outside the repository. Everybody else then
    notices missing lines with `bench-check --expect-head HASH`.
    """
    submissions = _run(lambda: find_log_directory(path))
    acceptance_log = read_log(submissions)
    if acceptance_log.problems:
        raise click.ClickException(format_problems(acceptance_log.problems))
    log_path = display_path(submissions / ACCEPTANCE_FILE, [path])
    click.echo(f"{printable(str(log_path))}: {_describe_log(acceptance_log)}")


def _describe_log(acceptance_log: AcceptanceLog) -> str:
    plural = "" if acceptance_log.lines == 1 else "s"
    return f"{acceptance_log.lines} line{plural}, head {acceptance_log.head}"


def _format_verification(judged: Round) -> Iterator[str]:
    verdicts = [v for v in judged.verdicts if v.standing != "published"]
    for verdict in verdicts:
        yield from _format_verdict(verdict)
    broken_logs = {verdict.path for verdict in verdicts if verdict.standing == "log"}
    good_logs = 0
    for submissions in judged.submissions:
        path, acceptance_log = submissions / ACCEPTANCE_FILE, read_log(submissions)
        if acceptance_log.lines:
            # A LOG has a verdict only if it has a problem, so good ones are counted here.
            good_logs += path not in broken_logs
            status = "" if path in broken_logs else f"{_GOOD}, "
            yield f"{printable(str(path))}: {status}{_describe_log(acceptance_log)}"
        elif path not in broken_logs:
            yield f"{printable(str(path))}: none"
    bad = sum(v.status == "fail" for v in verdicts)
    good = len(verdicts) - bad + good_logs
    yield f"{good + bad} verified: {good} good, {bad} bad; the evidence was not judged"


def _format_verdict(verdict: Verdict) -> Iterator[str]:
    status = _BAD if verdict.status == "fail" else _GOOD
    people = printable("".join(f", {part}" for part in _describe_people(verdict)))
    yield f"{printable(str(verdict.path))}: {status}{people}"
    for f in verdict.findings:
        place = " ".join(filter(None, (f.rule, f.file, f.pointer)))
        text = printable(f"{place}: {f.found}; expected: {f.expected}. {f.message}")
        yield f"  {click.style(f.severity, fg=SEVERITY_COLOURS[f.severity])} {text}"
    for r in verdict.reviews:
        # The comment of a review that rejects is part of its finding.
        if r.verdict == "accept" and r.comment:
            yield printable(f"  {r.reviewer} ({r.verdict}): {r.comment}")


def _describe_people(verdict: Verdict) -> Iterator[str]:
    # Nobody submits the LOG, a waiver or the keyring.
    if verdict.standing in NON_BUNDLE_STANDINGS:
        return
    yield f"signed by {verdict.signer}" if verdict.signer else "no good signature"
    yield from (f"reviewed by {who}" for who in verdict.reviewers)
    yield from (f"rejected by {who}" for who in verdict.rejecters)
    if verdict.accepted:
        yield f"accepted under rule book {verdict.accepted}"
    if verdict.withdrawn:
        yield format_withdrawal(verdict)


def _run(action: Callable[[], _T]) -> _T:
    """Return what `action` returns. If it fails, print the reason and end the command."""
    try:
        return action()
    except CheckerError as error:
        click.echo(f"bench-check: {error}", err=True)
        sys.exit(_INTERNAL)
    except OSError as error:
        raise UnwritableError(printable(describe_unwritable(error))) from None
    except NoKeyError as error:
        raise click.UsageError(printable(str(error))) from None
    except (StatementError, SigningError) as error:
        # A message may contain several lines, each with values from a bundle.
        raise click.ClickException("\n".join(map(printable, str(error).split("\n")))) from None
