"""The axes of a sweep: their values, their combinations, the reference and the plan."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.sweep_runs import (
    BOARDS,
    RUN_REQUEST,
    invoke,
    join_output,
    make_entries,
    make_test_sweep,
)

from harness.errors import PlanError
from harness.run.plan import RunRequest
from harness.run.planning import make_plan
from harness.sweep.axis import (
    CAP,
    GPUS,
    PRECISION,
    SM_CLOCK,
    VARIANT,
    parse_batches,
    parse_gpus,
    parse_sm_clocks,
    parse_variants,
    select_variant,
)
from harness.sweep.description import describe_plan
from harness.sweep.plan import Entry, Sweep, make_sweep, shuffle_runs
from harness.sweep.request import read_request

SIMULATED = RunRequest("resnet50-train", simulate="h200")
SERVING = RunRequest("llama3-8b-serve", simulate="h200")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("64:4096:x2", (64, 128, 256, 512, 1024, 2048, 4096)),
        ("8:24:8", (8, 16, 24)),
        ("8:18:x1.5", (8, 12, 18)),
        ("64,32", (64, 32)),
        ("7", (7,)),
    ],
)
def test_values_are_a_range_by_step_or_by_factor_or_a_list(text: str, values: tuple) -> None:
    assert parse_batches(text) == values


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("64:100:x2", "from 64, the factor 2 does not reach 100 exactly; end at 64"),
        ("64:128:x1", "in A:B:xFACTOR, B must not be below A, and FACTOR must be above 1"),
        ("0:8:x2", "in A:B:xFACTOR, A must be above 0"),
        ("1:1000:1", "at most 100 values"),
        ("1:3:x1.5", "from 1, the factor 1.5 does not reach 3 exactly; end at 2.25"),
        ("1:1.5:x1.5", "found 1.5; give batch sizes as 64:4096:x2 or 64,128,256, whole numbers"),
        ("1e9", r"found 1E\+9; give batch sizes"),
        ("1e999999", r"found 1E\+999999"),
        ("64,64", "occurs twice"),
        ("64:128:2:x2", "give batch sizes as"),
        ("64,many", "give batch sizes as"),
        ("auto", "--batch auto: find the batch size with bench-submit run"),
    ],
)
def test_values_that_make_no_sense_are_refused(text: str, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        parse_batches(text)


def test_numbers_of_accelerators_clocks_and_names_are_lists_too() -> None:
    assert parse_gpus("1:8:x2") == (1, 2, 4, 8)
    assert parse_sm_clocks("as-found,990:1980:495") == (None, 990, 1485, 1980)
    assert parse_sm_clocks("as-found") == (None,)
    assert parse_variants("baseline,tuned") == ("baseline", "tuned")
    for text in ("", "a,,b", "a b", "-x"):
        with pytest.raises(PlanError, match="give names separated by commas"):
            parse_variants(text)


@pytest.mark.parametrize(
    ("workload", "variant", "precision", "selected"),
    [
        ("llama3-8b-pretrain", "tuned", "bf16", "tuned"),
        ("llama3-8b-pretrain", "tuned", "tf32", "tuned-tf32"),
        ("llama3-8b-pretrain", "tuned", "fp8", "fp8"),
        ("llama3-8b-pretrain", "fp8", "bf16", "tuned"),
        ("llama3-8b-pretrain", "baseline", "bf16", "baseline"),
        ("vitl16-train", "tuned", "tf32", "tuned-tf32"),
        ("vitl16-train", "tuned", "fp16", "tuned-fp16"),
        ("vitl16-train", "baseline", "tf32", "baseline"),
        ("vitl16-train", "mayr", "bf16", "tuned"),
        ("resnet50-train", "tuned", "tf32", "baseline"),
    ],
)
def test_precision_stands_for_a_variant_that_differs_in_nothing_else_if_there_is_one(
    workload: str, variant: str, precision: str, selected: str
) -> None:
    run_request = RunRequest(workload, variant=variant)
    assert select_variant(run_request, precision) == selected


@pytest.mark.parametrize(
    ("run_request", "texts", "references", "says"),
    [
        (SIMULATED, {"precision": "tf32,fp4"}, [], "has no variant of this precision; it has base"),
        (SIMULATED, {"variant": "baseline,fast"}, [], "has no variant 'fast'"),
        (SIMULATED, {"concurrency": "1,2"}, [], "serves no requests; vary --batch instead"),
        (SERVING, {"concurrency": "1,2", "batch": "4"}, [], "one setting of a server"),
        (
            SIMULATED,
            {"variant": "baseline,tuned", "precision": "tf32,bf16"},
            [],
            "a variant has one precision",
        ),
        (
            SIMULATED,
            {"batch": "8,16", "gpus": "1,2", "cap": "300,700"},
            [],
            "--caps, --batch, --gpus: a sweep varies at most 2 settings",
        ),
        (SERVING, {"variant": "baseline,tuned", "gpus": "1,2"}, [], "give --concurrency too"),
        (SIMULATED, {"batch": "8,16"}, ["32"], "batch 32 is not among the runs .batch 8, batch 16"),
        (SIMULATED, {"batch": "8,16"}, ["8,16"], "--reference 8,16: give one value of --batch"),
        (SIMULATED, {"batch": "8,16"}, ["gpus=1"], "the sweep varies batch; give AXIS=VALUE"),
        (SIMULATED, {"batch": "8,16", "cap": "300,700"}, ["8"], "the sweep varies cap, batch"),
        (SIMULATED, {"batch": "8", "cap": "300"}, ["8"], "--reference 8: nothing varies"),
        (SIMULATED, {"cap": "300,700"}, ["650"], "650 W is not among the runs"),
    ],
)
def test_sweep_that_cannot_be_is_refused(
    run_request: RunRequest, texts: dict[str, str], references: list[str], says: str
) -> None:
    with pytest.raises(PlanError, match=re.escape(says) if "." not in says else says):
        read_request(run_request, texts, references, 1)


def test_cap_stays_as_found_if_another_setting_varies() -> None:
    assert read_request(SIMULATED, {}, [], 1).caps_w == ()
    request = read_request(SIMULATED, {"batch": "8,16"}, [], 1)
    assert request.caps_w == (None,) and request.axis_names == ("batch",)
    both = read_request(SIMULATED, {"batch": "8,16", "cap": "300,700"}, ["cap=300"], 1)
    assert both.axis_names == ("cap", "batch")
    assert both.reference == {"batch": 8, "cap": 300}
    assert {(e.cap_w, e.batch) for e in both.shuffle()} == {
        (cap_w, batch) for cap_w in (300, 700) for batch in (8, 16)
    }


def test_batch_of_a_server_is_its_concurrency() -> None:
    request = read_request(SERVING, {"batch": "4,8"}, ["8"], 1)
    assert request.axis_names == ("concurrency",) and request.reference == {"concurrency": 8}


def test_variants_have_the_smallest_of_their_default_batch_sizes() -> None:
    request = read_request(replace(SIMULATED, smoke=False), {"variant": "baseline,tuned"}, [], 1)
    (batch,) = {entry.apply(request.run_request).batch for entry in request.shuffle()}
    real = read_request(RunRequest("resnet50-train"), {"precision": "tf32,bf16"}, [], 1)
    assert (batch, real.run_request.batch) == ("4", "512")
    given = read_request(SIMULATED, {"variant": "baseline,tuned", "batch": "9"}, [], 1)
    assert given.run_request.batch == "9"


def test_plan_with_axes_comes_back_from_its_file(tmp_path: Path) -> None:
    axes = (CAP.take(None), SM_CLOCK.take(None, 990), PRECISION.take("bf16", "tf32"), GPUS.take(1))
    entries = shuffle_runs(axes, 2, seed=3)
    names, reference = ("sm-clock", "precision"), {"precision": "bf16"}
    sweep = replace(make_test_sweep(RUN_REQUEST, entries), axis_names=names, reference=reference)
    loaded_sweep = Sweep.load(sweep.save(tmp_path))
    assert loaded_sweep == sweep
    assert [axis.values for axis in loaded_sweep.axes] == [(None, 990), ("bf16", "tf32")]
    label = loaded_sweep.make_label(entries[0])
    assert (label["axes"], label["reference"]) == (["sm-clock", "precision"], {"precision": "bf16"})
    request = loaded_sweep.make_run_request(
        Entry(1, 1, sm_clock_mhz=990, batch=64, precision="tf32")
    )
    assert (request.sm_clock_mhz, request.batch, request.variant) == (990, "64", "baseline")


def test_plan_of_a_version_without_axes_is_read(tmp_path: Path) -> None:
    path = make_test_sweep(RUN_REQUEST, make_entries((300.0, 700.0), (1, 2), 1, 1)).save(tmp_path)
    document = json.loads(path.read_text())
    for key in ("axes", "reference"):
        del document[key]
    for entry in document["entries"]:
        for key in ("batch", "variant", "precision", "sm_clock_mhz"):
            del entry[key]
    path.write_text(json.dumps(document))
    sweep = Sweep.load(path)
    assert sweep.axis_names == ("cap", "gpus") and not sweep.reference
    assert sweep.describe(Entry(1, 1, 2, 300.0)) == "300 W, 2 GPUs, repeat 1"


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            ["llama3-8b-serve", "--concurrency", "1:1024:x2"],
            ["11 runs", "cap as found, concurrency 1024, 1 GPU", "compared with concurrency 1 "],
        ),
        (
            ["resnet50-train", "--precision", "tf32,bf16"],
            ["variants: baseline (tf32), tuned (bf16), all with batch 4", "differ in autocast"],
        ),
        (
            ["vitl16-train", "--precision", "tf32,bf16,fp16,fp8"],
            [
                "fp8 (fp8), tuned (bf16), tuned-fp16 (fp16), tuned-tf32 (tf32)",
                "these variants differ in precision only",
            ],
        ),
        (
            ["resnet50-train", "--sm-clock", "as-found,990", "--caps", "300,700"],
            [
                "the power cap and the SM clock of SIM-H200-0",
                "300 W, SM clock 990 MHz, 1 GPU",
                "compared with the default cap, SM clock as found (--reference)",
            ],
        ),
        (
            ["resnet50-train", "--batch", "8:32:x2", "--caps", "400:700:100"],
            [
                "12 runs",
                "compared with the default cap, batch 8 (--reference)",
                "note: simulated throughput and power do not depend on batch, so",
            ],
        ),
        (
            ["resnet50-train", "--batch", "8:32:x2", "--gpus", "1:8:x2"],
            ["12 runs", "expected time: about 6 min", "changes during the sweep: none"],
        ),
    ],
)
def test_dry_run_fits_80_columns(
    tmp_path: Path, arguments: list[str], lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = invoke(*arguments, "--simulate", "h200", "--dry-run", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert all(line in join_output(result) for line in lines), result.output
    plan = result.output[result.output.index("sweep 20") :]
    assert max(map(len, plan.splitlines())) <= 80, plan
    assert not list(tmp_path.iterdir())


def test_clock_that_a_board_does_not_have_is_refused_before_the_first_run(tmp_path: Path) -> None:
    options = ("--sm-clock", "990,991", "--simulate", "h200", "-o", tmp_path / "out")
    result = invoke("resnet50-train", *options)
    assert result.exit_code == 2 and "the nearest are 990 and 1005 MHz" in join_output(result)
    assert not list(tmp_path.iterdir())


def test_batch_script_has_the_values_of_each_axis() -> None:
    result = invoke("resnet50-train", "--batch", "8,16", "--precision", "tf32,bf16", "--slurm")
    arrays = dict(re.findall(r"^(\w+)=\((.*)\)$", result.output, re.M))
    runs = zip(arrays["batches"].split(), arrays["variants"].split(), strict=True)
    assert sorted(runs) == [("16", "baseline"), ("16", "tuned"), ("8", "baseline"), ("8", "tuned")]
    assert '--batch "${batches[i]}" --variant "${variants[i]}"' in result.output
    serving = invoke("llama3-8b-serve", "--concurrency", "8,16", "--sm-clock", "990", "--slurm")
    assert '--sm-clock 990 --cap "${caps[i]}" --concurrency "${batches[i]}"' in serving.output
    unlocked = invoke("resnet50-train", "--sm-clock", "as-found,990", "--slurm")
    assert unlocked.exit_code == 2 and "every job of the script locks" in join_output(unlocked)


@pytest.mark.parametrize(
    ("variants", "standing"),
    [(("tuned",), "closed"), (("fp8",), "open"), (("tuned", "fp8"), "closed or open")],
)
def test_plan_names_the_standing_of_each_variant(variants: tuple[str, ...], standing: str) -> None:
    run_request = replace(RUN_REQUEST, workload="vitl16-train", variant=variants[0], batch="256")
    plan = make_plan(run_request, BOARDS, {}, "0" * 64)
    entries = shuffle_runs((VARIANT.take(*variants),), 1, seed=1)
    sweep = make_sweep(run_request, entries, plan, (VARIANT.name,))
    header = next(describe_plan(sweep, plan))
    assert header.endswith(f"standing {standing}")
