"""For a workflow of GitHub Actions: commands that become annotations of the files of a pull
request."""

from collections.abc import Iterator

from checker.selection import Shown, place, printable, relative, summary
from checker.verdict import Verdict
from rules.finding import Finding, Severity
from rules.registry import rules_by_id

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(what: Shown) -> str:
    """A command for each finding, and the line that sums up."""
    lines = [
        _of_finding(what, verdict, finding)
        for verdict in what.verdicts
        for finding in verdict.findings
    ]
    lines += _of_all(what)
    return "\n".join([*lines, printable(summary(what))])


def _of_finding(what: Shown, verdict: Verdict, finding: Finding) -> str:
    counts = finding.severity != Severity.ERROR or what.fails(verdict, finding)
    aside = (
        f"waived by {finding.waived}: "
        if finding.waived
        else "known: "
        if what.is_known(verdict, finding)
        else ""
    )
    aside = f"withdrawn: {aside}" if verdict.withdrawn and not verdict.fails_by(finding) else aside
    path = place(verdict, finding)
    at = f" at {finding.pointer}" if finding.pointer else ""
    said = f"{aside}found{at}: {finding.found}; expected: {finding.expected}. {finding.message}"
    rule = rules_by_id().get(finding.rule)
    title = f"{finding.rule} {rule.name}" if rule else finding.rule
    return _command(
        _COMMANDS[finding.severity] if counts else "notice", relative(path) or path, title, said
    )


def _of_all(what: Shown) -> Iterator[str]:
    if what.skipped:
        hidden = ", ".join(map(str, what.skipped))
        yield _command(
            "notice", "", "bench-check", f"not judged, because hidden (unfinished runs): {hidden}"
        )
    for line in what.gone:
        yield _command("notice", "", "bench-check", f"in the baseline, but no longer found: {line}")
    if what.partial:
        yield _command(
            "warning",
            "",
            "bench-check",
            f"partial: {', '.join(what.partial)}; no judgement by the rule book",
        )


def _command(name: str, file: str, title: str, message: str) -> str:
    where = f"file={_property(file)}," if file else ""
    return f"::{name} {where}title={_property(title)}::{_escaped(message)}"


def _escaped(text: str) -> str:
    """`text` as the data of a command. What would end the line is escaped as everywhere, before."""
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    """`text` as the value of a property, which a comma or a colon would end."""
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
