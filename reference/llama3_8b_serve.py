"""LLaMA 3 8B serving: SGLang's own server, sent requests over HTTP.

Measured is the whole server, from the prompt's token ids to the last generated token: HTTP,
scheduler, prefill and decode. Text is not tokenised, prompts share nothing that could be cached,
and decoding is greedy. Every answer has the full length: no token ends it. The first token is
streamed at once and the others with the last, so that the client, which shares the machine with the
server, has little to read.

Configuration: Table 3 of "The Llama 3 Herd of Models" (arXiv 2407.21783), context and norm as in
the published checkpoints, written out below and shrunk for the smoke size. Weights are SGLang's
random ones unless a checkpoint is given.

`baseline` is SGLang as it comes. `tuned` keeps decoding in CUDA graphs at every batch size up to
the concurrency (SGLang's own limit on an H200 is 256) and keeps the KV cache in pages of 128
tokens, which decoding reads faster than single ones. Prefill needs no graph at 8 192 tokens a
chunk.

Options: `attention` names an attention backend (SGLang chooses one otherwise: FlashAttention 3 on
Hopper), and `parallel` says what several accelerators do: `dp`, each holds the whole model and
takes its share of the requests, or `tp`, each holds a part of every layer.
"""

import asyncio
import hashlib
import json
import math
import re
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from reference.sglang_server import DIRECT, serving
from rules.contract import Built, Job, Load, Progress, Request
from rules.workloads import workloads

LLAMA3_8B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 128_256,
    "hidden_size": 4096,
    "intermediate_size": 14_336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "rope_theta": 500_000.0,
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
SMOKE = {
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
SHAPE = (
    *SMOKE,
    "rope_theta",
    "hidden_act",
    "tie_word_embeddings",
)  # the keys that decide parameters and arithmetic
ATTENTION = ("fa3", "flashinfer", "triton")
PARALLEL = ("dp", "tp")
UNEVEN = 1.125  # how many more requests than its share a replica may have at times
READ_BUFFER_BYTES = 1 << 22  # the last message of an answer holds all its token ids, in one line
RECORDED = (
    "attention_backend",
    "sampling_backend",
    "chunked_prefill_size",
    "enable_mixed_chunk",
    "disable_overlap_schedule",
    "schedule_policy",
    "schedule_conservativeness",
    "effective_max_running_requests_per_dp",
    "max_total_num_tokens",
    "mem_fraction_static",
    "quantization",
    "kv_cache_dtype",
    "page_size",
    "disable_radix_cache",
    "stream_interval",
    "load_format",
    "dtype",
    "tp_size",
    "dp_size",
    "load_balance_method",
)
"""What is recorded of the settings that the server says it runs with."""


def build(job: Job) -> Built:
    """Start the server and wait until it answers.

    Raises ValueError for an option or checkpoint that it cannot use, RuntimeError where the server
    does not start and torch.OutOfMemoryError where that was for want of memory.
    """
    config = LLAMA3_8B | (SMOKE if job.size == "smoke" else {})
    if job.corpus:
        raise ValueError(f"{job.workload} takes no --corpus: leave it out")
    if (
        job.requests
        and job.requests.prompt_tokens + job.requests.output_tokens
        > config["max_position_embeddings"]
    ):
        raise ValueError(
            "prompt and answer together are longer than the model's context of "
            f"{config['max_position_embeddings']} tokens"
        )
    arguments, environment = command_line(job)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="sglang-")))
        (folder / "config.json").write_text(json.dumps(config))
        if job.weights is None:
            arguments += ["--model-path", str(folder), "--load-format", "dummy"]
            weights_sha256 = None
        else:
            arguments += ["--model-path", job.weights]
            weights_sha256 = checkpoint_sha256(Path(job.weights), config)
        url = stack.enter_context(
            serving(arguments, environment | {"TMPDIR": str(folder), "HF_HUB_OFFLINE": "1"})
        )
        with DIRECT.open(f"{url}/server_info") as answer:
            said = json.load(answer)
        running = stack.pop_all()  # it runs on until `run` has ended

    def run(load: Load) -> None:
        with running:
            asyncio.run(drive(load, url))

    return Built(
        run=run,
        precision=workloads()[job.workload].variants[job.variant],
        parameters=parameters(config),
        input_shape=workloads()[job.workload].size(job.size).input_shape,
        settings=settings(said),
        vocabulary=config["vocab_size"],
        weights_sha256=weights_sha256,
    )


def command_line(job: Job) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment of the server, but for the model. Raises ValueError for an option
    that is not known."""
    assert job.requests is not None
    options = {"attention": None, "parallel": "dp"} | job.options
    for name, value in options.items():
        known = {"attention": (None, *ATTENTION), "parallel": PARALLEL}.get(name)
        if known is None:
            raise ValueError(
                f"option {name}: there is none of that name; there are attention and parallel"
            )
        if value not in known:
            raise ValueError(f"option {name}={value}: give one of {', '.join(filter(None, known))}")
    arguments = [
        "--dtype=bfloat16",
        "--skip-tokenizer-init",
        "--disable-radix-cache",  # no two prompts share a beginning
        "--grammar-backend=none",
        "--sampling-backend=pytorch",  # greedy: nothing is sampled
        # SGLang streams token 1, this many later the next
        f"--stream-interval={job.requests.output_tokens + 1}",
        f"--random-seed={job.seed}",
        f"--{options['parallel']}-size={job.accelerators}",
        "--enable-metrics",
        "--log-level=warning",
    ]
    on_cpu = job.device == "cpu"
    if attention := options["attention"] or ("torch_native" if on_cpu else None):
        arguments.append(f"--attention-backend={attention}")
    if on_cpu:
        arguments += ["--device=cpu", "--max-total-tokens=4096", "--disable-overlap-schedule"]
        arguments += [f"--cuda-graph-backend-{phase}=disabled" for phase in ("decode", "prefill")]
        return arguments, {
            "SGLANG_USE_CPU_ENGINE": "1",
            "OMP_NUM_THREADS": "1",
        }  # for so small a model, threads only wait
    if job.variant == "tuned":
        replicas = job.accelerators if options["parallel"] == "dp" else 1
        running = math.ceil(job.requests.concurrency / replicas * (1 if replicas == 1 else UNEVEN))
        arguments += [
            f"--cuda-graph-max-bs-decode={running}",
            "--disable-prefill-cuda-graph",
            "--page-size=128",
        ]
        if replicas > 1:
            arguments.append(
                "--load-balance-method=total_requests"
            )  # in turn, a slow replica would fall behind
    return arguments, {}


async def drive(load: Load, url: str) -> None:
    """Let the load generator send its requests to the server at `url`."""
    limits = aiohttp.TCPConnector(
        limit=0
    )  # the load decides how many are in flight, and how long it waits
    patience = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        url, connector=limits, timeout=patience, read_bufsize=READ_BUFFER_BYTES
    ) as session:

        async def send(request: Request) -> AsyncIterator[Progress]:
            sampling = {
                "max_new_tokens": request.output_tokens,
                "ignore_eos": True,
                "temperature": 0,
            }
            body = {"input_ids": request.prompt, "sampling_params": sampling, "stream": True}
            async with session.post("/generate", json=body) as answer:
                if answer.status != 200:
                    raise RuntimeError(f"status {answer.status}: {await answer.text()}")
                async for line in answer.content:
                    if line.startswith(b"data: {"):
                        said = json.loads(line[6:])
                        if "error" in said:
                            raise RuntimeError(said["error"]["message"])
                        yield Progress(
                            said["meta_info"]["prompt_tokens"],
                            said["meta_info"]["completion_tokens"],
                        )

        async def generated() -> int:
            async with session.get("/metrics") as answer:
                return generation_tokens(await answer.text())

        await load.drive(send, generated)


def generation_tokens(metrics: str) -> int:
    """Tokens generated, over all label sets, from the server's metrics in Prometheus' text format;
    0 before the first."""
    return round(
        sum(
            float(value)
            for value in re.findall(
                r"^sglang:generation_tokens_total(?:\{.*\})? (\S+)", metrics, re.M
            )
        )
    )


def parameters(config: dict[str, Any]) -> int:
    """Number of parameters: embedding and output head, attention, gated MLP, and two norms a layer
    and one at the end."""
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    grouped = hidden * config["num_key_value_heads"] // config["num_attention_heads"]
    layer = 2 * hidden * (hidden + grouped) + 3 * hidden * config["intermediate_size"] + 2 * hidden
    return 2 * config["vocab_size"] * hidden + layers * layer + hidden


def settings(said: dict[str, Any]) -> dict[str, str | int | float | bool | None]:
    """What a bundle records of the server's account of itself; its scheduler's is the last word."""
    said |= said["internal_states"][0]
    decode_graphs = said["cuda_graph_config"]["decode"]
    return {
        "model_config": "arXiv 2407.21783, table 3",
        "sglang": said["version"],
        "decoding": "greedy",
        "cuda_graph_backend_decode": decode_graphs["backend"],
        "cuda_graph_max_bs_decode": decode_graphs["max_bs"],
        "cuda_graph_backend_prefill": said["cuda_graph_config"]["prefill"]["backend"],
        **{name: said.get(name) for name in RECORDED},
    }


def checkpoint_sha256(checkpoint: Path, config: dict[str, Any]) -> str:
    """SHA-256 over the safetensors files of a Hugging Face checkpoint, in order of name.

    Raises ValueError where there are none, or where they are quantised or of a model of another
    shape.
    """
    files = sorted(checkpoint.glob("*.safetensors"))
    if not files or not (checkpoint / "config.json").is_file():
        raise ValueError(
            f"weights {checkpoint}: give a folder that holds config.json and *.safetensors files"
        )
    found = json.loads((checkpoint / "config.json").read_text())
    if quantised := [key for key in ("quantization_config", "compression_config") if key in found]:
        raise ValueError(
            f"weights {checkpoint}/config.json: {quantised[0]}: the workload serves weights in bf16"
        )
    if (checkpoint / "hf_quant_config.json").exists():
        raise ValueError(
            f"weights {checkpoint}/hf_quant_config.json: the workload serves weights in bf16"
        )
    if other := [
        f"{key} {found.get(key)} instead of {config[key]}"
        for key in SHAPE
        if found.get(key) != config[key]
    ]:
        raise ValueError(
            f"weights {checkpoint}/config.json: another model than the workload's: "
            f"{', '.join(other)}"
        )
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as content:
            while chunk := content.read(1 << 24):
                digest.update(chunk)
    return digest.hexdigest()
