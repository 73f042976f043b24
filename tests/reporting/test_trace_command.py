"""`bench-report trace`: the figure of one run, and what it refuses."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from conftest import Submissions, copy_evidence
from support.bundles import make_other_run, rederive
from support.committed_runs import SUBMISSIONS
from support.report.report_runs import make_run_at_cap, on_one
from support.report.result_rows import make_run_row

from reporting.charts.course import build_course_figure
from reporting.collect import collect
from reporting.papers.figures import draw_figure
from reporting.report_table import ReportTable
from reporting.sections.course import ControlPower, build_course_tables
from reporting.trace_command import trace
from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.bundle_format.load import read_evidence
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import add_node_power

BURN = min((SUBMISSIONS / "reference/h200").glob("*-burn-bf16-*"))
CONTROL = ControlPower(board_w=690.0, node_w=1900.0)


def make_run(metered: bool = True, rated_w: float | None = 2500) -> EvidenceFrames:
    evidence = copy_evidence()
    if rated_w is not None:
        evidence.system["nodes"][0]["rated_w"] = rated_w
    if metered:
        add_node_power(evidence)
    rederive(evidence)
    return evidence


def build_table(directory: Path, control: ControlPower = CONTROL) -> ReportTable:
    (row,) = collect([directory], local=True).rows
    evidence, _ = read_evidence(read_files(directory))
    (table,) = build_course_tables(Bundle(directory, (), evidence), row, control)
    return table


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(trace, [str(argument) for argument in arguments])


def list_texts(svg: str) -> list[str]:
    return [
        text.text or "" for text in Xml.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]


def list_lines(table: ReportTable) -> dict[object, list[Any]]:
    lines: dict[object, list[Any]] = {}
    for row in table.rows:
        lines.setdefault(row["line"], []).append(row)
    return lines


def test_table_has_the_node_all_boards_and_each_board(submissions: Submissions) -> None:
    table = build_table(submissions.add(make_run()))
    lines = list_lines(table)
    assert list(lines) == ["node", "all boards", "board 0", "board 1"]
    assert len({len(rows) for rows in lines.values()}) == 1
    for step, (node, boards, *each) in enumerate(zip(*lines.values(), strict=True)):
        powers_w = [row["power_w"] for row in each]
        assert boards["power_w"] == pytest.approx(sum(powers_w), abs=0.3), step
        assert node["power_w"] is None or node["power_w"] > boards["power_w"]
        assert node["utilisation_percent"] is None
    assert {row["epoch"] for row in lines["node"]} == {None, *range(11)}
    assert {row["epoch"] for row in lines["node"] if row["scored"]} == set(range(1, 11))
    first = table.rows[0]
    limits = ("node_rated_w", "node_control_w", "cap_w", "control_w")
    assert [first[key] for key in limits] == [2500, 1900, 700, 690]


def test_figure_marks_rating_control_cap_and_epochs(submissions: Submissions) -> None:
    table = build_table(submissions.add(make_run()))
    svg = draw_figure(build_course_figure(table, 774), 516)
    texts = list_texts(svg)
    assert texts.count("control") == 2 and {"rated", "cap"} <= {*texts}
    assert {"node and boards, W", "each board, W", "utilisation, %"} <= {*texts}
    assert {"node", "all boards", "board 0", "board 1"} <= {*texts}
    rectangles = svg.count('opacity="0.18"')
    assert rectangles >= 3 * 11, "an area for each epoch in each part"


def test_without_a_meter_the_figure_has_no_node_and_no_rating(submissions: Submissions) -> None:
    table = build_table(submissions.add(make_run(metered=False)), ControlPower())
    texts = list_texts(draw_figure(build_course_figure(table, 774), 516))
    assert "node" not in texts and "rated" not in texts and "control" not in texts
    assert {"all boards, W", "cap"} <= {*texts}


def test_a_meter_of_the_processors_has_a_line_beside_the_node() -> None:
    evidence = make_run()
    meter, samples = evidence.system["meters"][0], evidence.node_samples
    assert samples is not None
    clock, sampling = (evidence.result[key][0] for key in ("node_clocks", "node_sampling"))
    evidence.system["meters"].append({**meter, "id": "rapl", "scope": "cpu"})
    of_cpus = samples.assign(meter="rapl", power_mw=samples["power_mw"] // 10)
    evidence.node_samples = pd.concat([samples, of_cpus]).sort_values(
        ["scheduled_ns", "node", "feed"], ignore_index=True
    )
    evidence.result["node_clocks"].append({**clock, "meter": "rapl"})
    evidence.result["node_sampling"].append({**sampling, "meter": "rapl"})
    bundle = Bundle(Path("bundle"), (), evidence.evidence())
    (table,) = build_course_tables(bundle, make_run_row(500.0, "a"), CONTROL)
    lines = list_lines(table)
    assert list(lines) == ["node", "all boards", "cpu by rapl", "board 0", "board 1"]
    for node, cpus in zip(lines["node"], lines["cpu by rapl"], strict=True):
        if node["power_w"] is not None:
            assert cpus["power_w"] == pytest.approx(node["power_w"] / 10, abs=0.2)
    texts = list_texts(draw_figure(build_course_figure(table, 774), 516))
    assert "cpu by rapl" in texts


@pytest.mark.parametrize("width_pt", [252, 516])
def test_text_of_the_figure_has_7_to_8_pt(submissions: Submissions, width_pt: int) -> None:
    table = build_table(submissions.add(make_run()))
    root = Xml.fromstring(draw_figure(build_course_figure(table, width_pt * 1.5), width_pt))
    width = float(root.attrib["width"].removesuffix("pt"))
    scale = width / float(root.attrib["viewBox"].split()[2]) / (72 / 72.27)
    sizes = [
        float(text.attrib["font-size"].removesuffix("px")) * scale
        for text in root.iter("{http://www.w3.org/2000/svg}text")
        if text.text
    ]
    assert sizes and min(sizes) >= 6.6 and max(sizes) <= 8.4


def test_command_writes_svg_and_pdf_with_the_control_of_another_bundle(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle = submissions.add(make_run())
    result = invoke(bundle, "-o", tmp_path / "out", "--control", BURN)
    assert result.exit_code == 0, result.output
    paths = [Path(line) for line in result.output.splitlines() if line]
    assert [path.suffix for path in paths] == [".svg", ".pdf"]
    assert paths[1].read_bytes().startswith(b"%PDF")
    texts = list_texts(paths[0].read_text(encoding="utf-8"))
    # The control run has no node meter.
    assert texts.count("control") == 1


def test_a_run_that_is_no_control_run_is_refused(submissions: Submissions, tmp_path: Path) -> None:
    bundle = submissions.add()
    result = invoke(bundle, "-o", tmp_path, "--control", bundle)
    assert result.exit_code == 1
    assert "no control run of the full size" in result.output


def test_control_runs_of_other_inputs_or_boards_are_refused(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle = submissions.add()
    (of_zeros,) = [
        path
        for path in sorted((SUBMISSIONS / "reference/h200").glob("*-burn-bf16-*"))
        if "14dc5a" in path.name
    ]
    result = invoke(bundle, "-o", tmp_path, "--control", of_zeros)
    assert result.exit_code == 1 and "with the default inputs" in result.output
    other = submissions.add(make_run_at_cap(500, 0.9), "20260101T000000Z-other")
    result = invoke(other, "-o", tmp_path, "--control", BURN)
    assert result.exit_code == 1 and "at the cap of the run, 500 W" in result.output


def test_one_board_without_a_meter_has_one_line_of_power(submissions: Submissions) -> None:
    table = build_table(submissions.add(on_one(make_run(metered=False))), ControlPower())
    assert list(list_lines(table)) == ["board 0"]
    texts = list_texts(draw_figure(build_course_figure(table, 774), 516))
    assert "each board, W" in texts and "all boards, W" not in texts


def test_several_runs_are_refused(submissions: Submissions, tmp_path: Path) -> None:
    submissions.add()
    other = make_other_run(copy_evidence(), 1)
    rederive(other)
    submissions.add(other, "20260101T000000Z-other")
    result = invoke(submissions.root, "-o", tmp_path)
    assert result.exit_code == 1
    assert "2 runs; give the directory of the bundle of one run" in result.output


def test_a_bundle_that_fails_the_check_is_not_drawn(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle = submissions.add()
    (bundle / "result.json").write_text("{}")
    result = invoke(bundle, "-o", tmp_path / "out")
    assert result.exit_code == 1 and not (tmp_path / "out").exists()
    assert "fails the check or is withdrawn; bench-check" in result.output
    assert "--local draws your own run" in result.output


def test_an_unwritable_directory_is_named(submissions: Submissions, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = invoke(submissions.add(), "-o", tmp_path / "file" / "out")
    assert result.exit_code == 3 and "file" in result.output
    assert "Traceback" not in result.output
