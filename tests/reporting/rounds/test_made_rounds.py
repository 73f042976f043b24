"""Two made rounds with one setting of each kind of change, as model, page and files."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import Submissions, make_key
from support.report.altered_runs import make_altered_run
from support.report.html import Element, Line, Tree, read_lines
from support.rounds.trust import run_command

from reporting.cli import main

REASON = "The clocks <b>were</b> locked."


@dataclass(frozen=True)
class ComparedRounds:
    """The rounds, and the page and files that compare them."""

    earlier: Path
    later: Path
    page: Path
    tables: Path


def _copy_run(bundle: Path, later: Path) -> Path:
    return Path(shutil.copytree(bundle, later.joinpath(*bundle.parts[-3:])))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory, signing_key: Path) -> ComparedRounds:
    directory = tmp_path_factory.mktemp("rounds")
    earlier, later = (
        Submissions(directory / name / "submissions", signing_key)
        for name in ("<b>earlier", "later")
    )
    chair = make_key(directory / "chair")
    for submissions in (earlier, later):
        submissions.allow(signing_key)
        submissions.allow(chair, "chair@round.example", 'namespaces="withdrawal@wattmark"')

    def add(submissions: Submissions, system: str, run: int, power: float = 1.0) -> Path:
        evidence = make_altered_run(rate=0.9, power=power, name=f"system {system}")
        return submissions.add(
            evidence, f"20260101T00000{run}Z-resnet50-train-tuned-{system}", system
        )

    add(earlier, "better", 1)
    add(later, "better", 2, power=0.95)
    add(earlier, "worse", 1, power=0.95)
    add(later, "worse", 2)
    add(earlier, "gone", 1)
    add(later, "new", 1)
    _copy_run(add(earlier, "same", 1), later.root)
    withdrawn = _copy_run(add(earlier, "withdrawn", 1), later.root)
    signer = ("--key", chair, "--principal", "chair@round.example")
    withdrawal = run_command("withdraw", withdrawn, *signer, "--reason", REASON)
    assert withdrawal.exit_code == 0, withdrawal.output
    failed = _copy_run(add(earlier, "failed", 1), later.root)
    (failed / "log.txt.gz").write_bytes(b"other")
    page, tables = directory / "report.html", directory / "tables"
    options = ["--since", str(earlier.root), "-o", str(page), "--tables", str(tables)]
    result = CliRunner().invoke(main, [str(later.root), *options])
    assert result.exit_code == 1, result.output
    assert "4 passed, 1 failed, 1 withdrawn" in result.output
    return ComparedRounds(earlier.root, later.root, page, tables)


@pytest.fixture(scope="module")
def page(compared: ComparedRounds) -> Element:
    return Tree(compared.page.read_text(encoding="utf-8")).open[0]


@pytest.fixture(scope="module")
def changes(page: Element) -> dict[str, Line]:
    """The rows of the table by the name of the system."""
    return {line.text("line").split()[1]: line for line in read_lines(page, "changes")}


def test_each_setting_has_its_change(changes: dict[str, Line]) -> None:
    names = ("better", "worse", "new", "withdrawn", "failed", "gone")
    assert {system: line.text("change") for system, line in changes.items()} == {
        name: name for name in names
    }


def test_differences_count_by_figure(changes: dict[str, Line]) -> None:
    for system, joules_percent, difference in (
        ("better", -5.0, "lower"),
        ("worse", 5.26, "higher"),
    ):
        line = changes[system]
        assert line["joules_percent"] == pytest.approx(joules_percent, abs=0.3)
        assert line["joules_percent_low"] < line["joules_percent"] < line["joules_percent_high"]
        assert line.text("joules_told") == difference
        assert line.text("rate_told") == "not told apart"
        assert line["rate_before"] and line["rate_now"]
    assert changes["new"]["joules_before"] is None and changes["gone"]["joules_now"] is None


def test_lost_results_have_their_reason(changes: dict[str, Line]) -> None:
    assert changes["withdrawn"].text("reason").startswith("withdrawn by chair@round.example, 20")
    # A withdrawal is text of a stranger.
    assert changes["withdrawn"].text("reason").endswith(REASON)
    assert changes["failed"].text("reason").startswith("failed the check: I101, found")
    assert changes["gone"].text("reason") == "not among the bundles"


def test_rows_link_to_bundles_of_the_later_round(changes: dict[str, Line]) -> None:
    links = {
        system: [a.attributes["href"] for a in line.cells["evidence"].find("a")]
        for system, line in changes.items()
    }
    run = "20260101T000001Z-resnet50-train-tuned"
    for system in ("withdrawn", "failed"):
        assert links[system] == [f"later/submissions/example/{system}/{run}-{system}"]
    assert not links["gone"]
    for system in ("better", "worse", "new"):
        assert len(links[system]) == 1 and links[system][0].startswith("#e")


def test_sentence_counts_the_changes(page: Element, compared: ComparedRounds) -> None:
    (section,) = page.find("section", id="round-changes")
    (heading,) = section.find("h2")
    assert heading.text == f"Changes since {compared.earlier.name}"
    assert (
        "Of 7 settings: 1 better, 1 worse, 1 new, 1 withdrawn, 1 failed, 1 gone, 1 unchanged. "
        "Largest change: energy per item of ResNet-50 training on system worse"
    ) in section.text
    assert any(a.attributes["href"] == "#round-changes" for a in page.find("a"))


def test_no_path_of_the_earlier_round_is_on_the_page_or_in_its_files(
    compared: ComparedRounds,
) -> None:
    place = str(compared.earlier.parent)
    for file in (compared.page, *compared.tables.iterdir()):
        assert place not in file.read_text(encoding="utf-8"), file.name


def test_changes_are_counted_by_system_and_workload(page: Element) -> None:
    lines = {line.text("system").split()[1]: line for line in read_lines(page, "change-counts")}
    assert len(lines) == 7
    for system, line in lines.items():
        change = "unchanged" if system == "same" else system
        assert line.text("workload") == "resnet50-train"
        assert {key: count for key, count in line.values.items() if count == 1} == {change: 1}


def test_files_have_the_changes(compared: ComparedRounds) -> None:
    document = json.loads((compared.tables / "report.json").read_text(encoding="utf-8"))
    assert document["since"] == {
        "name": compared.earlier.name,
        "settings": dict.fromkeys(
            ("better", "worse", "new", "withdrawn", "failed", "gone", "unchanged"), 1
        ),
    }
    (table,) = (table for table in document["tables"] if table["id"] == "changes")
    assert len(table["rows"]) == 6
    csv, markdown, latex = (
        (compared.tables / f"changes.{suffix}").read_text(encoding="utf-8")
        for suffix in ("csv", "md", "tex")
    )
    assert "withdrawn by chair" in csv and "withdrawn by chair" in markdown
    # The reason has no room on paper.
    assert "& withdrawn & " in latex
