"""The runs of a plan: their caps, accelerators, order and seeds."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from support.sweep_runs import RUN_REQUEST, invoke, join_output, make_entries, make_test_sweep

from harness.errors import PlanError
from harness.sweep.axis import parse_caps, parse_gpus


@pytest.mark.parametrize(
    ("text", "caps_w"),
    [
        ("200:700:100", (200, 300, 400, 500, 600, 700)),
        ("300:300:50", (300,)),
        ("400,200", (400, 200)),
        ("200:201:0.5", (200, 200.5, 201)),
        ("as-found", (None,)),
    ],
)
def test_caps_are_a_range_with_both_ends_or_a_list(
    text: str, caps_w: tuple[float | None, ...]
) -> None:
    assert parse_caps(text) == caps_w


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "give caps in W as 200:700:100"),
        ("many", "give caps in W as"),
        ("200:700", "give caps in W as"),
        ("nan", "give caps in W as"),
        ("nan:1:1", "give caps in W as"),
        ("1:1e999:1e-999", "at most 100 values"),
        ("200:700:0", "B must not be below A, and STEP must be above 0"),
        ("200:700:-100", "B must not be below A, and STEP must be above 0"),
        ("700:200:100", "B must not be below A, and STEP must be above 0"),
        ("200:701:100", "from 200, the step 100 does not reach 701 exactly; end at 700"),
        ("1:101:1", "at most 100 values"),
        ("0,200", "must be above 0 and below 100000 W, found 0 W"),
        ("-1", "must be above 0 and below 100000 W, found -1 W"),
        ("inf", "give caps in W as"),
        ("1e9", "must be above 0 and below 100000 W, found 1E\\+9 W"),
        ("200,as-found", "give caps in W as"),
        ("200,300,200.0", "occurs twice; to repeat runs, use --repeat N"),
    ],
)
def test_caps_that_make_no_sense_are_refused(text: str, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        parse_caps(text)


@pytest.mark.parametrize("text", ["", "0", "1,1", "1,", "-1", "two", "1.5", "٣", "9" * 5000])
def test_numbers_of_accelerators_that_make_no_sense_are_refused(text: str) -> None:
    assert parse_gpus("1,2,4") == (1, 2, 4)
    with pytest.raises(
        PlanError, match=r"--gpus .*(give numbers of accelerators as 1,2,4|occurs twice)"
    ):
        parse_gpus(text)


def test_every_repeat_has_every_run_once_in_an_order_of_its_own() -> None:
    caps_w, gpus = (200.0, 300.0, 400.0, 500.0, 600.0, 700.0), (1, 2)
    entries = make_entries(caps_w, gpus, 3, seed=7)
    assert [e.place for e in entries] == list(range(1, 37))
    orders = [[(e.gpus, e.cap_w) for e in entries if e.repeat == repeat] for repeat in (1, 2, 3)]
    assert all(sorted(order) == sorted((g, c) for g in gpus for c in caps_w) for order in orders)
    assert [e.repeat for e in entries] == sorted(e.repeat for e in entries)
    assert all(one != other for one, other in pairwise([*orders, orders[0]]))
    assert make_entries(caps_w, gpus, 3, seed=7) == entries != make_entries(caps_w, gpus, 3, seed=8)


def test_every_repeat_has_a_seed_of_its_own() -> None:
    made = make_test_sweep(
        replace(RUN_REQUEST, seed=5), make_entries((200.0, 300.0), (2,), 3, seed=5)
    )
    assert [made.make_run_request(e).seed for e in made.entries] == [
        4 + e.repeat for e in made.entries
    ]
    assert {made.make_label(e)["seed"] for e in made.entries} == {5}


def test_seeds_of_repeats_end_where_seeds_end(tmp_path: Path) -> None:
    last = 2**32 - 3
    entries = make_entries((200.0, 300.0), (2,), 3, last)
    assert (
        max(
            make_test_sweep(replace(RUN_REQUEST, seed=last), entries).make_run_request(e).seed
            for e in entries
        )
        == 2**32 - 1
    )
    with pytest.raises(
        PlanError, match=r"--seed 4294967294 --repeat 3: .* a seed of at most 4294967293"
    ):
        make_entries((200.0, 300.0), (2,), 3, last + 1)
    for how in (("--slurm",), ("--simulate", "h200", "-o", tmp_path / "out")):
        done = invoke("resnet50-train", "--seed", "4294967294", "--repeat", "3", *how)
        assert done.exit_code == 2 and "a seed of at most 4294967293" in join_output(done)
    assert not (tmp_path / "out").exists()


def test_order_does_not_line_up_with_the_cap() -> None:
    caps_w = tuple(range(200, 800, 100))
    firsts = {make_entries(caps_w, (1,), 1, seed)[0].cap_w for seed in range(100)}
    assert firsts == set(caps_w)


@pytest.mark.parametrize(("board", "caps_w"), [("h200", 6), ("mi300x", 7)])
def test_default_caps_are_those_of_the_protocol_that_the_board_allows(
    tmp_path: Path, board: str, caps_w: int
) -> None:
    done = invoke("resnet50-train", "--simulate", board, "--dry-run", "-o", tmp_path)
    assert f"{caps_w} runs" in join_output(done) and "200 W, 1 GPU" in join_output(done)
    assert ("750 W, 1 GPU" in join_output(done)) == (board == "mi300x")


def test_plan_of_one_run_has_no_order_and_tells_simulated_work(tmp_path: Path) -> None:
    asked = ["resnet50-train", "--simulate", "h200", "--dry-run", "-o", tmp_path, "--caps", "300"]
    assert "1 run: 1 300 W, 1 GPU, repeat 1" in join_output(invoke(*asked))
    assert "resnet50-train tuned, simulated work, on" in join_output(invoke(*asked))
    assert "resnet50-train tuned, smoke size, on" in join_output(invoke(*asked, "--smoke"))
