"""For CI servers: the XML that JUnit's runners write, a test suite for each bundle and a test case
for each rule."""

from collections import defaultdict
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from checker.selection import PARTIAL, Shown, printable
from checker.verdict import INTERNAL, Verdict
from rules.finding import Finding
from rules.registry import rules_by_id
from rules.rule import FAMILIES, STANDINGS, FormRule, RoundRule, Rule


def render(what: Shown) -> str:
    """A failure is an error that counts, a skipped case a rule that was not asked or is waived or
    known.

    A partial check is an error of its own: a server that counts failures alone would call it clean.
    """
    root = ET.Element("testsuites", name="bench-check")
    if what.partial:
        root.append(_partial(what))
    for verdict in what.verdicts:
        root.append(_suite(what, verdict))
    for kind in ("tests", "failures", "errors", "skipped"):
        root.set(kind, str(sum(int(suite.get(kind, 0)) for suite in root)))
    ET.indent(root, " ")
    text: bytes = ET.tostring(root, encoding="us-ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text.decode()}'


def _partial(what: Shown) -> ET.Element:
    suite = ET.Element(
        "testsuite", name="bench-check", tests="1", failures="0", errors="1", skipped="0"
    )
    ET.SubElement(suite, "properties")
    case = ET.SubElement(
        suite, "testcase", classname="bench-check", name="the whole rule book was asked"
    )
    told = printable(f"partial: {', '.join(what.partial)}; no judgement by the rule book")
    ET.SubElement(case, "error", message=told, type=PARTIAL)
    return suite


def _suite(what: Shown, verdict: Verdict) -> ET.Element:
    suite = ET.Element("testsuite", name=printable(str(verdict.path)))
    facts = {
        "status": what.status(verdict),
        "standing": verdict.standing or "unknown",
        "signer": verdict.signer or "",
        "withdrawn": verdict.withdrawn,
        "partial": ", ".join(what.partial),
    }
    properties = ET.SubElement(suite, "properties")
    for name, value in facts.items():
        if value:
            ET.SubElement(properties, "property", name=name, value=printable(value))
    suite.extend(_cases(what, verdict))
    suite.set("tests", str(len(suite.findall("testcase"))))
    for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(kind, str(len(suite.findall(f"testcase/{tag}"))))
    return suite


def _cases(what: Shown, verdict: Verdict) -> Iterator[ET.Element]:
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in verdict.findings:
        found[finding.rule].append(finding)
    name = printable(str(verdict.path))
    for rule in rules_by_id().values():
        case = ET.Element("testcase", classname=name, name=f"{rule.id} {rule.name}")
        if own := found.get(rule.id):
            _tell(what, verdict, case, own)
        elif why := _not_asked(what, verdict, rule):
            ET.SubElement(case, "skipped", message=why)
        yield case
    for finding in found[INTERNAL]:
        case = ET.Element("testcase", classname=name, name=INTERNAL)
        ET.SubElement(
            case, "error", message=printable(finding.message), type=INTERNAL
        ).text = printable(finding.found)
        yield case


def _tell(what: Shown, verdict: Verdict, case: ET.Element, found: list[Finding]) -> None:
    text = "\n".join(_line(what, verdict, finding) for finding in found)
    failing = [f for f in found if what.fails(verdict, f)]
    lifted = [f for f in found if f.waived or what.is_known(verdict, f)]
    if failing:
        kind = f"{FAMILIES[failing[0].rule[0]]}: {failing[0].severity}"
        ET.SubElement(case, "failure", message=printable(failing[0].message), type=kind).text = text
    elif len(lifted) == len(found) or verdict.withdrawn:
        ET.SubElement(case, "skipped", message=text)
    else:
        ET.SubElement(case, "system-out").text = text


def _line(what: Shown, verdict: Verdict, finding: Finding) -> str:
    at = " ".join(filter(None, (finding.file, finding.pointer)))
    aside = (
        f"waived by {finding.waived}: "
        if finding.waived
        else "known: "
        if what.is_known(verdict, finding)
        else ""
    )
    aside = (
        f"withdrawn ({verdict.withdrawn}): {aside}"
        if verdict.withdrawn and not verdict.fails_by(finding)
        else aside
    )
    return printable(
        f"{aside}{finding.severity} {at}: found: {finding.found}; expected: "
        f"{finding.expected}. {finding.message}"
    )


def _not_asked(what: Shown, verdict: Verdict, rule: Rule) -> str:
    """Why a rule without findings was not asked of the bundle; empty where it was."""
    if rule.id not in what.asked:
        return f"not asked: {', '.join(map(printable, what.partial))}"
    if isinstance(rule, FormRule):
        return ""
    if verdict.rules_not_run or verdict.standing is None:
        return "not asked: the evidence cannot be read"
    if verdict.standing not in rule.standings:
        return f"not asked: for {', '.join(s for s in STANDINGS if s in rule.standings)} only"
    if isinstance(rule, RoundRule) and what.status(verdict) == "fail":
        return "not asked: the bundle fails"
    return ""
