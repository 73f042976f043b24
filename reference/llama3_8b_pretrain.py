"""LLaMA 3 8B pre-training: LitGPT's model, set-up and loop (`litgpt.pretrain.main`) on sequences of
4096 tokens.

What is measured: the steps of LitGPT's own loop. A batch begins where LitGPT asks for its tokens
and ends after its optimiser step: copy to int64, forward, loss, backward, clipping and AdamW.
Nothing in there waits for the device. The loop is left after the last batch, before LitGPT would
save a checkpoint. What LitGPT prints of its speed is not used.

Configuration: LitGPT's `Llama-3-8B` (32 layers, 4096 wide, 32 heads in 8 groups, vocabulary 128256)
with LitGPT's initialisation; AdamW with the betas and the weight decay of LLaMA (Touvron et al.
2023, section 2.3).

`baseline` is LitGPT as it comes but for `bf16-true` (see the workload's notes): the model compiled
as a whole, gradients clipped, the loss taken eagerly, in fp32 and in chunks. `tuned` compiles block
by block and the loss too, keeps the logits in bf16 and does not clip. `fp8` is `tuned` with
torchao's FP8 linear layers, scaled by tensor, in the blocks. Several GPUs share the model by FSDP2,
where a block is the unit of sharding and, in every variant, of compilation.
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

from reference.inputs import check_options, check_weights, corpus_batches, sha256
from reference.litgpt_model import (
    Bf16,
    checkpoint_by_block,
    compile_by_block,
    shard,
    to_fp8,
    whole_cross_entropy,
)
from rules.contract import Built, Job, Recorder
from rules.workloads import workloads

SMOKE_LAYER = {
    "n_embd": 64,
    "n_head": 4,
    "head_size": 16,
    "n_query_groups": 2,
    "intermediate_size": 128,
}
SMOKE_MODEL = {"n_layer": 2, "padded_vocab_size": 512, **SMOKE_LAYER}
RESIDENT_BATCHES = 4  # of random tokens
ADAMW = {
    "lr": 1e-4,
    "weight_decay": 0.1,
    "betas": (0.9, 0.95),
}  # a low rate: the loss must fall, quality is not measured
WARMUP_STEPS = 100
MAX_NORM = 1.0
NEVER = sys.maxsize
OPTIONS = {
    "precision": ("bf16-true", "bf16-mixed"),
    "checkpointing": ("none", "block"),
    "tokenizer": (),
}


def build(job: Job) -> Built:
    """Check what is asked for and put the tokens on `job.device`.

    LitGPT builds the model in `run`, so torch.OutOfMemoryError comes from there. Raises ValueError
    for an option, corpus, tokenizer or checkpoint that cannot be used.
    """
    check_options(job, OPTIONS)
    config = configuration(job.size)
    with torch.device("meta"):
        model = GPT(config)
    if job.weights:
        check_weights(job.weights, model)
    if job.corpus:
        tokens = corpus_batches(job, config.block_size, config.padded_vocab_size)
    else:
        random = torch.Generator().manual_seed(
            job.seed + 1 + job.rank
        )  # other tokens on every rank
        shape = (RESIDENT_BATCHES, job.batch_size, config.block_size + 1)
        tokens = torch.randint(config.padded_vocab_size, shape, generator=random, dtype=torch.int32)
    on_gpu, tuned, sharded = (
        job.device.startswith("cuda"),
        job.variant != "baseline",
        job.world_size > 1,
    )
    tokenizer = job.options.get("tokenizer")
    compiled = "blocks and loss" if tuned else "blocks" if sharded else "model"
    return Built(
        run=partial(run, job, config, tokens.to(job.device)),
        precision=workloads()[job.workload].variants[job.variant],
        parameters=sum(p.numel() for p in model.parameters()),
        input_shape=(config.block_size,),
        settings={
            "sequence_length": config.block_size,
            "micro_batch": job.batch_size,
            "fabric_precision": job.options.get("precision", "bf16-true"),
            "fp8_linear": "torchao, tensorwise, in the blocks" if job.variant == "fp8" else None,
            "activation_checkpointing": job.options.get("checkpointing", "none"),
            "strategy": "FSDP2 by block" if sharded else "single device",
            "compiled": compiled if on_gpu else None,
            "optimizer": "AdamW, fused" if on_gpu else "AdamW",
            "learning_rate": ADAMW["lr"],
            "warmup_steps": WARMUP_STEPS,
            "weight_decay": ADAMW["weight_decay"],
            "gradient_clipping": None if tuned else MAX_NORM,
            "tokenizer": f"sha256 {sha256(tokenizer)}"
            if tokenizer
            else "bytes"
            if job.corpus
            else None,
            "resident_batches": len(tokens),
        },
        corpus_sha256=sha256(job.corpus) if job.corpus else None,
        weights_sha256=sha256(job.weights) if job.weights else None,
    )


def run(job: Job, config: Config, tokens: Tensor, recorder: Recorder) -> None:
    """Let LitGPT pre-train on `tokens`, of shape (batches, samples, sequence + 1), until the
    recorder has enough."""
    on_gpu, tuned = job.device.startswith("cuda"), job.variant != "baseline"
    fabric = MeasuredFabric(job, recorder)
    fabric.launch()

    def measured_batches() -> Iterator[Tensor]:
        for batch in cycle(tokens):
            if not recorder.more():
                raise EnoughError
            recorder.start()
            yield batch

    data = SimpleNamespace(
        connect=lambda **_: None,
        prepare_data=lambda: None,
        setup=lambda: None,
        train_dataloader=lambda: DataLoader(Stream(measured_batches), batch_size=None),
        val_dataloader=lambda: DataLoader(Stream(lambda: iter(tokens)), batch_size=None),
    )
    train = TrainArgs(
        save_interval=None,
        log_interval=NEVER,
        global_batch_size=job.batch_size * job.world_size,
        micro_batch_size=job.batch_size,
        lr_warmup_steps=WARMUP_STEPS,
        max_tokens=NEVER,
        max_norm=MAX_NORM,
    )
    in_litgpt: dict[str, Any] = {
        # It validates two batches before the first step: eagerly here, or the model would be
        # compiled a second time for it.
        "validate": torch.compiler.set_stance("force_eager")(pretrain.validate),
        # Its mean of the loss, which is only logged, asks the device in every step whether the loss
        # is NaN.
        "RunningMean": partial(RunningMean, nan_strategy="disable"),
        "measure_flops": lambda *_: 0,  # for its log too
        "chunked_cross_entropy": torch.compile(whole_cross_entropy)
        if tuned
        else chunked_cross_entropy,
    }
    with (
        # On a CPU, where only the smoke size runs, compiling would take longer than the run.
        torch.compiler.set_stance("default" if on_gpu else "force_eager"),
        patch.multiple(pretrain, **in_litgpt),
        tempfile.TemporaryDirectory() as unused,
        suppress(EnoughError),
    ):
        pretrain.main(
            fabric=fabric,
            devices=job.world_size,
            seed=job.seed,
            initial_checkpoint_dir=Path(job.weights).parent if job.weights else None,
            resume=False,
            config=config,
            data=data,
            out_dir=Path(unused),
            tokenizer_dir=None,
            tokenizer=None,
            train=train,
            eval=EvalArgs(interval=NEVER, final_validation=False),
            optimizer={"class_path": "torch.optim.AdamW", "init_args": dict(ADAMW)},
        )


class EnoughError(Exception):
    """The recorder wants no more batches."""


class Stream(IterableDataset):
    """Batches that are on the device already, as a dataset for Fabric."""

    def __init__(self, batches: Callable[[], Iterator[Tensor]]) -> None:
        self.batches = batches

    def __iter__(self) -> Iterator[Tensor]:
        return self.batches()


class MeasuredFabric(Fabric):
    """The Fabric of LitGPT's loop, on the processes that torchrun started, and its own callback."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        self.job, self.recorder = job, recorder
        local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        precision = job.options.get("precision", "bf16-true")
        lean = job.variant != "baseline" and precision == "bf16-true"
        super().__init__(
            accelerator="cuda" if job.device.startswith("cuda") else "cpu",
            devices=local,
            num_nodes=job.world_size // local,
            strategy=ModelParallelStrategy(partial(shard, precision), job.world_size, 1)
            if job.world_size > 1
            else "auto",
            precision=None if lean else precision,
            plugins=Bf16("bf16-true") if lean else None,
            callbacks=self,
        )

    def setup(self, module: nn.Module, *others: Any, **settings: Any) -> Any:
        """Takes LitGPT's model, marked for compilation, and changes it before it is sharded and
        compiled."""
        model = module._orig_mod
        if self.job.variant == "fp8":
            to_fp8(model, emulate=self.device.type == "cpu")
            # The layers are new objects, and where they are sharded they initialise themselves
            # later: as LitGPT wants it.
            pretrain.initialize_weights(self, model, model.config.n_layer, model.config.n_embd)
        if self.job.variant != "baseline" or self.job.world_size > 1:
            compile_by_block(model)
        if self.job.options.get("checkpointing") == "block":
            checkpoint_by_block(model)
        return super().setup(module, *others, **settings)

    def backward(self, tensor: Tensor, *others: Any, **settings: Any) -> None:
        self.loss = tensor.detach()
        super().backward(tensor, *others, **settings)

    def clip_gradients(self, *others: Any, **settings: Any) -> None:
        if (
            self.job.variant == "baseline"
        ):  # as LitGPT does it, but without asking the device whether the norm is finite
            super().clip_gradients(*others, **settings, error_if_nonfinite=False)

    def on_after_optimizer_step(self, strategy: Any, optimizer: Any) -> None:
        items_per_sample = workloads()[self.job.workload].size(self.job.size).items_per_sample
        self.recorder.end(items=self.job.batch_size * items_per_sample, loss=self.loss)

    def print(self, *others: Any, **settings: Any) -> None:
        """Keeps LitGPT's own figures out of the log of the run."""


def configuration(size: str) -> Config:
    """LitGPT's configuration of the model in that size; its context is the workload's sequence."""
    sequence = workloads()["llama3-8b-pretrain"].size(size).input_shape[0]
    return Config.from_name(
        "Llama-3-8B", block_size=sequence, **(SMOKE_MODEL if size == "smoke" else {})
    )
