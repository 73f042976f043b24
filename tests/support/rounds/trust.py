"""A round for tests of trust: evidence that fails, a second run, options of the keyring, and the
commands of `bench-check` called with the keys of a reviewer and a chair."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import PRINCIPAL, Submissions, copy_evidence, make_key
from support.bundles import make_other_run, rederive

from checker.trust_commands import cli as trust_cli
from checker.verdict import Verdict
from rules.finding import Severity
from rules.registry import rules_by_id
from rules.testing.case import cases_of
from rules.testing.frames import EvidenceFrames


def delay_samples(evidence: EvidenceFrames) -> EvidenceFrames:
    """Delay every second sample, which the rule P104 reports. Returns the evidence."""
    mutation = next(
        m for m in cases_of(rules_by_id()["P104"]) if m.name == "every_second_sample_late"
    )
    mutation.apply(evidence)
    rederive(evidence)
    return evidence


def make_second_run() -> EvidenceFrames:
    """The evidence of another run of the same work."""
    evidence = make_other_run(copy_evidence())
    rederive(evidence)
    return evidence


def list_rules(verdict: Verdict) -> set[str]:
    """The ids of all findings."""
    return {f.rule for f in verdict.findings}


def list_errors(verdict: Verdict) -> set[str]:
    """The ids of the findings that are errors, waived or not."""
    return {f.rule for f in verdict.findings if f.severity == Severity.ERROR}


def add_option(submissions: Submissions, option: str, principal: str = PRINCIPAL) -> None:
    """Put an option before the namespaces of a principal's lines in the keyring."""
    signers = submissions.keyring / "allowed_signers"
    text = signers.read_text()
    edited = text.replace(f"{principal} namespaces=", f"{principal} {option},namespaces=")
    assert edited != text
    signers.write_text(edited)


@dataclass(frozen=True)
class TrustRound:
    """Submissions with the keys of a reviewer of another center and of a chair."""

    tree: Submissions
    reviewer: Path
    chair: Path

    def review(
        self,
        bundle: Path,
        *options: str,
        principal: str = "alice@elsewhere.org",
        key: Path | None = None,
    ) -> Result:
        signed = ("--key", key or self.reviewer, "--principal", principal)
        verdict = () if "--verdict" in options else ("--verdict", "accept")
        return run_command("review", bundle, *signed, *verdict, *options)

    def withdraw(
        self, bundle: Path, principal: str = "chair@round.example", key: Path | None = None
    ) -> Result:
        return run_command(
            "withdraw",
            bundle,
            "--key",
            key or self.chair,
            "--principal",
            principal,
            "--reason",
            "The clocks were locked.",
        )

    def waive(
        self,
        rule: str,
        *paths: Path,
        options: tuple[str, ...] = (),
        principal: str = "chair@round.example",
    ) -> Result:
        return run_command(
            "waive",
            rule,
            *paths,
            "--key",
            self.chair,
            "--principal",
            principal,
            "--reason",
            "It is known.",
            *options,
        )


def accept(*paths: Path) -> Result:
    """Accept the bundles at or below the paths, also without a review."""
    bundles = {manifest.parent for path in paths for manifest in path.rglob("MANIFEST.json")}
    reasons = [word for bundle in sorted(bundles) for word in ("--despite", bundle, "A test.")]
    return run_command("accept", *paths, *reasons)


def run_command(command: str, *arguments: str | Path) -> Result:
    """Run a command of `bench-check` such as `review`. Its own exceptions fail the test."""
    result = CliRunner().invoke(getattr(trust_cli, command), [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result


@pytest.fixture
def a_round(submissions: Submissions, tmp_path: Path) -> TrustRound:
    """An empty round whose keyring has the reviewer and the chair."""
    trust_round = TrustRound(
        submissions, make_key(tmp_path / "reviewer"), make_key(tmp_path / "chair")
    )
    submissions.allow(trust_round.reviewer, "alice@elsewhere.org", 'namespaces="review@wattmark"')
    submissions.allow(
        trust_round.chair,
        "chair@round.example",
        'namespaces="withdrawal@wattmark,waiver@wattmark"',
    )
    return trust_round
