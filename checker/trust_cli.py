"""`bench-check review`, `withdraw`, `waive`, `accept` and `verify`: who stands behind the bundles."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from checker import CheckerError, acceptance, statements
from checker.engine import BESIDE, Round, Verdict, judge_all
from checker.shown import printable
from checker.signature import SigningError
from checker.trust import now
from rules.records import ACCEPTANCE_FILE
from rules.rule import rules_by_id

_FAILED, _INTERNAL = 1, 3
_T = TypeVar("_T")
_HELP = {"help_option_names": ["-h", "--help"]}
_BUNDLE = click.argument("bundle", type=click.Path(exists=True, file_okay=False, path_type=Path))
_PATHS = click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True, path_type=Path))
_KEY = click.option(
    "--key", required=True, type=click.Path(path_type=Path), help="your SSH key; a public one goes through ssh-agent"
)
_PRINCIPAL = click.option("--principal", required=True, metavar="WHO", help="who signs, as in the keyring: who@example.org")


def _text(_: click.Context, parameter: click.Parameter, value: str) -> str:
    if not value.strip() or len(value) > 4000:
        raise click.BadParameter("write between 1 and 4000 characters", param=parameter)
    return value


@click.command(context_settings=_HELP)
@_BUNDLE
@_KEY
@_PRINCIPAL
@click.option(
    "--verdict", type=click.Choice(["accept", "reject"]), default="accept", show_default=True, help="What you say of it."
)
@click.option("--comment", default="", help="Your remarks, for the readers.")
def review(bundle: Path, key: Path, principal: str, verdict: str, comment: str) -> None:
    """Judge BUNDLE and sign what was found, as a reviewer of another center than its own.

    The review is two files in the bundle's signatures/: commit them. What fails can only be rejected.
    """
    path = _stated(lambda: statements.review(bundle, key, principal, verdict, comment[:4000]))
    click.echo(f"reviewed ({verdict}): {path}")


@click.command(context_settings=_HELP)
@_BUNDLE
@_KEY
@_PRINCIPAL
@click.option("--reason", required=True, callback=_text, help="Why it no longer stands, for the readers.")
def withdraw(bundle: Path, key: Path, principal: str, reason: str) -> None:
    """Sign that BUNDLE no longer stands. It stays in sight, and is never compared again.

    Who may is the bundle's own center, and whom the keyring lets withdraw but not submit. A withdrawal is for good.
    """
    path = _stated(lambda: statements.withdraw(bundle, key, principal, reason))
    click.echo(f"withdrawn: {path}")


@click.command(context_settings=_HELP)
@click.argument("rule")
@_PATHS
@_KEY
@_PRINCIPAL
@click.option("--reason", required=True, callback=_text, help="Why the rule is not held against them, for the readers.")
@click.option("--expires", type=click.DateTime(["%Y-%m-%d"]), help="The first day on which it no longer counts.")
def waive(rule: str, paths: tuple[Path, ...], key: Path, principal: str, reason: str, expires: Any) -> None:
    """Sign that RULE is not held against the bundles PATH..., or against all bundles below one directory.

    Who may is whom the keyring gives the namespace waiver@wattmark, and who is of another center than the bundles. Rules on
    form and integrity (S, I) cannot be waived. What is waived is still shown.
    """
    known = rules_by_id()
    if rule not in known or known[rule].on_form:
        why = "rules on form and integrity cannot be waived" if rule in known else "there is no such rule; see bench-check rules"
        raise click.BadParameter(f"{rule}: {why}", param_hint="RULE")
    until = expires.strftime("%Y-%m-%d") if expires else ""
    if until and until <= now()[:10]:
        raise click.BadParameter(f"{until} is not in the future", param_hint="--expires")
    click.echo(f"waived: {_stated(lambda: statements.waive(rule, paths, key, principal, reason, until))}")


@click.command(context_settings=_HELP)
@_PATHS
def accept(paths: tuple[Path, ...]) -> None:
    """Write into submissions/LOG each bundle at or below PATH... that passes, and each that was withdrawn since.

    All submissions are judged, since some rules look across them. Exits with 1 where something at or below PATH... is refused.
    """
    written, refused = _stated(lambda: statements.accept(paths))
    for line in (*written, *refused):
        click.echo(line)
    click.echo(f"{len(written)} written to the LOG, {len(refused)} refused")
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

    That is: files against manifests, and manifests, reviews, withdrawals and waivers against signatures, the keyring and the
    LOG, whose head is printed: compare it with the one that was published. Exits with 1 where anything is wrong.
    """
    judged = _stated(lambda: judge_all(paths, keyring, evidence=False))
    for line in _verified(judged):
        click.echo(line)
    sys.exit(_FAILED if any(v.status == "fail" for v in judged.verdicts) else 0)


def _verified(judged: Round) -> Iterator[str]:
    own = [v for v in judged.verdicts if v.standing != "published"]
    for verdict in own:
        bad = verdict.status == "fail"
        word = click.style("bad", fg="red", bold=True) if bad else click.style("good", fg="green", bold=True)
        yield f"{printable(str(verdict.path))}: {word}{printable(''.join(f', {said}' for said in _said(verdict)))}"
        for f in verdict.findings:
            yield printable(f"  {f.severity} {f.rule} {f.file} {f.pointer}: {f.found}; expected {f.expected}. {f.message}")
    for submissions in judged.submissions:
        log = acceptance.read_log(submissions)
        if log.lines:
            yield f"{printable(str(submissions / ACCEPTANCE_FILE))}: {log.lines} lines, head {log.head}"
    bad_ones = sum(v.status == "fail" for v in own)
    yield f"{len(own)} verified: {len(own) - bad_ones} good, {bad_ones} bad; the evidence was not judged"


def _said(verdict: Verdict) -> Iterator[str]:
    if verdict.standing in BESIDE:
        return
    yield f"signed by {verdict.signer}" if verdict.signer else "no good signature"
    yield from (f"reviewed by {who}" for who in verdict.reviewers)
    if verdict.accepted:
        yield f"accepted under rule book {verdict.accepted}"
    if verdict.withdrawn:
        yield f"withdrawn: {verdict.withdrawn}"


def _stated(state: Callable[[], _T]) -> _T:
    """What `state` returns; what kept it from that is printed, and the command ends."""
    try:
        return state()
    except CheckerError as error:
        click.echo(f"bench-check: {error}", err=True)
        sys.exit(_INTERNAL)
    except (statements.StatementError, SigningError, OSError) as error:
        raise click.ClickException(_printable_lines(str(error))) from None


def _printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
