"""What the formats show: the verdicts, less what was not asked for, with the findings that are
known already."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from checker.commands import find_rule
from checker.output import OutputError, refuse_output, write_output
from checker.verdict import BESIDE, INTERNAL, Round, Verdict
from rules.finding import Finding, Severity
from rules.registry import rules_by_id
from rules.rule import FAMILIES

PARTIAL = "partial"
"""The status of a bundle without errors in a check that was not of the whole rule book: never
`pass`."""
BASELINE_HEADER = (
    "# Findings that are known: what bench-check --baseline shows and does not fail. For "
    "developing a submission; a reviewer",
    "# asks for none. A line: rule, bundle, file, place and fingerprint, with tabs "
    "between. Written by --write-baseline.",
)


@dataclass(frozen=True)
class Shown:
    """What is shown of a round."""

    verdicts: tuple[Verdict, ...]
    skipped: tuple[Path, ...] = ()
    """Hidden directories, not judged."""
    asked: frozenset[str] = frozenset()
    """The ids of the rules whose findings are shown."""
    partial: tuple[str, ...] = ()
    """The options that make this less than a judgement by the whole rule book; empty where it is
    one."""
    known: frozenset[str] = frozenset()
    """Fingerprints of the findings of the baseline."""
    gone: tuple[str, ...] = ()
    """Lines of the baseline that were not found again in the bundles judged."""
    unfixed: int = 0
    """How many bundles `--fix` had to leave as they are, though there was something to fix."""

    def is_known(self, verdict: Verdict, finding: Finding) -> bool:
        """Whether the baseline has `finding`. What the checker itself failed in is never known."""
        return (
            finding.rule != INTERNAL
            and bool(self.known)
            and fingerprint(verdict, finding) in self.known
        )

    def fails(self, verdict: Verdict, finding: Finding) -> bool:
        """Whether `finding` is an error that counts: lifted by no waiver, withdrawal or
        baseline."""
        return verdict.fails_by(finding) and not self.is_known(verdict, finding)

    def status(self, verdict: Verdict) -> str:
        """`withdrawn`, `fail`, `pass`, or `partial` where nothing fails but not all was asked."""
        if any(self.fails(verdict, f) for f in verdict.findings):
            return "fail"
        if verdict.withdrawn:
            return "withdrawn"
        return PARTIAL if self.partial else "pass"

    @property
    def broken(self) -> bool:
        """Whether the checker itself failed somewhere."""
        return any(f.rule == INTERNAL for v in self.verdicts for f in v.findings)


@dataclass(frozen=True)
class Asked:
    """What was asked for on the command line: the ids of rules, the lines of a baseline, and the
    options that say so."""

    rules: frozenset[str]
    baseline: tuple[tuple[str, ...], ...]
    options: tuple[str, ...]


def asked(
    select: Sequence[str] = (), ignore: Sequence[str] = (), baseline: Path | None = None
) -> Asked:
    """What `--select`, `--ignore` and `--baseline` ask for. Raises click.BadParameter."""
    wanted = _rules_named("--select", select) if select else set(rules_by_id())
    given = [f"--select {','.join(select)}"] if select else []
    given += [f"--ignore {','.join(ignore)}"] if ignore else []
    given += [f"--baseline {baseline}"] if baseline else []
    known = read_baseline(baseline) if baseline else ()
    return Asked(frozenset(wanted - _rules_named("--ignore", ignore)), known, tuple(given))


def shown(judged: Round, by: Asked) -> Shown:
    """What to show of `judged`: the findings of the rules asked for, and of the checker itself
    where it failed."""
    wanted = by.rules | {INTERNAL}
    verdicts = tuple(
        replace(v, findings=tuple(f for f in v.findings if f.rule in wanted))
        for v in judged.verdicts
    )
    if not by.baseline:
        return Shown(verdicts, judged.skipped, wanted, by.options)
    found = {fingerprint(v, f) for v in verdicts for f in v.findings}
    keys = {key(v.path) for v in verdicts}
    gone = (
        line
        for line in by.baseline
        if line[-1] not in found and line[0] in wanted and line[1] in keys
    )
    known = frozenset(line[-1] for line in by.baseline)
    return Shown(verdicts, judged.skipped, wanted, by.options, known, tuple(map(" ".join, gone)))


def _rules_named(option: str, names: Iterable[str]) -> set[str]:
    """The ids that the values of an option mean: ids, names of rules or letters of families, with
    commas between."""
    found: set[str] = set()
    for name in (part.strip() for given in names for part in given.split(",")):
        if name.upper() in FAMILIES:
            found |= {rule for rule in rules_by_id() if rule[0] == name.upper()}
        else:
            found.add(find_rule(name, option).id)
    return found


def key(path: Path) -> str:
    """The name of a bundle wherever its submissions lie and from wherever they are checked:
    CENTER/SYSTEM/RUN."""
    return printable("/".join(Path(os.path.normpath(path.absolute())).parts[-3:]))


def fingerprint(verdict: Verdict, finding: Finding) -> str:
    """16 hexadecimal digits that say the same of the same finding: its rule, bundle, file, place
    and what was found.

    Neither the order of findings changes it nor from where the bundle is checked, nor a new wording
    of a rule's advice.
    """
    parts = (finding.rule, key(verdict.path), finding.file, finding.pointer, finding.found)
    return hashlib.sha256("\0".join(map(printable, parts)).encode()).hexdigest()[:16]


def refuse_baseline(path: Path) -> None:
    """Raises click.BadParameter where a baseline may not be written to `path`."""
    try:
        refuse_output(path, BASELINE_HEADER[0])
    except OutputError as error:
        raise click.BadParameter(str(error), param_hint="--write-baseline") from None


def write_baseline(path: Path, what: Shown) -> None:
    """Write a baseline that knows all findings of `what`, sorted, one a line. Raises
    click.BadParameter where it cannot."""
    lines = {
        (
            key(v.path),
            f.rule,
            printable(f.file) or "-",
            printable(f.pointer) or "-",
            fingerprint(v, f),
        )
        for v in what.verdicts
        for f in v.findings
        if f.rule != INTERNAL
    }
    rows = ("\t".join((rule, bundle, *rest)) for bundle, rule, *rest in sorted(lines))
    try:
        write_output(
            path, "".join(f"{line}\n" for line in (*BASELINE_HEADER, *rows)), BASELINE_HEADER[0]
        )
    except OutputError as error:
        raise click.BadParameter(str(error), param_hint="--write-baseline") from None


def read_baseline(path: Path) -> tuple[tuple[str, ...], ...]:
    """The lines of a baseline: rule, bundle, file, place and fingerprint. Raises click.BadParameter
    where it is not one."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(
            f"{path}: cannot be read: {error}", param_hint="--baseline"
        ) from None
    lines: list[tuple[str, ...]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.startswith("#"):
            cells = tuple(line.split("\t"))
            if len(cells) != 5:
                message = (
                    f"{path}: line {number} is not one of a baseline; write it with "
                    "--write-baseline"
                )
                raise click.BadParameter(message, param_hint="--baseline")
            lines.append(cells)
    return tuple(lines)


def withdrawal(verdict: Verdict) -> str:
    """That, why, by whom and when a bundle was withdrawn."""
    return f"withdrawn by {verdict.withdrawn_by}, {verdict.withdrawn_at}: {verdict.withdrawn}"


def place(verdict: Verdict, finding: Finding) -> str:
    """Where the finding is: the path of the file, as the paths to check were given."""
    apart = verdict.path.is_dir() and finding.file != verdict.path.name
    return str(verdict.path / finding.file if apart else verdict.path)


def printable(text: str) -> str:
    """`text` without anything that could steer a terminal or is no text: names and values come from
    strangers."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode-escape").decode() for c in text)


def printable_strings(value: Any) -> Any:
    """`value`, of JSON's types, with `printable` strings."""
    match value:
        case str():
            return printable(value)
        case list() | tuple():
            return [printable_strings(v) for v in value]
        case dict():
            return {k: printable_strings(v) for k, v in value.items()}
    return value


def summary(what: Shown) -> str:
    """One line that sums up: how many bundles have which status, and how many findings there
    are."""
    bundles = [v for v in what.verdicts if v.standing not in BESIDE]
    status = [what.status(v) for v in bundles]
    apart = sum(what.status(v) == "fail" for v in what.verdicts if v.standing in BESIDE)
    counted = f"{len(bundles)} judged"
    if what.partial:
        counted += (
            f" in part ({', '.join(what.partial)}): {status.count(PARTIAL)} without errors in "
            "that part"
        )
    else:
        counted += f": {status.count('pass')} pass"
    counted += f", {status.count('fail')} fail"
    counted += f", {n} withdrawn" if (n := status.count("withdrawn")) else ""
    counted += f", {apart} fail beside them (the LOG, a waiver or the keyring)" if apart else ""
    counted += f", {what.unfixed} not fixed" if what.unfixed else ""
    return f"{counted}; {', '.join(_counts(what))}"


def _counts(what: Shown) -> Iterator[str]:
    counted: Counter[str] = Counter()
    for v in what.verdicts:
        counted.update(
            "known" if what.is_known(v, f) else "waived" if f.waived else f.severity
            for f in v.findings
        )
    yield from (f"{counted[s]} {s}{'' if counted[s] == 1 else 's'}" for s in Severity)
    if counted["waived"]:
        yield f"{counted['waived']} waived"
    if counted["known"] or what.gone:
        yield f"{counted['known']} known" + (
            f" and {len(what.gone)} no longer found" if what.gone else ""
        )


def relative(path: str) -> str | None:
    """`path` as it is called from the working directory, with slashes; None where it does not lie
    below it."""
    from_here = Path(os.path.relpath(path))
    return None if os.pardir in from_here.parts[:1] else from_here.as_posix()
