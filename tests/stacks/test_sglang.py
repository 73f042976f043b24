"""LLaMA 3 8B serving: the definition against the configuration, and SGLang's real server, on the
CPU, in the smoke size."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import save_file
from support.console.stack_runs import read_arguments

from harness.cli import main
from harness.run.workers.load_generator import Answer, LoadGenerator
from reference import sglang_server
from reference.llama3_8b_serve import (
    LLAMA3_8B,
    SMOKE,
    build,
    count_parameters,
    make_command_line,
    sum_generated_tokens,
)
from rules.contract import Built, Job, RequestSet
from rules.workloads import PRECISION_SETTINGS, Size, workloads

DEFINED = workloads()["llama3-8b-serve"]
CONFIGS = {"full": LLAMA3_8B, "smoke": LLAMA3_8B | SMOKE}
REQUESTS = RequestSet(prompt_tokens=16, output_tokens=8, concurrency=4)
GONE_TIMEOUT_S = 60.0
H200_BYTES = int(139.8 * 2**30)
SYSTEM = Path(__file__).parents[2] / "submissions/reference/system.toml"


def make_job(device: str = "cpu", requests: RequestSet = REQUESTS, **fields) -> Job:
    return Job(
        "llama3-8b-serve",
        fields.pop("variant", "tuned"),
        fields.pop("size", "smoke"),
        4,
        1,
        device,
        requests=requests,
        **fields,
    )


def make_random_weights(config: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Random weights under the names that a Hugging Face checkpoint gives them."""
    hidden, inner, words = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    grouped = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
    attention = {
        "q": (hidden, hidden),
        "k": (grouped, hidden),
        "v": (grouped, hidden),
        "o": (hidden, hidden),
    }
    shapes: dict[str, tuple[int, ...]] = {
        f"self_attn.{name}_proj": shape for name, shape in attention.items()
    }
    shapes |= {
        "mlp.gate_proj": (inner, hidden),
        "mlp.up_proj": (inner, hidden),
        "mlp.down_proj": (hidden, inner),
    }
    shapes |= {"input_layernorm": (hidden,), "post_attention_layernorm": (hidden,)}
    model = {
        f"model.layers.{n}.{name}": shape
        for n in range(config["num_hidden_layers"])
        for name, shape in shapes.items()
    }
    model |= {
        "model.embed_tokens": (words, hidden),
        "model.norm": (hidden,),
        "lm_head": (words, hidden),
    }
    return {
        f"{name}.weight": torch.randn(shape, dtype=torch.bfloat16) for name, shape in model.items()
    }


@pytest.mark.parametrize("size", CONFIGS)
def test_parameters_are_those_of_the_model(size: str) -> None:
    with torch.device("meta"):
        weights = make_random_weights(CONFIGS[size])
    assert (
        count_parameters(CONFIGS[size])
        == sum(w.numel() for w in weights.values())
        == DEFINED.size(size).parameters
    )


@pytest.mark.parametrize("size", CONFIGS)
def test_flops_per_item_are_those_of_a_request(size: str) -> None:
    config, defined = CONFIGS[size], DEFINED.size(size)
    head = config["vocab_size"] * config["hidden_size"]
    norms = (2 * config["num_hidden_layers"] + 1) * config["hidden_size"]
    layers = defined.parameters - 2 * head - norms
    per_pair = config["num_hidden_layers"] * 2 * 2 * config["hidden_size"]  # keys, then values

    def check(defined: Size, prompts: range, outputs: range) -> None:
        """Compare with the sum over all pairs of lengths."""
        weights = attention = 0
        for prompt, output in product(prompts, outputs):
            read = prompt + output - 1  # the last token is generated, but not read again
            weights += 2 * layers * read + 2 * head * output
            attention += per_pair * read * (read + 1) // 2
        tokens = len(prompts) * sum(outputs)
        assert defined.min_flops_per_item == pytest.approx(weights / tokens, rel=1e-4)
        assert defined.flops_per_item == pytest.approx((weights + attention) / tokens, rel=1e-4)

    requests = defined.request_set(1)
    check(
        defined,
        range(requests.prompt_tokens, requests.prompt_tokens + 1),
        range(requests.output_tokens, requests.output_tokens + 1),
    )
    drawn = DEFINED.size(size, "mayr").request_set(1)
    assert drawn.uniform
    check(
        DEFINED.size(size, "mayr"),
        range(1, drawn.prompt_tokens + 1),
        range(1, drawn.output_tokens + 1),
    )


def test_tokens_generated_are_summed_over_the_metrics_of_all_replicas() -> None:
    metrics = """
# TYPE sglang:generation_tokens_total counter
sglang:generation_tokens_total{model_name="a b",dp_rank="0"} 1024.0
sglang:generation_tokens_total{model_name="a b",dp_rank="1"} 1.2e+06
sglang:prompt_tokens_total{model_name="a b",dp_rank="1"} 77.0
sglang:generation_tokens_total_created{model_name="a b"} 1.7e+09
"""
    assert sum_generated_tokens(metrics) == 1_201_024
    assert sum_generated_tokens("") == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"atention": "fa3"},
            r"option atention=fa3: .* no option atention; "
            r"the options are attention, decode-attention, parallel",
        ),
        ({"attention": "fa9"}, r"option attention=fa9: give one of fa3, flashinfer, triton"),
        ({"parallel": "pp"}, r"option parallel=pp: give one of dp, tp"),
    ],
)
def test_an_unknown_option_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(make_job(options=options))


@pytest.mark.parametrize(
    ("variant", "expected", "absent"),
    [
        ("fp8", {"--quantization=fp8", "--page-size=128", "--dp-size=4"}, "--kv-cache-dtype"),
        ("fp8-kv", {"--quantization=fp8", "--kv-cache-dtype=fp8_e4m3"}, "--tp-size"),
        ("mayr", {"--tp-size=4", "--dtype=bfloat16"}, "--page-size"),
        ("tuned", {"--page-size=128"}, "--quantization"),
    ],
)
def test_a_variant_is_a_choice_of_arguments(variant: str, expected: set[str], absent: str) -> None:
    requests = RequestSet(1024, 512, concurrency=1000)
    job = make_job("cuda:0", requests, variant=variant, accelerators=4)
    arguments, _ = make_command_line(job, H200_BYTES)
    assert expected <= set(arguments)
    assert not [argument for argument in arguments if argument.startswith(absent)]


def test_precision_variants_differ_in_quantization_only() -> None:
    variants = DEFINED.precision_variants
    requests = RequestSet(1024, 512, concurrency=1000)
    tuned, fp8 = (
        set(make_command_line(make_job("cuda:0", requests, variant=variant), H200_BYTES)[0])
        for variant in variants
    )
    assert variants == ("tuned", "fp8")
    assert tuned ^ fp8 == {"--quantization=fp8"}
    assert "quantization" in PRECISION_SETTINGS


def test_several_accelerators_are_replicas_or_parts_of_one_server() -> None:
    request_set = RequestSet(1024, 512, concurrency=1000)
    replicas, _ = make_command_line(make_job("cuda:0", request_set, accelerators=4), H200_BYTES)
    assert "--dp-size=4" in replicas and "--cuda-graph-max-bs-decode=282" in replicas
    parts, _ = make_command_line(
        make_job(
            "cuda:0", request_set, accelerators=4, options={"parallel": "tp", "attention": "fa3"}
        ),
        H200_BYTES,
    )
    assert (
        "--tp-size=4" in parts
        and "--cuda-graph-max-bs-decode=1000" in parts
        and "--attention-backend=fa3" in parts
    )
    xqa, _ = make_command_line(
        make_job(
            "cuda:0", request_set, variant="fp8-kv", options={"decode-attention": "trtllm_mha"}
        ),
        H200_BYTES,
    )
    assert "--decode-attention-backend=trtllm_mha" in xqa and "--page-size=64" in xqa
    assert not [a for a in xqa if a.startswith(("--attention", "--prefill-attention"))]
    plain, _ = make_command_line(make_job("cuda:0", request_set, variant="baseline"), H200_BYTES)
    assert not [
        a
        for a in plain
        if a.startswith(
            ("--cuda-graph", "--enable-mixed", "--page", "--load", "--attention", "--max")
        )
    ]


TORCH = """
from types import SimpleNamespace
boards = [SimpleNamespace(total_memory=150_110_000_000), SimpleNamespace(total_memory=1)]
cuda = SimpleNamespace(get_device_properties=boards.__getitem__)
"""


def test_memory_is_that_of_the_first_accelerator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text(TORCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert sglang_server.read_memory_bytes() == 150_110_000_000


@pytest.mark.parametrize(
    ("variant", "memory_gib", "accelerators", "parallel", "capacity"),
    [
        ("tuned", 139.8, 1, "dp", 553),
        ("tuned", 79.2, 1, "dp", 279),
        ("fp8", 139.8, 1, "dp", 553),
        ("fp8-kv", 139.8, 1, "dp", 1107),
        ("tuned", 139.8, 2, "dp", 2 * 553),
        ("tuned", 139.8, 2, "tp", 1187),
    ],
)
@pytest.mark.parametrize("share", [0.8, 4.0])
def test_requests_beyond_memory_wait(
    variant: str, memory_gib: float, accelerators: int, parallel: str, capacity: int, share: float
) -> None:
    """A request of 1 536 tokens takes 192 MiB of bf16 cache, and the weights take 16.06 GB."""
    job = make_job(
        "cuda:0",
        RequestSet(1024, 512, int(share * capacity)),
        variant=variant,
        size="full",
        accelerators=accelerators,
        options={"parallel": parallel},
    )
    arguments, _ = make_command_line(job, int(memory_gib * 2**30))
    limit = [f"--max-running-requests={capacity}"] if share > 1 else []
    assert [a for a in arguments if a.startswith("--max-running")] == limit


def test_gpus_are_numbered_for_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    order = ["GPU-c", "GPU-a", "GPU-b"]
    monkeypatch.setattr("pynvml.nvmlInit", lambda: None)
    monkeypatch.setattr("pynvml.nvmlDeviceGetHandleByUUID", lambda uuid: uuid)
    monkeypatch.setattr("pynvml.nvmlDeviceGetIndex", order.index)
    numbered = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "2,0"}
    assert sglang_server._number_gpus({"CUDA_VISIBLE_DEVICES": "GPU-b,GPU-c"}) == numbered
    assert (
        sglang_server._number_gpus({"CUDA_VISIBLE_DEVICES": "1,0"})
        == sglang_server._number_gpus({})
        == {}
    )


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    torch.manual_seed(0)
    save_file(make_random_weights(CONFIGS["smoke"]), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIGS["smoke"]))
    return folder


def test_a_checkpoint_of_another_model_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"give a folder that holds config\.json and \*\.safetensors files"
    ):
        build(make_job(weights=str(tmp_path)))
    (tmp_path / "model.safetensors").write_bytes((checkpoint / "model.safetensors").read_bytes())
    config = (checkpoint / "config.json").read_text()
    (tmp_path / "config.json").write_text(
        config.replace('"num_hidden_layers": 2', '"num_hidden_layers": 3')
    )
    with pytest.raises(
        ValueError, match=r"another model than the workload's: num_hidden_layers 3 instead of 2"
    ):
        build(make_job(weights=str(tmp_path)))
    (tmp_path / "config.json").write_text(
        json.dumps({**json.loads(config), "quantization_config": {"quant_method": "fp8"}})
    )
    with pytest.raises(
        ValueError, match="quantization_config: the workload serves weights in bf16"
    ):
        build(make_job(weights=str(tmp_path)))


class Served:
    """A whole run against a real server with a real checkpoint."""

    def __init__(self, checkpoint: Path) -> None:
        self.epochs: list[list[Answer]] = []
        self.built: Built = build(make_job(weights=str(checkpoint)))
        group = find_server(os.getpid())
        assert group is not None
        self.running = list(list_processes(group))
        self.load = LoadGenerator(
            REQUESTS,
            512,
            1,
            3,
            0.5,
            lambda _, answers: self.epochs.append(answers),
            lambda *calibrated: None,
        )
        self.built.run(self.load)
        self.left = wait_for_processes(group)


def list_processes(group: int) -> Iterator[int]:
    """The processes of a group that still run; one that only waits to be reaped has ended."""
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            # The name of a process, in parentheses, may be of any bytes.
            state, _, process_group = (
                (directory / "stat").read_bytes().rsplit(b")", 1)[1].split()[:3]
            )
        except OSError:
            continue  # ended while this was looking
        if state not in (b"Z", b"X") and int(process_group) == group:
            yield int(directory.name)


def wait_for_processes(group: int) -> list[int]:
    """The processes of a group that were killed and still run; each closes its files a moment
    before it ends."""
    deadline_s = time.monotonic() + GONE_TIMEOUT_S
    while (remaining := list(list_processes(group))) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    return remaining


@pytest.fixture(scope="module")
def served(checkpoint: Path) -> Served:
    return Served(checkpoint)


def test_the_server_answers_every_request_in_full(served: Served) -> None:
    assert len(served.epochs) == 3
    for answer in (a for epoch in served.epochs for a in epoch):
        assert (answer.prompt_tokens, answer.output_tokens) == (16, 8)
        assert (
            answer.sent_ns < answer.first_ns < answer.end_ns
        )  # the first token comes before the others


def test_client_and_server_count_the_same_tokens(served: Served) -> None:
    tally = served.load.tally
    assert (
        tally.client_output_tokens == tally.server_output_tokens > 8 * sum(map(len, served.epochs))
    )


def test_the_server_and_its_children_are_gone_after_the_run(served: Served) -> None:
    assert len(served.running) >= 3  # HTTP server, scheduler, detokenizer
    assert served.left == []


def test_what_is_recorded_is_what_the_server_says_it_runs(served: Served, checkpoint: Path) -> None:
    settings = served.built.settings
    assert settings["attention_backend"] == "torch_native" and settings["stream_interval"] == 9
    assert settings["disable_radix_cache"] is True and settings["max_total_num_tokens"] == 4096
    assert settings["load_format"] == "auto"
    assert (served.built.precision, served.built.parameters, served.built.vocabulary) == (
        "bf16",
        139_584,
        512,
    )
    assert (
        served.built.weights_sha256
        == hashlib.sha256((checkpoint / "model.safetensors").read_bytes()).hexdigest()
    )


def test_a_server_that_does_not_start_says_why(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        RuntimeError,
        match=r"the SGLang server ended with status .* before it was ready: .*Error.*\n",
    ):
        build(make_job(options={"attention": "fa3"}))  # not on a CPU
    assert "Traceback" in capfd.readouterr().out  # the whole of it is in the run's log


PARENT = """
import sys
from reference.sglang_server import run_server
from reference.llama3_8b_serve import make_command_line
from test_sglang import make_job
arguments, environment = make_command_line(make_job(), memory_bytes=0)
with run_server(["--model-path", sys.argv[1], "--load-format", "dummy", *arguments], environment):
    print("ready", flush=True)
    input()
"""


@pytest.mark.parametrize("when", ["starting", "ready"])
def test_kill_9_of_the_parent_ends_the_server_and_its_children(when: str, checkpoint: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(checkpoint)],
        env={**os.environ, "PYTHONPATH": f"{Path(__file__).parent}:{Path(__file__).parents[1]}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    if when == "ready":
        assert any(line == "ready\n" for line in parent.stdout)
    while (
        not (group := find_server(parent.pid)) or len(list(list_processes(group))) < 3
    ):  # it and its first children
        assert parent.poll() is None
        time.sleep(0.01)
    os.kill(parent.pid, signal.SIGKILL)
    assert wait_for_processes(group) == []
    parent.wait()


def find_server(parent: int) -> int | None:
    """The process group that a child of `parent` leads."""
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        with suppress(ProcessLookupError):  # ended while this was looking
            if os.getpgid(int(child)) == int(child):
                return int(child)
    return None


def test_smoke_run_leaves_a_clean_bundle(tmp_path: Path) -> None:
    """The run of docs/run.md, with longer epochs."""
    arguments = read_arguments(__file__, "run.md", ".venvs/sglang")
    options = ["--epoch-seconds", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(main, [*arguments, *options])
    assert result.exit_code == 0, result.output
    assert "pre-check: no errors" in result.output


def test_run_of_a_page_on_several_accelerators_passes_the_checks_before_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(SYSTEM, "system.toml")
    arguments = read_arguments(__file__, "run.md", "parallel=tp")
    options = ["--smoke", "--simulate", "h200", "--dry-run"]
    result = CliRunner().invoke(main, [*arguments, *options])
    assert result.exit_code == 0, result.output
    assert "options: parallel=tp; implementation reference.llama3_8b_serve" in result.output
