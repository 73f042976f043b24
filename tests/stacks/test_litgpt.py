"""LLaMA 3 8B pre-training on LitGPT: its definition against the model, LitGPT's loop under a
recorder, and smoke runs."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from litgpt import GPT, pretrain
from support.console.stack_runs import read_arguments
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounter
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode
from torchao.float8.float8_linear import Float8Linear

from harness.cli import main
from reference import litgpt_model
from reference import llama3_8b_pretrain as reference
from reference.inputs import load_corpus_batches
from rules.contract import Job
from rules.input_hash import hash_file
from rules.workloads import PRECISION_SETTINGS, workloads

WORKLOAD = workloads()["llama3-8b-pretrain"]
SEQUENCE = WORKLOAD.size("smoke").input_shape[0]
BATCH = 2
JOB = Job(WORKLOAD.id, "tuned", "smoke", BATCH, seed=1, device="cpu")


@dataclass
class Steps:
    """A recorder that wants `count` batches and keeps their losses as they are handed to it."""

    count: int
    losses: list[Tensor] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    is_open: bool = False

    def more(self) -> bool:
        return len(self.losses) < self.count

    def start(self) -> None:
        assert not self.is_open
        self.is_open = True

    def end(self, items: int, loss: Any) -> None:
        assert self.is_open
        self.is_open = False
        self.items.append(items)
        self.losses.append(loss)


@pytest.mark.parametrize(
    ("name", "variant"), [("full", "tuned"), ("full", "mayr"), ("smoke", "tuned")]
)
def test_definition_is_that_of_the_model(name: str, variant: str) -> None:
    size, config = WORKLOAD.size(name, variant), reference.make_config(name, variant)
    with torch.device("meta"):
        model = GPT(config)
        tokens = torch.zeros(1, config.block_size, dtype=torch.long)
    assert sum(p.numel() for p in model.parameters()) == size.parameters
    with FlopCounterMode(display=False) as counter:
        nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
    assert counter.get_total_flops() / config.block_size == pytest.approx(
        size.flops_per_item, rel=0.001
    )
    by_operator = {
        str(operator): flops for operator, flops in counter.get_flop_counts()["Global"].items()
    }
    # Causal attention needs one product more than half of them: a token attends to itself too.
    causal = by_operator["aten.bmm"] * (config.block_size + 1) / (2 * config.block_size)
    assert (by_operator["aten.mm"] + causal) / config.block_size == pytest.approx(
        size.min_flops_per_item, rel=0.001
    )
    assert size.items_per_sample == config.block_size


@pytest.mark.parametrize("variant", WORKLOAD.variants)
def test_every_optimiser_step_is_one_window(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[None] = []
    step = torch.optim.AdamW.step
    monkeypatch.setattr(
        torch.optim.AdamW,
        "step",
        lambda self, *arguments: (steps.append(None), step(self, *arguments))[1],
    )
    clipped: list[float] = []
    monkeypatch.setattr(
        torch.nn.utils, "clip_grad_norm_", lambda *_, max_norm, **__: clipped.append(max_norm)
    )
    monkeypatch.setattr(
        pretrain, "save_checkpoint", lambda *_: pytest.fail("LitGPT saved a checkpoint")
    )
    monkeypatch.setattr(reference, "WARMUP_STEPS", 0)
    monkeypatch.setattr(reference, "RESIDENT_BATCHES", 4)
    monkeypatch.setitem(reference.ADAMW, "lr", 0.01)
    monkeypatch.setattr(reference, "MAYR_LEARNING_RATE", 0.01)
    # Two micro-batches a step.
    batch = 2 * reference.MAYR_MICRO_BATCH if variant == "mayr" else BATCH
    built, recorder = (
        reference.build(replace(JOB, variant=variant, batch_size=batch)),
        Steps(3 * reference.RESIDENT_BATCHES),
    )
    built.run(recorder)
    assert (
        len(steps) == recorder.count
        and set(recorder.items) == {batch * SEQUENCE}
        and not recorder.is_open
    )
    losses = [float(loss) for loss in recorder.losses]
    assert sum(losses[-reference.RESIDENT_BATCHES :]) < 0.9 * sum(
        losses[: reference.RESIDENT_BATCHES]
    )  # it learns them by heart
    assert not any(loss.requires_grad for loss in recorder.losses)
    assert (built.parameters, built.precision) == (
        WORKLOAD.size("smoke").parameters,
        "fp32" if variant == "tuned-tf32" else WORKLOAD.variants[variant],  # a CPU has no TF32
    )
    assert built.settings["fp8_linear"] == (
        "torchao, tensorwise, in the blocks" if variant == "fp8" else None
    )
    clips = variant in ("baseline", "mayr")
    assert clipped == ([built.settings["gradient_clipping"]] * recorder.count if clips else [])
    assert built.settings["gradient_clipping"] == (1.0 if clips else None)


def test_tokens_of_a_seed_begin_with_those_of_fewer_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config, batches = reference.make_config("smoke"), reference.RESIDENT_BATCHES
    tokens = reference.make_tokens(JOB, config)
    assert tokens.shape == (batches, BATCH, SEQUENCE + 1)
    # No batch comes twice.
    assert len(tokens.flatten(1).unique(dim=0)) == batches
    monkeypatch.setattr(reference, "RESIDENT_BATCHES", 4)
    assert torch.equal(reference.make_tokens(JOB, config), tokens[:4])


def test_precision_variants_differ_in_precision_settings_only() -> None:
    jobs = [replace(JOB, variant=variant) for variant in WORKLOAD.precision_variants]
    settings = [
        reference.describe_settings(job, reference.make_config("smoke", job.variant), 4)
        for job in jobs
    ]
    others = [{k: v for k, v in s.items() if k not in PRECISION_SETTINGS} for s in settings]
    assert all(other == others[0] for other in others)
    assert [s["fabric_precision"] for s in settings] == ["bf16-true", "32-true", "bf16-true"]


class Waits(TorchDispatchMode):
    """Counts what would make the host wait for a device: every reading of a tensor's value outside
    of the optimiser.

    AdamW keeps its step counter on the host when the parameters are there, so it would be counted
    on a CPU alone.
    """

    count = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.count += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "variant", ["baseline", "tuned"]
)  # torchao's emulation on a CPU reads values; its kernels do not
def test_no_step_waits_for_the_device(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = Waits()

    @dataclass
    class Watched(Steps):
        def start(self) -> None:
            super().start()
            waits.__enter__()

    def step(self: Any, *_: Any) -> None:
        waits.__exit__(None, None, None)

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    reference.build(replace(JOB, variant=variant)).run(Watched(3))
    assert waits.count == 0


def count_compiled_graphs(
    layers: int, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> int:
    monkeypatch.setitem(reference.SMOKE_MODEL, "n_layer", layers)
    counter, config = CompileCounter(), reference.make_config("smoke")
    fabric = reference.MeasuredFabric(replace(JOB, options=options), Steps(1))
    with torch.compiler.set_stance("default", force_backend=counter):
        model = fabric.setup(torch.compile(GPT(config)))
        model(torch.zeros(1, SEQUENCE, dtype=torch.long)).sum().backward()
    torch.compiler.reset()
    return int(counter.frame_count)


@pytest.mark.parametrize("options", [{}, {"checkpointing": "block"}], ids=str)
def test_blocks_share_what_is_compiled(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs_of_two, graphs_of_five = (
        count_compiled_graphs(layers, monkeypatch, options) for layers in (2, 5)
    )
    assert (
        2 <= graphs_of_two == graphs_of_five
    )  # a block and the last norm; recomputing in the backward pass may take a graph of its own


def test_checkpointing_recomputes_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[None] = []
    forward = litgpt_model.checkpoint

    def counted(block: Callable[..., Tensor], *arguments: Any, **settings: Any) -> Any:
        return forward(lambda *args: (calls.append(None), block(*args))[1], *arguments, **settings)

    monkeypatch.setattr(litgpt_model, "checkpoint", counted)
    reference.build(replace(JOB, options={"checkpointing": "block"})).run(Steps(2))
    validated, layers = 2, reference.SMOKE_MODEL["n_layer"]
    assert len(calls) == layers * (
        validated + 2 * 2
    )  # each of two steps goes through a block twice


def test_fp8_takes_the_linear_layers_of_the_blocks_and_nothing_else() -> None:
    torch.manual_seed(1)
    model = GPT(reference.make_config("smoke"))
    tokens = torch.randint(256, (1, SEQUENCE))
    exact = model(tokens)
    litgpt_model.convert_to_fp8(model, emulate=True)
    linear = {name: type(m) for name, m in model.named_modules() if isinstance(m, nn.Linear)}
    assert {name for name, kind in linear.items() if kind is not Float8Linear} == {"lm_head"}
    assert len(linear) == 1 + 5 * reference.SMOKE_MODEL["n_layer"]
    error = (model(tokens) - exact).norm() / exact.norm()
    assert 1e-4 < error < 0.1  # rounded to three bits of mantissa, and no worse


def test_loss_is_litgpts_in_fp32() -> None:
    logits, targets = torch.randn(2, 8, 32, dtype=torch.bfloat16), torch.randint(32, (2, 8))
    loss = litgpt_model.compute_unchunked_loss(logits, targets)
    assert loss.dtype == torch.float32
    assert loss == pytest.approx(
        nn.functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())
    )


def test_corpus_is_shared_out_in_order(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_bytes(
        bytes(range(32, 32 + 2 * 2 * 2 * 5 + 7))
    )  # two batches of two ranks, and a rest
    first, second = (
        load_corpus_batches(replace(JOB, corpus=str(corpus), rank=r, world_size=2), 5, 256)
        for r in (0, 1)
    )
    assert first.shape == second.shape == (2, BATCH, 6)
    starts = [
        batch[row, 0].item()
        for n in (0, 1)
        for batch in (first[n], second[n])
        for row in range(BATCH)
    ]
    assert starts == [32 + 5 * n for n in range(8)]
    assert first[0, 0].tolist() == [
        32,
        33,
        34,
        35,
        36,
        37,
    ]  # the last target is the next sequence's first token


def make_tokenizer(path: Path, words: int = 5) -> str:
    tokenizer = Tokenizer(WordLevel({f"w{n}": n for n in range(words)}, unk_token="w0"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(str(path))
    return str(path)


def test_tokenizer_is_used_on_the_whole_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reference.inputs.READ_CHARACTERS", 10)  # many pieces
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("w1 w2 w3\nw4 ü w1\n" * 10)
    options = {"tokenizer": make_tokenizer(tmp_path / "tokenizer.json")}
    batches = load_corpus_batches(replace(JOB, corpus=str(corpus), options=options), 6, 5)
    assert (
        batches[..., :-1].flatten().tolist() == [1, 2, 3, 4, 0, 1] * 2 * len(batches)
        and len(batches) == 4
    )


def test_corpus_tokenizer_and_weights_are_declared(tmp_path: Path) -> None:
    corpus, weights = tmp_path / "corpus.txt", tmp_path / "lit_model.pth"
    corpus.write_text("w1 w2 w3 w4\n" * 100)
    torch.manual_seed(7)
    model = GPT(reference.make_config("smoke")).to(torch.bfloat16)
    torch.save(model.state_dict(), weights)
    tokenizer = make_tokenizer(tmp_path / "tokenizer.json")
    job = replace(JOB, corpus=str(corpus), weights=str(weights), options={"tokenizer": tokenizer})
    built, recorder = reference.build(job), Steps(1)
    assert (built.corpus_sha256, built.weights_sha256) == (
        hash_file(str(corpus)),
        hash_file(str(weights)),
    )
    assert built.settings["tokenizer"] == f"sha256 {hash_file(tokenizer)}"
    built.run(recorder)
    batch = load_corpus_batches(job, SEQUENCE, 512)[0].long()
    with torch.no_grad():
        expected = nn.functional.cross_entropy(
            model(batch[:, :-1]).float().flatten(0, 1), batch[:, 1:].flatten()
        )
    assert float(recorder.losses[0]) == pytest.approx(
        float(expected), rel=1e-3
    )  # of these weights, on this text


def write_bad_inputs(tmp: Path) -> Iterator[tuple[Job, str]]:
    (text := tmp / "text.txt").write_text("w1 " * 1000)
    (latin := tmp / "latin.txt").write_bytes("w1 \xff ".encode("latin-1") * 1000)
    (short_text := tmp / "short.txt").write_text("short")
    (empty := tmp / "empty.txt").write_text("")
    (junk := tmp / "lit_model.pth").write_bytes(b"junk")
    (tmp / "other").mkdir()
    torch.save({"lm_head.weight": torch.zeros(3, 3)}, tmp / "other" / "lit_model.pth")
    tokenizer = {"tokenizer": make_tokenizer(tmp / "tokenizer.json")}
    vast = {"tokenizer": make_tokenizer(tmp / "vast.json", 600)}
    (beyond := tmp / "beyond.txt").write_text("w599 " * 1000)
    yield replace(JOB, options={"flash": "yes"}), "option flash=yes"
    yield (
        replace(JOB, options={"precision": "fp4"}),
        "option precision=fp4: give one of bf16-true, bf16-mixed",
    )
    yield (
        replace(JOB, variant="tuned-tf32", options={"precision": "bf16-true"}),
        "option precision=bf16-true: the variant tuned-tf32 has its parameters in fp32",
    )
    yield replace(JOB, options=tokenizer), "no corpus"
    yield replace(JOB, corpus=str(tmp / "none.txt")), "No such file"
    yield replace(JOB, corpus=str(tmp)), "directory"
    yield replace(JOB, corpus=str(short_text)), "5 tokens are too few: 2 sequences of 64 take 129"
    yield replace(JOB, corpus=str(empty)), "too few"
    yield replace(JOB, corpus=str(empty), options=tokenizer), "0 tokens are too few"
    yield replace(JOB, corpus=str(latin), options=tokenizer), "UTF-8"
    yield replace(JOB, corpus=str(text), options={"tokenizer": str(text)}), "name a tokenizer.json"
    yield (
        replace(JOB, corpus=str(text), options={"tokenizer": str(tmp / "none.json")}),
        "name a tokenizer.json",
    )
    yield (
        replace(JOB, corpus=str(beyond), options=vast),
        "token id 599 is beyond the model's vocabulary of 512",
    )
    yield replace(JOB, weights=str(text)), "lit_model.pth"
    yield replace(JOB, weights=str(junk)), "cannot be read"
    yield (
        replace(JOB, weights=str(tmp / "other" / "lit_model.pth")),
        "lm_head.weight is (3, 3), the model's is (512, 64)",
    )


def test_what_cannot_be_used_is_refused_with_the_reason(tmp_path: Path) -> None:
    for job, reason in write_bad_inputs(tmp_path):
        with pytest.raises(ValueError) as refused:
            reference.build(job)
        assert reason in str(refused.value), f"{job}: {refused.value}"


RUNS = [
    ("tuned", 1, ()),
    ("tuned", 2, ("precision=bf16-mixed", "checkpointing=block")),
    ("baseline", 1, ()),
    ("fp8", 2, ()),
]


@pytest.mark.parametrize(
    ("variant", "gpus", "options"), RUNS, ids=lambda value: str(value) if value else ""
)
def test_smoke_run_passes_the_check(
    variant: str, gpus: int, options: tuple[str, ...], tmp_path: Path
) -> None:
    """The run of docs/run.md, with shorter epochs, and its variations."""
    page_arguments = read_arguments(__file__, "run.md", ".venvs/litgpt")
    arguments = f"--variant {variant} --gpus {gpus} --epoch-seconds 0.3 -o {tmp_path}"
    chosen = [word for option in options for word in ("--option", option)]
    result = CliRunner().invoke(main, [*page_arguments, *arguments.split(), *chosen])
    assert result.exit_code == 0 and "pre-check: no errors" in result.output, result.output
    (bundle,) = tmp_path.iterdir()
    document = json.loads((bundle / "result.json").read_text())
    settings = document["implementation"]["settings"]
    assert settings["strategy"] == ("single device" if gpus == 1 else "FSDP2 by block")
    assert {
        f"precision={settings['fabric_precision']}",
        f"checkpointing={settings['activation_checkpointing']}",
    } >= set(options)
    assert len(document["ranks"]) == gpus


@pytest.mark.parametrize(
    ("page", "words"), [("run.md", "--corpus corpus.txt"), ("sweep.md", "--precision")]
)
def test_command_of_a_page_passes_the_checks_before_a_run(
    page: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text("w1 w2 w3 w4\n" * 100)
    make_tokenizer(Path("tokenizer.json"))
    arguments = read_arguments(__file__, page, words)
    options = ["--smoke", "--simulate", "h200", "--dry-run"]
    result = CliRunner().invoke(main, [*arguments, *options])
    assert result.exit_code == 0, result.output
    assert "stack: torch, litgpt installed" in result.output
