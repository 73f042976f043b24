"""Which models the value of `--models` selects."""

from pathlib import Path

import pytest

from rules.studies.accuracy import read_shipped_table
from rules.studies.models import CURATED
from rules.studies.selection import ModelInput, SelectionError, select_models

TABLE = read_shipped_table()


def select(text: str | Path) -> list[ModelInput]:
    return list(select_models(str(text), TABLE))


def test_keywords_select_the_curated_list_and_the_table() -> None:
    assert select("curated") == list(CURATED)
    assert len(select("all")) == 1193
    assert set(select("all")) == TABLE.by_input.keys()


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("resnet18", [("resnet18", size) for size in (160, 224, 288)]),
        ("resnet18@224", [("resnet18", 224)]),
        ("resnet18@64", [("resnet18", 64)]),
        ("resnet[13][84]@288", [("resnet18", 288), ("resnet34", 288)]),
        ("levit_128*", [("levit_128", 224), ("levit_128s", 224)]),
        ("vgg16, resnet18@224,vgg16", [("vgg16", 224), ("resnet18", 224)]),
    ],
)
def test_names_and_patterns_select_models(text: str, inputs: list[ModelInput]) -> None:
    assert select(text) == inputs


def test_models_of_two_selectors_are_selected_once() -> None:
    assert select("curated,resnet50@224,vgg19@224") == [*CURATED, ("vgg19", 224)]


def test_pattern_with_a_size_selects_from_the_table() -> None:
    selected = select("vit_*@256")
    assert ("vit_medium_patch16_gap_256", 256) in selected
    assert set(selected) == {
        (name, size) for name, size in TABLE.by_input if name.startswith("vit_") and size == 256
    }


def test_file_names_one_model_a_line(tmp_path: Path) -> None:
    path = tmp_path / "models.txt"
    path.write_text("# first\nresnet50@224\n\n  vgg16  # all sizes\nlevit_128*\nvgg16\n")
    assert select(path) == [
        ("resnet50", 224),
        ("vgg16", 224),
        ("levit_128", 224),
        ("levit_128s", 224),
    ]


def test_long_list_of_names_is_no_file() -> None:
    assert len(select(",".join(["vgg16"] * 1_000))) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resnet5O", r"'resnet5O': no such model .*; did you mean .*resnet50"),
        ("resnet50,", r"'': no such model.*; use curated, all, or a name of timm"),
        ("Resnet50@224", r"did you mean .*resnet50"),
        ("resnet50@", r"'resnet50@': no size in pixels after @; write it as in resnet50@224"),
        ("resnet50@224px", "'resnet50@224px': no size"),
        ("resnet50@999999", "'resnet50@999999': no size"),
        ("nothing*", r"'nothing\*': no model of the table"),
        ("resnet50*@225", r"'resnet50\*@225': no model"),
        ("resnet50.a1_in1k", "'resnet50.a1_in1k': names weights, .*; write 'resnet50'"),
        ("lists/models.txt", "lists/models.txt: no such file; name a file"),
        ("/tmp", "/tmp: a directory; name a file"),
        ("", "'': no such model"),
    ],
)
def test_selector_without_a_model_is_refused(text: str, message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        select(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"resnet50\nvgg61@224\n", ": line 2: .*'vgg61'.*did you mean .*vgg16"),
        (b"# none\n\n", ": no models; write one a line"),
        (b"\xff\xfe", ": .*decode.*; name a text file"),
    ],
)
def test_faulty_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "models.txt"
    path.write_bytes(content)
    with pytest.raises(SelectionError, match=f"{path}{message}"):
        select(path)
