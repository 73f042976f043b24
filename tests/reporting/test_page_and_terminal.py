"""The end of a sweep on the terminal and the tables of the page have the same figures."""

from pathlib import Path

import pytest
from support.sweep_runs import GAINS, FakeRuns, save_sweep

from harness.run import command
from harness.sweep import run as sweep
from reporting.collect import collect
from reporting.page_model import build_page_model
from reporting.report_table import ReportTable


@pytest.fixture
def tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> tuple[list[list[str]], dict[str, ReportTable]]:
    """The words of the lines on the terminal, and the tables of the page by id."""
    monkeypatch.setattr(command, "run", FakeRuns())
    made, path = save_sweep(tmp_path, 400.0, 550.0, 700.0)
    assert sweep.carry_out(made, path)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    page = build_page_model(collect([tmp_path], local=True), Path.as_posix)
    return lines, {table.id: table for section in page.sections for table in section.tables}


def test_gains_and_their_intervals_agree(
    tables: tuple[list[list[str]], dict[str, ReportTable]],
) -> None:
    lines, page_tables = tables
    rows = page_tables["resnet50-train-sweeps"].rows
    assert len(rows) == 3
    for row in rows:
        cap = f"{row['cap_w']:g}"
        place = next(n for n, line in enumerate(lines) if line[:2] == [cap, "1"])
        shown = [text.removeprefix("~") for text in lines[place][3:]]
        assert shown == [f"{round(float(str(row[key])), 1) + 0:.1f}" for key in GAINS]
        if row["energy_gain_percent_low"] is None:
            assert lines[place + 1][0] == "±:", "the reference has no interval"
            continue
        widths = [float(text.removeprefix("±")) for text in lines[place + 1]]
        bounds = [[float(str(row[f"{key}_{end}"])) for end in ("low", "high")] for key in GAINS]
        assert widths == pytest.approx([(high - low) / 2 for low, high in bounds], abs=0.05)


def test_best_settings_agree(tables: tuple[list[list[str]], dict[str, ReportTable]]) -> None:
    lines, page_tables = tables
    start = lines.index(["best", "by", "setting", "gain", "cannot", "be", "told", "from"]) + 1
    rows = page_tables["resnet50-train-settings"].rows
    assert len(rows) == 9
    for line, row in zip(lines[start:], rows, strict=False):
        text = " ".join(line)
        others = str(row["not_told_apart"]).replace(",", ";")
        assert text.startswith(f"{row['metric']} {row['setting']} ")
        assert text.endswith(f" {others}")
