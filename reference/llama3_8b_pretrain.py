"""LLaMA 3 8B pre-training: LitGPT's model, set-up and loop (`litgpt.pretrain.main`) on sequences of
4096 tokens.

The steps of LitGPT's own loop are measured. A batch begins where LitGPT asks for its tokens and
ends after its optimiser step: copy to int64, forward, loss, backward, clipping and AdamW. Nothing
in a batch waits for the device. The loop is left after the last batch, before LitGPT would save a
checkpoint. The speed that LitGPT prints is not used.

Configuration: LitGPT's `Llama-3-8B` (32 layers, 4096 wide, 32 heads in 8 groups, vocabulary 128256)
with LitGPT's initialisation; AdamW with the betas and the weight decay of LLaMA (Touvron et al.
2023, section 2.3).

`baseline` is LitGPT with its default settings, except for `bf16-true` (see the workload's notes):
the model is compiled as a whole, gradients are clipped, and the loss is computed eagerly, in fp32
and in chunks. `tuned` compiles each block and the loss, keeps the logits in bf16 and does not clip.
`fp8` is `tuned` with torchao's FP8 linear layers, scaled by tensor, in the blocks. `tuned-tf32` is
`tuned` in fp32 with TF32 products. `mayr` has the settings of Mayr et al. (docs/mayr.md):
`baseline` on sequences of 512 tokens in micro-batches of 4, whose gradients are summed up to a
batch. Several GPUs share the model by FSDP2. A block is then the
unit of sharding and, in every variant, of compilation.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from lightning.fabric import Fabric
from lightning.fabric.strategies import ModelParallelStrategy
from litgpt import GPT, Config, pretrain
from litgpt.args import EvalArgs, TrainArgs
from litgpt.utils import chunked_cross_entropy
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset
from torchmetrics.aggregation import RunningMean

from reference.inputs import check_inputs, check_weights, load_corpus_batches
from reference.litgpt_model import (
    Bf16,
    checkpoint_by_block,
    compile_by_block,
    compute_unchunked_loss,
    convert_to_fp8,
    shard_model,
)
from reference.training import Settings, hash_first_samples
from rules.contract import Built, Job, Recorder
from rules.input_hash import hash_file
from rules.workloads import workloads

SMOKE_LAYER = {
    "n_embd": 64,
    "n_head": 4,
    "head_size": 16,
    "n_query_groups": 2,
    "intermediate_size": 128,
}
SMOKE_MODEL = {"n_layer": 2, "padded_vocab_size": 512, **SMOKE_LAYER}
RESIDENT_BATCHES = 512
"""The number of batches of random tokens. On an H200, the epochs of a run have 264 steps at a batch
of 4 in bf16, and 968 at a batch of 1 in FP8; warm-up and calibration come before. A model that
repeats few batches learns them by heart, and throughput at the cap falls with the loss: by 4 % with
four sequences, and by 2.5 % with 16 at a batch of 2."""
# A low rate, so that the loss stays finite. Quality is not measured.
ADAMW = {"lr": 1e-4, "weight_decay": 0.1, "betas": (0.9, 0.95)}
MAYR_LEARNING_RATE = 2e-4
MAYR_MICRO_BATCH = 4
LITGPT_VARIANTS = ("baseline", "mayr")
"""The variants that leave model, loss and clipping as LitGPT has them."""
WARMUP_STEPS = 100
MAX_NORM = 1.0
NEVER = sys.maxsize


def build(job: Job) -> Built:
    """Check the inputs of the job and put the tokens on `job.device`.

    LitGPT builds the model in `pretrain_model`, so torch.OutOfMemoryError comes from there. Raises
    ValueError for an option, corpus, tokenizer or checkpoint that cannot be used.
    """
    check_inputs(job)
    if job.batch_size % choose_micro_batch(job):
        raise ValueError(
            f"batch {job.batch_size}: the variant {job.variant} has micro-batches of "
            f"{MAYR_MICRO_BATCH}; give a multiple of it"
        )
    if job.variant == "tuned-tf32":
        if job.options.get("precision") == "bf16-true":
            raise ValueError(
                "option precision=bf16-true: the variant tuned-tf32 has its parameters in fp32; "
                "leave the option out, or give precision=bf16-mixed, which has so too"
            )
        torch.set_float32_matmul_precision("high")  # TF32 in products of fp32
    config = make_config(job.size, job.variant)
    with torch.device("meta"):  # only its parameters are counted and compared with the checkpoint
        model = GPT(config)
    if job.weights:
        check_weights(job.weights, model)
    tokens = make_tokens(job, config)
    return Built(
        run=partial(pretrain_model, job, config, tokens.to(job.device)),
        # A CPU has no TF32.
        precision="fp32"
        if job.variant == "tuned-tf32" and not job.device.startswith("cuda")
        else workloads()[job.workload].variants[job.variant],
        parameters=sum(p.numel() for p in model.parameters()),
        input_shape=(config.block_size,),
        settings=describe_settings(job, config, resident_batches=len(tokens)),
        # The hash of a corpus says which text it is, and its order is that of the file.
        inputs_sha256=None if job.corpus else hash_first_samples(tokens),
        corpus_sha256=hash_file(job.corpus) if job.corpus else None,
        weights_sha256=hash_file(job.weights) if job.weights else None,
    )


def choose_micro_batch(job: Job) -> int:
    """Return the number of sequences of a forward and backward pass."""
    return MAYR_MICRO_BATCH if job.variant == "mayr" else job.batch_size


def choose_fabric_precision(job: Job) -> str:
    """Return the data types of parameters and arithmetic, as Fabric names them."""
    return "32-true" if job.variant == "tuned-tf32" else job.options.get("precision", "bf16-true")


def make_config(size: str, variant: str = "tuned") -> Config:
    """Make LitGPT's configuration of the model in that size; its context is the sequence of the
    variant."""
    sequence = workloads()["llama3-8b-pretrain"].size(size, variant).input_shape[0]
    return Config.from_name(
        "Llama-3-8B", block_size=sequence, **(SMOKE_MODEL if size == "smoke" else {})
    )


def make_tokens(job: Job, config: Config) -> Tensor:
    """Return this rank's tokens on the CPU, from the corpus or at random: int32, of shape (batches,
    samples, sequence + 1). Raises ValueError for a corpus or tokenizer that cannot be used."""
    if job.corpus:
        return load_corpus_batches(job, config.block_size, config.padded_vocab_size)
    random = torch.Generator().manual_seed(job.seed + 1 + job.rank)  # other tokens on every rank
    shape = (RESIDENT_BATCHES, job.batch_size, config.block_size + 1)
    return torch.randint(config.padded_vocab_size, shape, generator=random, dtype=torch.int32)


def describe_settings(job: Job, config: Config, resident_batches: int) -> Settings:
    """Return the settings that a bundle records."""
    on_gpu = job.device.startswith("cuda")
    tuned = job.variant not in LITGPT_VARIANTS
    sharded = job.world_size > 1
    compiled = "blocks and loss" if tuned else "blocks" if sharded else "model"
    return {
        "sequence_length": config.block_size,
        "micro_batch": choose_micro_batch(job),
        "fabric_precision": choose_fabric_precision(job),
        "fp8_linear": "torchao, tensorwise, in the blocks" if job.variant == "fp8" else None,
        "activation_checkpointing": job.options.get("checkpointing", "none"),
        "strategy": "FSDP2 by block" if sharded else "single device",
        "compiled": compiled if on_gpu else None,
        "optimizer": "AdamW, fused" if on_gpu else "AdamW",
        "learning_rate": make_adamw_settings(job)["lr"],
        "warmup_steps": WARMUP_STEPS,
        "weight_decay": ADAMW["weight_decay"],
        "gradient_clipping": None if tuned else MAX_NORM,
        "tokenizer": describe_tokenizer(job),
        "resident_batches": resident_batches,
    }


def describe_tokenizer(job: Job) -> str | None:
    """Return what makes tokens of the corpus: a hash of the tokenizer, or `bytes`; None for random
    tokens."""
    if tokenizer := job.options.get("tokenizer"):
        return f"sha256 {hash_file(tokenizer)}"
    return "bytes" if job.corpus else None


def pretrain_model(job: Job, config: Config, tokens: Tensor, recorder: Recorder) -> None:
    """Let LitGPT pre-train on `tokens`, of shape (batches, samples, sequence + 1), until the
    recorder wants no more batches."""
    fabric = MeasuredFabric(job, recorder)
    fabric.launch()
    with (
        # On a CPU, where only the smoke size runs, compiling would take longer than the run.
        torch.compiler.set_stance("default" if job.device.startswith("cuda") else "force_eager"),
        patch.multiple(pretrain, **make_patches(tuned=job.variant not in LITGPT_VARIANTS)),
        tempfile.TemporaryDirectory() as unused,
        suppress(NoMoreBatchesError),
    ):
        pretrain.main(
            fabric=fabric,
            devices=job.world_size,
            seed=job.seed,
            initial_checkpoint_dir=Path(job.weights).parent if job.weights else None,
            resume=False,
            config=config,
            data=make_data(tokens, choose_micro_batch(job), recorder),
            out_dir=Path(unused),
            tokenizer_dir=None,
            tokenizer=None,
            train=make_train_args(job),
            eval=EvalArgs(interval=NEVER, final_validation=False),
            optimizer={"class_path": "torch.optim.AdamW", "init_args": make_adamw_settings(job)},
        )


def make_adamw_settings(job: Job) -> dict[str, Any]:
    """Return the arguments of AdamW."""
    return {**ADAMW, "lr": MAYR_LEARNING_RATE} if job.variant == "mayr" else dict(ADAMW)


def make_data(tokens: Tensor, micro_batch: int, recorder: Recorder) -> SimpleNamespace:
    """Make a data module as LitGPT expects it, without anything to fetch or prepare."""
    return SimpleNamespace(
        connect=lambda **_: None,
        prepare_data=lambda: None,
        setup=lambda: None,
        train_dataloader=lambda: DataLoader(
            Stream(partial(measure_batches, tokens, micro_batch, recorder)), batch_size=None
        ),
        val_dataloader=lambda: DataLoader(
            Stream(lambda: iter(tokens[:, :micro_batch])), batch_size=None
        ),
    )


def measure_batches(tokens: Tensor, micro_batch: int, recorder: Recorder) -> Iterator[Tensor]:
    """Yield the batches of `tokens` in turn, in parts of `micro_batch` sequences, and mark the
    start of each batch in the recorder.

    Raises NoMoreBatchesError once the recorder wants no more. LitGPT's loop has no other exit that
    does not save a checkpoint.
    """
    for batch in cycle(tokens):
        if not recorder.more():
            raise NoMoreBatchesError
        recorder.start()
        yield from batch.split(micro_batch)


def make_train_args(job: Job) -> TrainArgs:
    """Make the arguments of LitGPT's loop: without end, logs or checkpoints."""
    return TrainArgs(
        save_interval=None,
        log_interval=NEVER,
        global_batch_size=job.batch_size * job.world_size,
        micro_batch_size=choose_micro_batch(job),
        lr_warmup_steps=WARMUP_STEPS,
        max_tokens=NEVER,
        max_norm=MAX_NORM,
    )


def make_patches(tuned: bool) -> dict[str, Any]:
    """Return what replaces functions of `litgpt.pretrain` during a run, by name."""
    return {
        # LitGPT validates two batches before the first step. Run them eagerly, or the model would
        # be compiled a second time for them.
        "validate": torch.compiler.set_stance("force_eager")(pretrain.validate),
        # LitGPT's mean of the loss is only logged, but asks the device in every step whether the
        # loss is NaN.
        "RunningMean": partial(RunningMean, nan_strategy="disable"),
        "measure_flops": lambda *_: 0,  # only logged too
        "chunked_cross_entropy": torch.compile(compute_unchunked_loss)
        if tuned
        else chunked_cross_entropy,
    }


class NoMoreBatchesError(Exception):
    """The recorder wants no more batches."""


class Stream(IterableDataset):
    """A dataset of batches that are on the device already, as Fabric takes it."""

    def __init__(self, batches: Callable[[], Iterator[Tensor]]) -> None:
        self.batches = batches

    def __iter__(self) -> Iterator[Tensor]:
        return self.batches()


class MeasuredFabric(Fabric):
    """The Fabric of LitGPT's loop, on the processes that torchrun started. It is its own callback,
    and marks the end of each batch in the recorder."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        self.job, self.recorder = job, recorder
        processes_per_node = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        precision = choose_fabric_precision(job)
        # Fabric takes either a precision or a plugin that replaces it.
        bf16_logits = job.variant not in LITGPT_VARIANTS and precision == "bf16-true"
        super().__init__(
            accelerator="cuda" if job.device.startswith("cuda") else "cpu",
            devices=processes_per_node,
            num_nodes=job.world_size // processes_per_node,
            strategy=ModelParallelStrategy(partial(shard_model, precision), job.world_size, 1)
            if job.world_size > 1
            else "auto",
            precision=None if bf16_logits else precision,
            plugins=Bf16("bf16-true") if bf16_logits else None,
            callbacks=self,
        )

    def setup(self, module: nn.Module, *arguments: Any, **settings: Any) -> Any:
        """Change LitGPT's model as the variant and the options ask, before Fabric shards and
        compiles it."""
        model = module._orig_mod  # LitGPT hands over the model as torch.compile has wrapped it
        if self.job.variant == "fp8":
            convert_to_fp8(model, emulate=self.device.type == "cpu")
            # The layers are new objects, and sharded ones initialise themselves later. Tell them
            # to do so in LitGPT's way.
            pretrain.initialize_weights(self, model, model.config.n_layer, model.config.n_embd)
        if self.job.variant not in LITGPT_VARIANTS or self.job.world_size > 1:
            compile_by_block(model)
        if self.job.options.get("checkpointing") == "block":
            checkpoint_by_block(model)
        return super().setup(module, *arguments, **settings)

    def backward(self, tensor: Tensor, *arguments: Any, **settings: Any) -> None:
        self.loss = tensor.detach()
        super().backward(tensor, *arguments, **settings)

    def clip_gradients(self, *arguments: Any, **settings: Any) -> None:
        if self.job.variant in LITGPT_VARIANTS:
            # As LitGPT does it, but without asking the device whether the norm is finite.
            super().clip_gradients(*arguments, **settings, error_if_nonfinite=False)

    def on_after_optimizer_step(self, strategy: Any, optimizer: Any) -> None:
        size = workloads()[self.job.workload].size(self.job.size, self.job.variant)
        self.recorder.end(items=self.job.batch_size * size.items_per_sample, loss=self.loss)

    def print(self, *arguments: Any, **settings: Any) -> None:
        """Keep LitGPT's own figures out of the log of the run."""
