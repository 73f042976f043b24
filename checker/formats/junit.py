"""For CI servers: XML in the form of JUnit, with a test suite for each bundle and a test case for
each rule."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from checker.formats.common import format_exemption, is_lifted_by_withdrawal
from checker.printable import printable
from checker.selection import PARTIAL, RoundView
from checker.verdict import INTERNAL, Verdict
from rules.finding import Finding
from rules.registry import rules_by_id
from rules.rule import (
    BUNDLE_STANDINGS,
    FAMILIES,
    OBSERVED_STANDING,
    STUDY_STANDING,
    AuditRule,
    ComparingRule,
    FormRule,
    ObservationRoundRule,
    ObservationRule,
    Rule,
    StudyRoundRule,
    StudyRule,
)


def render(view: RoundView) -> str:
    """A failed case is an error that counts. A skipped case is a rule that was not run, or whose
    findings are waived or known.

    A partial check adds an error of its own, since a server that counts failures only would
    otherwise report it as clean.
    """
    root = ET.Element("testsuites", name="bench-check")
    if view.partial:
        message = printable(
            f"partial: {', '.join(view.partial)}; this is no judgement by the whole rule book"
        )
        root.append(_build_error_suite("the whole rule book was run", message, PARTIAL))
    if rest := view.listing.describe_rest():
        root.append(_build_error_suite("every bundle is listed", rest, "unlisted"))
    for verdict in view.listing.verdicts:
        root.append(_build_suite(view, verdict))
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, 0)) for suite in root)))
    ET.indent(root, " ")
    # Characters beyond ASCII become references, so the encoding of the output does not matter.
    text: bytes = ET.tostring(root, encoding="us-ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text.decode()}'


def _build_error_suite(name: str, message: str, kind: str) -> ET.Element:
    """A suite with one case that failed, about the check as a whole."""
    suite = ET.Element(
        "testsuite", name="bench-check", tests="1", failures="0", errors="1", skipped="0"
    )
    ET.SubElement(suite, "properties")
    case = ET.SubElement(suite, "testcase", classname="bench-check", name=name)
    ET.SubElement(case, "error", message=message, type=kind)
    return suite


def _build_suite(view: RoundView, verdict: Verdict) -> ET.Element:
    suite = ET.Element("testsuite", name=printable(str(verdict.path)))
    facts = {
        "status": view.status(verdict),
        "standing": verdict.standing or "unknown",
        "signer": verdict.signer or "",
        "withdrawn": verdict.withdrawn,
        "partial": ", ".join(view.partial),
    }
    properties = ET.SubElement(suite, "properties")
    for name, value in facts.items():
        if value:
            ET.SubElement(properties, "property", name=name, value=printable(value))
    suite.extend(_build_cases(view, verdict))
    suite.set("tests", str(len(suite.findall("testcase"))))
    for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(len(suite.findall(f"testcase/{tag}"))))
    return suite


def _build_cases(view: RoundView, verdict: Verdict) -> Iterator[ET.Element]:
    findings: dict[str, list[Finding]] = defaultdict(list)
    for finding in verdict.findings:
        findings[finding.rule].append(finding)
    name = printable(str(verdict.path))
    # A case for each rule, also for those without findings: a server then shows which rules were
    # run.
    for rule in rules_by_id().values():
        if isinstance(rule, AuditRule):
            continue
        case = ET.Element("testcase", classname=name, name=f"{rule.id} {rule.name}")
        if rule.id in findings:
            _add_outcome(view, verdict, case, findings[rule.id])
        elif reason := _explain_not_run(view, verdict, rule):
            ET.SubElement(case, "skipped", message=reason)
        yield case
    for finding in findings[INTERNAL]:
        case = ET.Element("testcase", classname=name, name=INTERNAL)
        error = ET.SubElement(case, "error", message=printable(finding.message), type=INTERNAL)
        error.text = printable(finding.found)
        yield case


def _add_outcome(
    view: RoundView, verdict: Verdict, case: ET.Element, findings: Sequence[Finding]
) -> None:
    """Add the findings of one rule to its case: as a failure, as skipped if all of them are lifted,
    or else as output."""
    text = "\n".join(_format_finding(view, verdict, finding) for finding in findings)
    failing = [f for f in findings if view.fails(verdict, f)]
    all_lifted = all(f.waived or view.is_known(verdict, f) for f in findings)
    if failing:
        kind = f"{FAMILIES[failing[0].rule[0]]}: {failing[0].severity}"
        message = printable(failing[0].message)
        ET.SubElement(case, "failure", message=message, type=kind).text = text
    # The schema of JUnit has no state for a lifted failure. `skipped` is the closest.
    elif all_lifted or verdict.withdrawn:
        ET.SubElement(case, "skipped", message=text)
    else:
        ET.SubElement(case, "system-out").text = text


def _format_finding(view: RoundView, verdict: Verdict, finding: Finding) -> str:
    place = " ".join(filter(None, (finding.file, finding.pointer)))
    prefix = format_exemption(view, verdict, finding)
    if is_lifted_by_withdrawal(verdict, finding):
        prefix = f"withdrawn ({verdict.withdrawn}): {prefix}"
    return printable(
        f"{prefix}{finding.severity} {place}: found: {finding.found}; expected: "
        f"{finding.expected}. {finding.message}"
    )


def _name_kind(rule: Rule) -> str:
    """What a rule judges, in words."""
    if isinstance(rule, ObservationRule | ObservationRoundRule):
        return "observed jobs"
    return "studies" if isinstance(rule, StudyRule | StudyRoundRule) else "runs"


def _explain_not_run(view: RoundView, verdict: Verdict, rule: Rule) -> str:
    """Why a rule without findings was not run on the bundle; empty if it was."""
    if rule.id not in view.selected:
        return f"not run: {', '.join(map(printable, view.partial))}"
    if isinstance(rule, FormRule):
        return ""
    if verdict.rules_not_run or verdict.standing is None:
        return "not run: the evidence cannot be read"
    kinds = {STUDY_STANDING: "studies", OBSERVED_STANDING: "observed jobs"}
    if (kind := _name_kind(rule)) != kinds.get(verdict.standing, "runs"):
        return f"not run: for {kind} only"
    if (verdict.judged_standing or verdict.standing) not in rule.standings:
        return f"not run: for {', '.join(s for s in BUNDLE_STANDINGS if s in rule.standings)} only"
    if isinstance(rule, ComparingRule) and view.status(verdict) == "fail":
        return "not run: the bundle fails"
    return ""
