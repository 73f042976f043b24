"""The shipped table of published accuracies, and tables that a user names."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from rules.studies import accuracy
from rules.studies.accuracy import (
    COLUMNS,
    IMAGE_SETS,
    AccuracyTableError,
    read_accuracy_table,
    read_shipped_table,
)

DATA = Path(accuracy.__file__).parent / "data"
TABLE = DATA / "timm-accuracy.csv"


def test_table_has_all_published_models() -> None:
    table = read_shipped_table()
    assert len(table.models) == 1556
    assert len({(model.architecture, model.tag) for model in table.models}) == 1266
    assert len({model.architecture for model in table.models}) == 900
    assert len(table.by_input) == 1193


def test_header_states_source_licence_and_digest() -> None:
    header = json.loads((DATA / "timm-accuracy.json").read_text())
    assert (header["commit"], header["license"]) == ("aa4b585", "Apache-2.0")
    assert header["sha256"] == sha256(TABLE.read_bytes()).hexdigest()
    assert header["sha256"] == read_shipped_table().sha256


def test_row_has_the_published_figures() -> None:
    model = read_shipped_table().find("eva_giant_patch14_560", 560, "m30m_ft_in22k_in1k")
    assert model is not None
    assert model.accuracy_pct["imagenet"] == 89.79
    assert model.accuracy_pct["imagenet-a"] == 87.32
    assert model.params == 1014.45e6, "timm writes 1,014.45 with a thousands comma"
    assert tuple(model.accuracy_pct) == IMAGE_SETS


def test_flops_count_a_multiply_add_as_two() -> None:
    model = read_shipped_table().find("resnet50", 224)
    assert model is not None
    assert (model.flops, model.activations) == (8.22e9, 11.11e6)


def test_best_weights_count_without_a_tag() -> None:
    table = read_shipped_table()
    best, tv = table.find("resnet50", 224), table.find("resnet50", 224, "tv_in1k")
    assert best is not None and tv is not None
    assert (best.tag, best.accuracy_pct["imagenet"]) == ("fb_swsl_ig1b_ft_in1k", 81.146)
    assert "imagenet-a" not in tv.accuracy_pct, "not published: ImageNet-A is what it gets wrong"
    assert table.find("resnet50", 224, "no_such_tag") is None
    assert table.find("resnet50", 223) is None


def test_altered_table_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for path in (TABLE, DATA / "timm-accuracy.json"):
        content = path.read_bytes().replace(b",90.056,", b",91.056,")
        (tmp_path / "data" / path.name).write_bytes(content)
    monkeypatch.setattr(accuracy, "files", lambda _: tmp_path)
    with pytest.raises(AccuracyTableError, match=r"timm-accuracy.csv: SHA-256 .* install wattmark"):
        read_shipped_table.__wrapped__()


def test_table_of_the_user_is_read(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(f"{','.join(COLUMNS)}\nresnet50.own,64,12.5,,,,,,,,25.56,0.34,0.9\n")
    table = read_accuracy_table(path)
    assert table.sha256 == sha256(path.read_bytes()).hexdigest()
    model = table.find("resnet50", 64)
    assert model is not None and model.accuracy_pct == {"imagenet": 12.5}


ROW = "resnet50.own,64,12.5,,,,,,,,25.56,0.34,0.9"


def _replace_cell(column: str, text: str) -> Callable[[str], str]:
    number = COLUMNS.index(column)
    cells = ROW.split(",")
    return lambda table: table.replace(ROW, ",".join([*cells[:number], text, *cells[number + 1 :]]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: "", "line 1 is ''; expected model,size,"),
        (lambda table: table.replace("params_m", "params"), "line 1 is 'model,size,"),
        (lambda table: table.replace(ROW, ""), "no rows"),
        (lambda table: table + ROW + "\n", "line 3: resnet50.own at size 64 a second time"),
        (lambda table: table + "a.b,64\n", "line 3: 2 cells; expected 13"),
        (_replace_cell("model", ".own"), "line 2: model is '.own'"),
        (_replace_cell("size", "64px"), "line 2: size is '64px'; expected a number of pixels"),
        (_replace_cell("size", "9" * 5000), "line 2: size is '9999"),
        (_replace_cell("imagenet", ""), "line 2: imagenet is empty"),
        (_replace_cell("imagenet-r", "101"), "imagenet-r is '101'; expected a number from 0 to"),
        (_replace_cell("gmacs", "nan"), "line 2: gmacs is 'nan'; expected a number"),
        (_replace_cell("macts", "-1"), "line 2: macts is '-1'; expected a number"),
    ],
)
def test_faulty_table_is_refused_with_its_line(
    change: Callable[[str], str], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "own.csv"
    path.write_text(change(f"{','.join(COLUMNS)}\n{ROW}\n"))
    with pytest.raises(AccuracyTableError) as refusal:
        read_accuracy_table(path)
    assert str(refusal.value).startswith(f"{path}: ")
    assert message in str(refusal.value)


def test_table_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.csv.gz"
    path.write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(AccuracyTableError, match=r"own.csv.gz: byte 1 is not UTF-8; save .* plain"):
        read_accuracy_table(path)


def test_absent_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AccuracyTableError, match=r"own.csv: No such file or directory; name"):
        read_accuracy_table(tmp_path / "own.csv")
