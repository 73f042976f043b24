"""LLaMA 3 8B serving: SGLang's own server, sent requests over HTTP.

The whole server is measured, from the prompt's token ids to the last generated token: HTTP,
scheduler, prefill and decode. Text is not tokenised, prompts share no prefix that could be cached,
and decoding is greedy. Every answer has the full length: no token ends it. The server streams the
first token at once and the others with the last. The client shares the machine with the server and
so has little to read.

Configuration: Table 3 of "The Llama 3 Herd of Models" (arXiv 2407.21783), context and norm as in
the published checkpoints, written out below and shrunk for the smoke size. Weights are SGLang's
random ones unless a checkpoint is given.

`baseline` is SGLang with its default settings. `tuned` keeps decoding in CUDA graphs at every batch
size up to the concurrency (SGLang's own limit on an H200 is 256) and keeps the KV cache in pages of
128 tokens, which decoding reads faster than single ones. Prefill needs no graph at 8 192 tokens a
chunk. No more requests run at once than the KV cache holds until their end; the others wait. If
memory were the limit, SGLang would admit requests in bursts and complete them in waves: with 1 024
in flight on an H200, the throughput of epochs varied by 4.3 %. `fp8` is `tuned` with the weights of
the linear layers in FP8 and the KV cache in bf16; activations are rounded to FP8 in front of these
layers. `fp8-kv` has the KV cache in FP8 too.

`mayr` has the settings of Mayr et al. (docs/mayr.md): SGLang's defaults, tensor parallelism, and
requests of uniform lengths.

Options: `attention` names an attention backend. Without it SGLang chooses one, FlashAttention 3 on
Hopper. `decode-attention` names another one for decoding alone: `trtllm_mha` is TensorRT-LLM's XQA
kernel, which reads pages of at most 64 tokens. `parallel` names how several accelerators share the
work. With `dp` each holds the whole model and takes its share of the requests. With `tp` each holds
a part of every layer.
"""

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from reference.sglang_server import DIRECT, read_memory_bytes, run_server
from reference.training import Settings
from rules.contract import Built, Job, Load, Progress, Request
from rules.input_hash import CHECKPOINT_PATTERN, hash_input
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
# The keys of a configuration that decide parameters and arithmetic.
SHAPE = (*SMOKE, "rope_theta", "hidden_act", "tie_word_embeddings")
TUNED_VARIANTS = ("tuned", "fp8", "fp8-kv")
FP8_ARGUMENTS = {
    "fp8": ("--quantization=fp8",),
    "fp8-kv": ("--quantization=fp8", "--kv-cache-dtype=fp8_e4m3"),
}
PAGE_TOKENS = 128
XQA_PAGE_TOKENS = 64
# SGLang gives 0.896 to 0.910 of an H200's memory to weights and KV cache. Graphs and activations
# take the rest, a larger share on a board with less memory.
MEMORY_SHARE = 0.85
# A replica may have this many times its share of the requests for a while.
UNEVEN = 1.125
# The last message of an answer holds all its token ids, in one line.
READ_BUFFER_BYTES = 1 << 22
RECORDED = (
    "attention_backend",
    "decode_attention_backend",
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
"""The settings of the running server that a bundle records."""


def build(job: Job) -> Built:
    """Start the server and wait until it answers.

    Raises ValueError for an option or checkpoint that cannot be used, torch.OutOfMemoryError if the
    server does not start for lack of memory, and RuntimeError if it does not start otherwise.
    """
    config = LLAMA3_8B | (SMOKE if job.size == "smoke" else {})
    check_inputs(job, config["max_position_embeddings"])
    memory_bytes = 0 if job.device == "cpu" else read_memory_bytes()
    arguments, environment = make_command_line(job, memory_bytes)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="sglang-")))
        (folder / "config.json").write_text(json.dumps(config))
        if job.weights is None:
            arguments += ["--model-path", str(folder), "--load-format", "dummy"]
            weights_sha256 = None
        else:
            arguments += ["--model-path", job.weights]
            weights_sha256 = hash_checkpoint(Path(job.weights), config)
        url = stack.enter_context(
            run_server(arguments, environment | {"TMPDIR": str(folder), "HF_HUB_OFFLINE": "1"})
        )
        with DIRECT.open(f"{url}/server_info") as answer:
            server_info = json.load(answer)
        running = stack.pop_all()  # the server runs on until `run` has ended

    def run(load: Load) -> None:
        with running:
            asyncio.run(drive_load(load, url))

    return Built(
        run=run,
        precision=workloads()[job.workload].variants[job.variant],
        parameters=count_parameters(config),
        input_shape=workloads()[job.workload].size(job.size, job.variant).input_shape,
        settings=describe_settings(server_info),
        vocabulary=config["vocab_size"],
        weights_sha256=weights_sha256,
    )


def check_inputs(job: Job, context_tokens: int) -> None:
    """Raise ValueError for an option or a file that the workload does not take, and for requests
    longer than the model's context."""
    workloads()[job.workload].check_inputs(job.options, job.corpus, job.weights)
    if job.requests and job.requests.prompt_tokens + job.requests.output_tokens > context_tokens:
        raise ValueError(
            "prompt and answer together are longer than the model's context of "
            f"{context_tokens} tokens"
        )


def make_command_line(job: Job, memory_bytes: int) -> tuple[list[str], dict[str, str]]:
    """Return arguments and environment of the server, except for the model. `memory_bytes` is the
    memory of one accelerator, and is not used on a CPU."""
    assert job.requests is not None
    parallel = job.options.get("parallel", "tp" if job.variant == "mayr" else "dp")
    arguments = [
        "--dtype=bfloat16",
        "--skip-tokenizer-init",
        "--disable-radix-cache",  # no two prompts share a prefix
        "--grammar-backend=none",
        "--sampling-backend=pytorch",  # greedy: nothing is sampled
        # SGLang streams token 1, this many later the next
        f"--stream-interval={job.requests.output_tokens + 1}",
        f"--random-seed={job.seed}",
        f"--{parallel}-size={job.accelerators}",
        "--enable-metrics",
        "--log-level=warning",
        *FP8_ARGUMENTS.get(job.variant, ()),
    ]
    on_cpu = job.device == "cpu"
    if attention := job.options.get("attention") or ("torch_native" if on_cpu else None):
        arguments.append(f"--attention-backend={attention}")
    if decode_attention := job.options.get("decode-attention"):
        arguments.append(f"--decode-attention-backend={decode_attention}")
    if on_cpu:
        arguments += ["--device=cpu", "--max-total-tokens=4096", "--disable-overlap-schedule"]
        arguments += [f"--cuda-graph-backend-{phase}=disabled" for phase in ("decode", "prefill")]
        # The model is so small that several threads would only wait for each other.
        return arguments, {"SGLANG_USE_CPU_ENGINE": "1", "OMP_NUM_THREADS": "1"}
    if job.variant in TUNED_VARIANTS:
        replicas = job.accelerators if parallel == "dp" else 1
        in_flight = math.ceil(
            job.requests.concurrency / replicas * (1 if replicas == 1 else UNEVEN)
        )
        capacity = count_fitting_requests(job, memory_bytes * job.accelerators // replicas)
        arguments += [
            f"--cuda-graph-max-bs-decode={min(in_flight, capacity)}",
            "--disable-prefill-cuda-graph",
            f"--page-size={XQA_PAGE_TOKENS if decode_attention else PAGE_TOKENS}",
        ]
        if capacity < in_flight:
            arguments.append(f"--max-running-requests={capacity * replicas}")
        if replicas > 1:
            # Requests sent to the replicas in turn would pile up at a slow one.
            arguments.append("--load-balance-method=total_requests")
    return arguments, {}


def count_fitting_requests(job: Job, memory_bytes: int) -> int:
    """Return how many requests of full length the KV cache of one replica holds beside the weights.
    `memory_bytes` is the memory of the replica."""
    assert job.requests is not None
    config = LLAMA3_8B | (SMOKE if job.size == "smoke" else {})
    head_width = config["hidden_size"] // config["num_attention_heads"]
    kv_values = 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * head_width
    kv_bytes = kv_values * (1 if job.variant == "fp8-kv" else 2)
    pages = math.ceil((job.requests.prompt_tokens + job.requests.output_tokens) / PAGE_TOKENS)
    # SGLang loads weights in bf16, also those that it converts to FP8.
    cache_bytes = MEMORY_SHARE * memory_bytes - 2 * count_parameters(config)
    return max(1, int(cache_bytes / (kv_bytes * PAGE_TOKENS * pages)))


async def drive_load(load: Load, url: str) -> None:
    """Let the load generator send its requests to the server at `url`."""
    # The load generator decides how many requests are in flight and how long it waits for them.
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        url, connector=connector, timeout=timeout, read_bufsize=READ_BUFFER_BYTES
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
                        message = json.loads(line[6:])
                        # The status is sent before the stream, so later errors are messages.
                        if "error" in message:
                            raise RuntimeError(message["error"]["message"])
                        yield Progress(
                            message["meta_info"]["prompt_tokens"],
                            message["meta_info"]["completion_tokens"],
                        )

        async def count_generated_tokens() -> int:
            async with session.get("/metrics") as answer:
                return sum_generated_tokens(await answer.text())

        await load.drive(send, count_generated_tokens)


def sum_generated_tokens(metrics: str) -> int:
    """Return the number of generated tokens, over all label sets, from the server's metrics in
    Prometheus' text format; 0 before the first token."""
    counts = re.findall(r"^sglang:generation_tokens_total(?:\{.*\})? (\S+)", metrics, re.M)
    return round(sum(float(count) for count in counts))


def count_parameters(config: dict[str, Any]) -> int:
    """Return the number of parameters: embedding and output head, attention, gated MLP, two norms
    a layer and one at the end."""
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    grouped = hidden * config["num_key_value_heads"] // config["num_attention_heads"]
    layer = 2 * hidden * (hidden + grouped) + 3 * hidden * config["intermediate_size"] + 2 * hidden
    return 2 * config["vocab_size"] * hidden + layers * layer + hidden


def describe_settings(server_info: dict[str, Any]) -> Settings:
    """Return the settings that a bundle records, from the server's answer to `/server_info`."""
    # The scheduler reports its settings too. They prevail: it has adapted some of them.
    scheduled = server_info | server_info["internal_states"][0]
    decode_graphs = scheduled["cuda_graph_config"]["decode"]
    return {
        "model_config": "arXiv 2407.21783, table 3",
        "sglang": scheduled["version"],
        "decoding": "greedy",
        "cuda_graph_backend_decode": decode_graphs["backend"],
        "cuda_graph_max_bs_decode": decode_graphs["max_bs"],
        "cuda_graph_backend_prefill": scheduled["cuda_graph_config"]["prefill"]["backend"],
        **{name: scheduled.get(name) for name in RECORDED},
    }


def hash_checkpoint(checkpoint: Path, config: dict[str, Any]) -> str:
    """Return the SHA-256 over the safetensors files of a Hugging Face checkpoint, in order of name.

    Raises ValueError if there are no such files, or if they are quantised or of a model of another
    shape.
    """
    config_file = checkpoint / "config.json"
    if not any(checkpoint.glob(CHECKPOINT_PATTERN)) or not config_file.is_file():
        raise ValueError(
            f"weights {checkpoint}: give a folder that holds config.json and *.safetensors files"
        )
    check_checkpoint_config(config_file, config)
    return hash_input(checkpoint)


def check_checkpoint_config(config_file: Path, config: dict[str, Any]) -> None:
    """Raise ValueError if the checkpoint of `config_file` is quantised, or not of the shape of
    `config`."""
    stored = json.loads(config_file.read_text())
    quantisation = [key for key in ("quantization_config", "compression_config") if key in stored]
    if quantisation:
        raise ValueError(
            f"weights {config_file}: {quantisation[0]}: the workload serves weights in bf16"
        )
    # NVIDIA's ModelOpt describes quantisation in a file of its own.
    hf_quant_config = config_file.with_name("hf_quant_config.json")
    if hf_quant_config.exists():
        raise ValueError(f"weights {hf_quant_config}: the workload serves weights in bf16")
    if differences := [
        f"{key} {stored.get(key)} instead of {config[key]}"
        for key in SHAPE
        if stored.get(key) != config[key]
    ]:
        raise ValueError(
            f"weights {config_file}: another model than the workload's: {', '.join(differences)}"
        )
