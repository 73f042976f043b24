"""`bench-check review`, `withdraw`, `waive`, `accept` and `verify`: who stands behind the
bundles."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from checker import CheckerError
from checker.engine import judge_all
from checker.find import as_given
from checker.selection import printable, withdrawal
from checker.terminal import COLOURS, colours, watched
from checker.trust import acceptance_log as acceptance
from checker.trust import signing as statements
from checker.trust.bundle_trust import now
from checker.trust.records import Review
from checker.trust.signature import SigningError
from checker.verdict import BESIDE, Round, Verdict
from rules.bundle_format.records import ACCEPTANCE_FILE
from rules.registry import rules_by_id

_FAILED, _INTERNAL = 1, 3
_GOOD, _BAD = click.style("good", fg="green", bold=True), click.style("bad", fg="red", bold=True)
_MOST_CHARACTERS = 4000
_T = TypeVar("_T")
_HELP = {"help_option_names": ["-h", "--help"]}
_BUNDLE = click.argument("bundle", type=click.Path(exists=True, file_okay=False, path_type=Path))
_PATHS = click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=click.Path(exists=True, path_type=Path),
)
_KEY = click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path),
    help="your SSH key; a public one goes through ssh-agent",
)
_PRINCIPAL = click.option(
    "--principal",
    required=True,
    metavar="WHO",
    help="who signs, as in the keyring: who@example.org",
)


def _text(_: click.Context, parameter: click.Parameter, value: str) -> str:
    if not value.strip() or len(value) > _MOST_CHARACTERS:
        raise click.BadParameter(
            f"write between 1 and {_MOST_CHARACTERS} characters", param=parameter
        )
    return value


def _remarks(context: click.Context, parameter: click.Parameter, value: str) -> str:
    return _text(context, parameter, value) if value else ""


@click.command(context_settings=_HELP)
@_BUNDLE
@_KEY
@_PRINCIPAL
@click.option(
    "--verdict",
    type=click.Choice(["accept", "reject"]),
    default="accept",
    show_default=True,
    help="What you say of it.",
)
@click.option(
    "--comment",
    default="",
    callback=_remarks,
    help="Your remarks, for the readers; a rejection needs them.",
)
@click.option(
    "--replace", is_flag=True, help="Put this in the place of a review of yours that is there."
)
def review(
    bundle: Path, key: Path, principal: str, verdict: str, comment: str, replace: bool
) -> None:
    """Judge BUNDLE and sign what was found, as a reviewer of another center than its own.

    The review is two files in the bundle's signatures/: commit them. What fails can only be
    rejected.
    """
    if verdict == "reject" and not comment.strip():
        raise click.BadParameter(
            "say what is wrong, for the center to answer", param_hint="--comment"
        )
    path = _stated(lambda: statements.review(bundle, key, principal, verdict, comment, replace))
    click.echo(f"reviewed ({verdict}): {path}")


@click.command(context_settings=_HELP)
@_BUNDLE
@_KEY
@_PRINCIPAL
@click.option(
    "--reason", required=True, callback=_text, help="Why it no longer stands, for the readers."
)
def withdraw(bundle: Path, key: Path, principal: str, reason: str) -> None:
    """Sign that BUNDLE no longer stands. It stays in sight, and is never compared again.

    Who may is the bundle's own center, and whom the keyring lets withdraw but not submit. A
    withdrawal is for good.
    """
    path = _stated(lambda: statements.withdraw(bundle, key, principal, reason))
    click.echo(f"withdrawn: {path}")


@click.command(context_settings=_HELP)
@click.argument("rule")
@_PATHS
@_KEY
@_PRINCIPAL
@click.option(
    "--reason",
    required=True,
    callback=_text,
    help="Why the rule is not held against them, for the readers.",
)
@click.option(
    "--expires",
    type=click.DateTime(["%Y-%m-%d"]),
    help="The first day on which it no longer counts.",
)
def waive(
    rule: str, paths: tuple[Path, ...], key: Path, principal: str, reason: str, expires: Any
) -> None:
    """Sign that RULE is not held against the bundles PATH..., or against all bundles below one
    directory.

    Who may is whom the keyring gives the namespace waiver@wattmark, and who is of another center
    than the bundles. Rules on form and integrity (S, I) cannot be waived, nor those on false
    statements (docs/trust.md). What is waived is still shown.
    """
    known = rules_by_id()
    if rule not in known or not known[rule].waivable:
        why = (
            "it cannot be waived; see docs/trust.md"
            if rule in known
            else "there is no such rule; see bench-check rules"
        )
        raise click.BadParameter(f"{rule}: {why}", param_hint="RULE")
    until = expires.strftime("%Y-%m-%d") if expires else ""
    if until and until <= now()[:10]:
        raise click.BadParameter(f"{until} is not in the future", param_hint="--expires")
    waiver = _stated(lambda: statements.waive(rule, paths, key, principal, reason, until))
    click.echo(f"waived: {as_given(waiver, paths)}")
    findings, bundles = _stated(lambda: statements.lifted(waiver, paths))
    click.echo(
        f"it lifts {findings} finding{'s' * (findings != 1)} of {bundles} "
        f"bundle{'s' * (bundles != 1)} now"
    )
    if not until and statements.is_directory_of_bundles(paths[0]):
        told = (
            "without --expires it is also for every bundle that comes into "
            f"{printable(str(paths[0]))} later"
        )
        click.echo(f"bench-check: {told}", err=True)


@click.command(context_settings=_HELP)
@_PATHS
@click.option("--although-rejected", is_flag=True, help="Also what a reviewer rejects.")
def accept(paths: tuple[Path, ...], although_rejected: bool) -> None:
    """Write into submissions/LOG each bundle at or below PATH... that passes, and each that was
    withdrawn since.

    All submissions are judged, since some rules look across them. Refused is what fails, and what a
    reviewer rejects. Exits with 1 where something at or below PATH... is refused.
    """
    outcomes = _stated(lambda: statements.accept(paths, although_rejected))
    for outcome, path, why in outcomes:
        if outcome != statements.THERE:
            click.echo(f"{outcome}: {printable(path)}{f': {why}' if why else ''}")
    counted = Counter(outcome for outcome, _, _ in outcomes)
    refused, left, there = (
        counted[outcome] for outcome in (statements.REFUSED, statements.LEFT, statements.THERE)
    )
    said = [f"{len(outcomes) - refused - left - there} written to the LOG, {refused} refused"]
    said += [f"{left} left out"] if left else []
    said += [f"{there} {'was' if there == 1 else 'were'} there"] if there else []
    click.echo(", ".join(said))
    sys.exit(_FAILED if refused else 0)


@click.command(context_settings=_HELP)
@_PATHS
@click.option(
    "--keyring",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory with allowed_signers.  [default: keyring/ at or above a bundle]",
)
def verify(paths: tuple[Path, ...], keyring: Path | None) -> None:
    """Verify integrity and signatures below each PATH, without judging the evidence.

    That is: files against manifests, and manifests, reviews, withdrawals and waivers against
    signatures, the keyring and the LOG, whose head is printed: compare it with the one that was
    published. Exits with 1 where anything is wrong.
    """
    judged = _stated(lambda: judge_all(paths, keyring, evidence=False, watch=watched))
    click.echo("\n".join(_verified(judged)), color=colours())
    sys.exit(_FAILED if any(v.status == "fail" for v in judged.verdicts) else 0)


def _verified(judged: Round) -> Iterator[str]:
    own = [v for v in judged.verdicts if v.standing != "published"]
    for verdict in own:
        bad = verdict.status == "fail"
        more = "".join(f", {said}" for said in _said(verdict))
        yield f"{printable(str(verdict.path))}: {_BAD if bad else _GOOD}{printable(more)}"
        for f in verdict.findings:
            at = " ".join(filter(None, (f.rule, f.file, f.pointer)))
            wrong = printable(f"{at}: {f.found}; expected {f.expected}. {f.message}")
            yield f"  {click.style(f.severity, fg=COLOURS[f.severity])} {wrong}"
        yield from (
            printable(f"  {r.reviewer} ({r.verdict}): {r.comment}") for r in _remarked(verdict)
        )
    told = {verdict.path for verdict in own if verdict.standing == "log"}
    logs = {
        submissions / ACCEPTANCE_FILE: acceptance.read_log(submissions)
        for submissions in judged.submissions
    }
    for path, log in logs.items():
        if log.lines:
            lines = f"{log.lines} line{'' if log.lines == 1 else 's'}, head {log.head}"
            yield f"{printable(str(path))}: {'' if path in told else f'{_GOOD}, '}{lines}"
        elif path not in told:
            yield f"{printable(str(path))}: none"
    bad_ones = sum(v.status == "fail" for v in own)
    good = (
        len(own)
        - bad_ones
        + sum(bool(log.lines) and path not in told for path, log in logs.items())
    )
    yield f"{good + bad_ones} verified: {good} good, {bad_ones} bad; the evidence was not judged"


def _remarked(verdict: Verdict) -> list[Review]:
    """The reviews that accept and have a comment; of one that rejects, the finding has it."""
    return [review for review in verdict.reviews if review.verdict == "accept" and review.comment]


def _said(verdict: Verdict) -> Iterator[str]:
    if verdict.standing in BESIDE:
        return
    yield f"signed by {verdict.signer}" if verdict.signer else "no good signature"
    yield from (f"reviewed by {who}" for who in verdict.reviewers)
    yield from (f"rejected by {who}" for who in verdict.rejecters)
    if verdict.accepted:
        yield f"accepted under rule book {verdict.accepted}"
    if verdict.withdrawn:
        yield withdrawal(verdict)


def _stated(state: Callable[[], _T]) -> _T:
    """What `state` returns; what kept it from that is printed, and the command ends."""
    try:
        return state()
    except CheckerError as error:
        click.echo(f"bench-check: {error}", err=True)
        sys.exit(_INTERNAL)
    except OSError as error:
        raise click.ClickException(
            printable(f"{error.filename or 'a file'}: {error.strerror}")
        ) from None
    except (statements.StatementError, SigningError) as error:
        raise click.ClickException(_printable_lines(str(error))) from None


def _printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
