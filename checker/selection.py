"""Select the findings that the user wants to see, and mark those that a baseline knows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import click

from checker.baseline import BaselineLine, bundle_key, compute_fingerprint, read_baseline
from checker.commands import find_rule
from checker.listing import Listing, list_verdicts
from checker.verdict import INTERNAL, Round, Verdict
from rules.finding import Finding
from rules.registry import rules_by_id
from rules.rule import FAMILIES

PARTIAL = "partial"
"""The status of a bundle without errors in a check by a part of the rule book: never `pass`."""


@dataclass(frozen=True)
class Selection:
    """What the options `--select`, `--ignore`, `--baseline` and `--local` select."""

    rules: frozenset[str]
    """Ids."""
    baseline: tuple[BaselineLine, ...]
    options: tuple[str, ...]
    """The options as the user gave them."""


@dataclass(frozen=True)
class RoundView:
    """The part of a round that is shown."""

    verdicts: tuple[Verdict, ...]
    skipped: tuple[Path, ...] = ()
    """Hidden directories, not judged."""
    selected: frozenset[str] = frozenset()
    """The ids of the rules whose findings are shown."""
    partial: tuple[str, ...] = ()
    """The options that reduce this to less than a judgement by the whole rule book; empty for a
    whole judgement."""
    known: frozenset[str] = frozenset()
    """Fingerprints of the findings in the baseline."""
    gone: tuple[str, ...] = ()
    """Lines of the baseline whose findings no longer exist in the judged bundles."""
    unfixed: int = 0
    """How many bundles `--fix` could not fix, although they need it."""
    is_quiet: bool = False
    """Whether text lists no bundles."""

    @cached_property
    def listing(self) -> Listing:
        """What an output lists of the verdicts. Counts and statuses are of all of them."""
        return list_verdicts(
            self.verdicts, lambda verdict: any(self.fails(verdict, f) for f in verdict.findings)
        )

    def is_known(self, verdict: Verdict, finding: Finding) -> bool:
        """Whether the baseline contains `finding`. A failure of the checker itself never counts as
        known."""
        return (
            finding.rule != INTERNAL
            and bool(self.known)
            and compute_fingerprint(verdict, finding) in self.known
        )

    def fails(self, verdict: Verdict, finding: Finding) -> bool:
        """Whether `finding` is an error that counts: no waiver, withdrawal or baseline lifts it."""
        return verdict.fails_by(finding) and not self.is_known(verdict, finding)

    def status(self, verdict: Verdict) -> str:
        """`withdrawn`, `fail`, `pass`, or `partial` if nothing fails in a part of the rule book."""
        # Before `withdrawn`: a withdrawal does not lift errors of form and integrity.
        if any(self.fails(verdict, f) for f in verdict.findings):
            return "fail"
        if verdict.withdrawn:
            return "withdrawn"
        return PARTIAL if self.partial else "pass"

    @property
    def broken(self) -> bool:
        """Whether the checker itself failed on a bundle."""
        return any(f.rule == INTERNAL for v in self.verdicts for f in v.findings)


def parse_selection(
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    baseline: Path | None = None,
    local: bool = False,
) -> Selection:
    """Parse the values of `--select`, `--ignore`, `--baseline` and `--local`. Raises
    click.BadParameter."""
    selected = _parse_rules("--select", select) if select else set(rules_by_id())
    options = [f"--select {','.join(select)}"] if select else []
    options += [f"--ignore {','.join(ignore)}"] if ignore else []
    options += [f"--baseline {baseline}"] if baseline else []
    options += ["--local"] if local else []
    return Selection(
        rules=frozenset(selected - _parse_rules("--ignore", ignore)),
        baseline=read_baseline(baseline) if baseline else (),
        options=tuple(options),
    )


def refuse_keyring(keyring: Path | None, local: bool) -> None:
    """Raise click.UsageError for a keyring that `--local` would not read."""
    if local and keyring is not None:
        raise click.UsageError("--local reads no keyring; leave out --keyring")


def select_findings(judged: Round, selection: Selection) -> RoundView:
    """The part of `judged` to show: the findings of the selected rules, and every failure of the
    checker itself."""
    # Whatever is selected: a bundle on which the checker failed is not known to be good.
    shown_rules = selection.rules | {INTERNAL}
    verdicts = tuple(
        replace(v, findings=tuple(f for f in v.findings if f.rule in shown_rules))
        for v in judged.verdicts
    )
    view = RoundView(verdicts, judged.skipped, shown_rules, selection.options)
    if not selection.baseline:
        return view
    fingerprints = {compute_fingerprint(v, f) for v in verdicts for f in v.findings}
    bundles = {bundle_key(v.path) for v in verdicts}
    gone = tuple(
        line.text
        for line in selection.baseline
        if line.fingerprint not in fingerprints
        # A line of a rule that was not selected, or of a bundle that was not judged, is not gone.
        and line.rule in shown_rules
        and line.bundle in bundles
    )
    known = frozenset(line.fingerprint for line in selection.baseline)
    return replace(view, known=known, gone=gone)


def _parse_rules(option: str, values: Iterable[str]) -> set[str]:
    """The ids of the rules that the values of an option name: ids, names of rules or letters of
    families, separated by commas."""
    ids: set[str] = set()
    for name in (part.strip() for value in values for part in value.split(",")):
        if name.upper() in FAMILIES:
            ids |= {rule for rule in rules_by_id() if rule[0] == name.upper()}
        else:
            ids.add(find_rule(name, option).id)
    return ids
