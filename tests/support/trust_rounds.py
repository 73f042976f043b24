"""A round for tests of trust: evidence that fails, a second run, options of the keyring, and the
commands of `bench-check` called with the keys of a reviewer and a chair."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import PRINCIPAL, Submissions, fresh_evidence, make_key
from support.bundles import another_run, rederive

from checker.trust import cli as trust_cli
from checker.verdict import Verdict
from rules.finding import Severity
from rules.registry import rules_by_id
from rules.testing.case import cases_of
from rules.testing.frames import EvidenceFrames


def late_sampling(evidence: EvidenceFrames) -> EvidenceFrames:
    """EvidenceFrames that one rule refuses, P104: every second sample is late."""
    late = next(m for m in cases_of(rules_by_id()["P104"]) if m.name == "every_second_sample_late")
    late.apply(evidence)
    rederive(evidence)
    return evidence


def second_run() -> EvidenceFrames:
    """The evidence of another run of the same work."""
    evidence = another_run(fresh_evidence())
    rederive(evidence)
    return evidence


def rules_of(verdict: Verdict) -> set[str]:
    """The ids of all findings."""
    return {f.rule for f in verdict.findings}


def errors_of(verdict: Verdict) -> set[str]:
    """The ids of the findings that are errors, waived or not."""
    return {f.rule for f in verdict.findings if f.severity == Severity.ERROR}


def add_option(submissions: Submissions, option: str, principal: str = PRINCIPAL) -> None:
    """Put an option before the namespaces of a principal's lines in the keyring."""
    signers = submissions.keyring / "allowed_signers"
    text = signers.read_text()
    changed = text.replace(f"{principal} namespaces=", f"{principal} {option},namespaces=")
    assert changed != text
    signers.write_text(changed)


@dataclass(frozen=True)
class TrustRound:
    """Submissions with the keys of a reviewer of another center and of a chair."""

    tree: Submissions
    reviewer: Path
    chair: Path

    def review(
        self, bundle: Path, *more: str, who: str = "alice@elsewhere.org", key: Path | None = None
    ) -> Result:
        return run("review", bundle, "--key", key or self.reviewer, "--principal", who, *more)

    def withdraw(
        self, bundle: Path, who: str = "chair@round.example.org", key: Path | None = None
    ) -> Result:
        return run(
            "withdraw",
            bundle,
            "--key",
            key or self.chair,
            "--principal",
            who,
            "--reason",
            "The clocks were locked.",
        )

    def waive(
        self,
        rule: str,
        *paths: Path,
        more: tuple[str, ...] = (),
        who: str = "chair@round.example.org",
    ) -> Result:
        return run(
            "waive",
            rule,
            *paths,
            "--key",
            self.chair,
            "--principal",
            who,
            "--reason",
            "It is known.",
            *more,
        )


def run(command: str, *arguments: str | Path) -> Result:
    """Run a command of `bench-check` such as `review`. Its own exceptions fail the test."""
    done = CliRunner().invoke(getattr(trust_cli, command), [str(a) for a in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return done


@pytest.fixture
def a_round(submissions: Submissions, tmp_path: Path) -> TrustRound:
    """An empty round whose keyring has the reviewer and the chair."""
    made = TrustRound(submissions, make_key(tmp_path / "reviewer"), make_key(tmp_path / "chair"))
    submissions.allow(made.reviewer, "alice@elsewhere.org", 'namespaces="review@wattmark"')
    submissions.allow(
        made.chair, "chair@round.example.org", 'namespaces="withdrawal@wattmark,waiver@wattmark"'
    )
    return made
