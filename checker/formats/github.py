"""For a workflow of GitHub Actions: commands that GitHub shows as annotations in a pull request."""

from collections.abc import Iterator

from checker.formats.common import (
    format_exemption,
    format_file_path,
    format_skipped,
    format_summary,
    is_lifted_by_withdrawal,
    relative_to_cwd,
)
from checker.printable import printable
from checker.selection import RoundView
from checker.verdict import Verdict
from rules.finding import Finding, Severity
from rules.registry import rules_by_id

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(view: RoundView) -> str:
    """A command for each finding, and the summary line."""
    lines = [
        _format_finding(view, verdict, finding)
        for verdict in view.listing.verdicts
        for finding in verdict.findings
    ]
    lines += _format_remarks(view)
    return "\n".join([*lines, printable(format_summary(view))])


def _format_finding(view: RoundView, verdict: Verdict, finding: Finding) -> str:
    # An error that does not count is shown, but must not fail the workflow.
    counts = finding.severity != Severity.ERROR or view.fails(verdict, finding)
    prefix = format_exemption(view, verdict, finding)
    if is_lifted_by_withdrawal(verdict, finding):
        prefix = f"withdrawn: {prefix}"
    path = format_file_path(verdict, finding)
    place = f" at {finding.pointer}" if finding.pointer else ""
    text = f"{prefix}found{place}: {finding.found}; expected: {finding.expected}. {finding.message}"
    rule = rules_by_id().get(finding.rule)
    title = f"{finding.rule} {rule.name}" if rule else finding.rule
    command = _COMMANDS[finding.severity] if counts else "notice"
    return _format_command(command, relative_to_cwd(path) or path, title, text)


def _format_remarks(view: RoundView) -> Iterator[str]:
    """Commands that belong to no file."""
    if view.skipped:
        yield _format_command("notice", "", "bench-check", format_skipped(view.skipped))
    if rest := view.listing.describe_rest():
        yield _format_command("error", "", "bench-check", rest)
    for line in view.gone:
        yield _format_command(
            "notice", "", "bench-check", f"in the baseline, but no longer found: {line}"
        )
    if view.partial:
        yield _format_command(
            "warning",
            "",
            "bench-check",
            f"partial: {', '.join(view.partial)}; this is no judgement by the whole rule book",
        )


def _format_command(name: str, file: str, title: str, message: str) -> str:
    location = f"file={_escape_property(file)}," if file else ""
    return f"::{name} {location}title={_escape_property(title)}::{_escape(message)}"


def _escape(text: str) -> str:
    """`text` as the data of a command. `printable` has already escaped the ends of lines."""
    # GitHub decodes percent escapes in the data of a command.
    return printable(text).replace("%", "%25")


def _escape_property(text: str) -> str:
    """`text` as the value of a property, which a comma or a colon would end."""
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
