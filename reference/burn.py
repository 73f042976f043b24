"""Burn control: matrix products that make a board draw as much power as it can.

90 % of the free memory of the board is filled with square blocks. Two of them are the inputs, and
all others hold their product. The loop computes the product of one block after the other. Before a
block is written again, its bits are compared with those of the first product: equal inputs give
equal bits, so a difference is a fault of the board or of its memory, and it fails the run.

Random inputs are needed: with zeros or equal values few bits change, and the board draws less. The
option `input` chooses such inputs, to see what else than the power cap limits the clock. The option
`side` chooses the size of a block.
"""

import math
import re
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from rules.contract import BoardFault, Built, Job, Recorder
from rules.workloads import workloads

MEMORY_SHARE = 0.9
SMOKE_BLOCKS = 8
FEWEST_BLOCKS = 3
"""Two inputs and one result."""
DATA_TYPES = {
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "tf32": torch.float32,
    "fp64": torch.float64,
}
"""Data type of the blocks by precision. The inputs of fp8 have 8 bits, its results are bf16."""

Multiply = Callable[[Tensor], None]
"""Writes the product of the two inputs to a block."""
DrawBlock = Callable[[int, torch.dtype, torch.Generator], Tensor]
"""Returns an input of shape (side, side) from the side, the data type and a generator."""
INPUTS = "normal, uniform, zeros or sparse:SHARE, such as sparse:0.1"
"""The values of the option `input`."""


def parse_input(text: str) -> DrawBlock:
    """Return the function that draws an input: standard normal values; values uniform from -1 to 1;
    zeros; or normal values of which a share, chosen at random, is kept and the others are zero.

    Raises ValueError for other texts, and for a share that is not between 0 and 1.
    """

    def normal(side: int, data_type: torch.dtype, random: torch.Generator) -> Tensor:
        return torch.randn((side, side), dtype=data_type, generator=random, device=random.device)

    def uniform(side: int, data_type: torch.dtype, random: torch.Generator) -> Tensor:
        block = torch.rand((side, side), dtype=data_type, generator=random, device=random.device)
        return 2 * block - 1

    def zeros(side: int, data_type: torch.dtype, random: torch.Generator) -> Tensor:
        return torch.zeros((side, side), dtype=data_type, device=random.device)

    if text in ("normal", "uniform", "zeros"):
        return {"normal": normal, "uniform": uniform, "zeros": zeros}[text]
    found = re.fullmatch(r"sparse:(0?\.\d{1,6})", text)
    share = float(found[1]) if found else 0.0
    if not 0 < share < 1:
        raise ValueError(f"option input={text}: give {INPUTS}")

    def sparse(side: int, data_type: torch.dtype, random: torch.Generator) -> Tensor:
        values = normal(side, data_type, random)
        kept = torch.rand((side, side), generator=random, device=random.device) < share
        return values * kept

    return sparse


def build(job: Job) -> Built:
    """Fill the memory of `job.device` with blocks and compute every product once.

    Raises ValueError for options and files that the workload does not take, for a precision that
    the device does not support, and if the device has no room for three blocks.
    """
    workload = workloads()[job.workload]
    workload.check_inputs(job.options, job.corpus, job.weights)
    input_name = job.options.get("input", "normal")
    draw_block = parse_input(input_name)
    size, precision = workload.size(job.size), workload.variants[job.variant]
    device, side = torch.device(job.device), int(job.options.get("side", size.input_shape[0]))
    if device.type == "cpu" and job.size == "full":
        raise ValueError("burn in its full size needs a GPU; add --smoke")
    torch.set_float32_matmul_precision("high")  # TF32 in products of float32
    multiply = make_product(job, precision, side, draw_block)
    blocks = make_blocks(job, precision, side, multiply)
    return Built(
        run=partial(
            burn, job=job, multiply=multiply, blocks=blocks, item_flops=size.flops_per_item
        ),
        # A CPU has no TF32: it computes in fp32.
        precision="fp32" if device.type == "cpu" and precision == "tf32" else precision,
        parameters=side * side,
        input_shape=(side, side),
        settings={
            "matrix_values": input_name,
            "block_bytes": blocks[0].nbytes,
            "blocks": len(blocks) + 2,
            "memory_share": MEMORY_SHARE if job.size == "full" else None,
            "compared": "sum of the bits of every result",
        },
    )


def make_product(job: Job, precision: str, side: int, draw_block: DrawBlock) -> Multiply:
    """Draw the two inputs, of shape (side, side), and return the function that multiplies them."""
    # All ranks have the same inputs: their boards draw the same power.
    random = torch.Generator(job.device).manual_seed(job.seed)
    # All bits of the inputs must be random, so those of fp64 are not made from float32.
    data_type = torch.float64 if precision == "fp64" else torch.float32
    first, second = (draw_block(side, data_type, random) for _ in range(2))
    if precision == "fp8":
        scale = torch.ones((), device=job.device)
        first, second = (block.to(torch.float8_e4m3fn) for block in (first, second))

        def multiply(result: Tensor) -> None:
            # The second input is stored by columns, as the tensor cores require for 8 bits.
            torch._scaled_mm(first, second.t(), scale, scale, out_dtype=torch.bfloat16, out=result)

        return multiply
    first, second = (block.to(DATA_TYPES[precision]) for block in (first, second))
    return lambda result: torch.mm(first, second, out=result)


def make_blocks(job: Job, precision: str, side: int, multiply: Multiply) -> Tensor:
    """Fill the free memory with results and return them, of shape (blocks, side, side)."""
    data_type = DATA_TYPES.get(precision, torch.bfloat16)
    result = torch.empty((side, side), dtype=data_type, device=job.device)
    try:
        # The first product also takes the memory that the library needs for itself.
        multiply(result)
        if torch.device(job.device).type == "cuda":
            torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, NotImplementedError) as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        raise ValueError(
            f"--precision {precision}: {job.device} computes no products of this precision "
            f"({reason}); use another one"
        ) from None
    count = SMOKE_BLOCKS
    if job.size == "full":
        # The inputs count as two blocks. They and the first result are allocated already.
        torch.cuda.empty_cache()
        free_bytes = torch.cuda.mem_get_info(job.device)[0]
        count = int(MEMORY_SHARE * (free_bytes + 3 * result.nbytes) / result.nbytes)
    if job.world_size > 1:
        # The bundle states one number of blocks for all ranks.
        smallest = torch.tensor(count, device=job.device)
        torch.distributed.all_reduce(smallest, torch.distributed.ReduceOp.MIN)
        count = int(smallest)
    if count < FEWEST_BLOCKS:
        raise ValueError(
            f"{job.device} has no free memory for {FEWEST_BLOCKS} blocks of {result.nbytes:,} "
            "bytes; end the processes that use it"
        )
    del result
    blocks = torch.empty((count - 2, side, side), dtype=data_type, device=job.device)
    for block in blocks:
        multiply(block)
    return blocks


def burn(
    recorder: Recorder, job: Job, multiply: Multiply, blocks: Tensor, item_flops: float
) -> None:
    """Compute products until the recorder wants no more. Raises BoardFault if the bits of a result
    differ from those of the first one."""
    count, side = len(blocks), blocks.shape[-1]
    # The sum of the bits as 64-bit words stands for a block. It wraps around, and a single changed
    # bit always changes it. A sum reads a block once; comparing two blocks would read both.
    words = blocks.view(torch.int64)
    comparison = Comparison(words[0].sum(), count, job)
    items = products = 0
    while recorder.more():
        recorder.start()
        items += job.batch_size
        # A batch is a whole number of items and not of products. The products of all batches
        # together are never fewer than their items require.
        last = math.ceil(items * item_flops / (2 * side**3))
        sums = []
        for product in range(products, last):
            # The block was in memory since the loop wrote it one pass over all blocks ago.
            sums.append(words[product % count].sum())
            multiply(blocks[product % count])
        comparison.add(products, sums)
        products = last
        recorder.end(items=job.batch_size)
        comparison.check()
    # What the last pass wrote.
    comparison.add(0, [block.sum() for block in words])
    if blocks.is_cuda:
        torch.cuda.synchronize()
    comparison.check()


class Comparison:
    """Compares the sums of blocks with that of the first product. The device counts the faults of
    each block. The host looks at a copy of the counts, which may be some batches old, and never
    waits for the device."""

    def __init__(self, expected: Tensor, blocks: int, job: Job) -> None:
        self._expected, self._job = expected, job
        self._faults = torch.zeros(blocks, dtype=torch.int64, device=expected.device)
        # The device writes to pinned memory while the host goes on.
        is_cuda = expected.is_cuda
        self._copied_faults = torch.zeros(blocks, dtype=torch.int64, pin_memory=is_cuda)

    def add(self, first: int, sums: Sequence[Tensor]) -> None:
        """Compare the sums of the blocks that hold the products from number `first` on."""
        if not sums:
            return
        differs = torch.stack(list(sums)) != self._expected
        products = torch.arange(first, first + len(sums), device=differs.device)
        self._faults.index_add_(0, products % len(self._faults), differs.long())
        self._copied_faults.copy_(self._faults, non_blocking=True)

    def check(self) -> None:
        """Raise BoardFault if the copy has a fault."""
        if faulty := self._copied_faults.nonzero().flatten().tolist():
            accelerator = ", ".join(self._job.uuids) or self._job.device
            names = ", ".join(map(str, faulty[:4]))
            more = f" and {len(faulty) - 4} more" if len(faulty) > 4 else ""
            raise BoardFault(
                f"{accelerator}: block {names}{more} of {len(self._copied_faults)} differs from "
                "the first product of the same inputs; the board or its memory is faulty: have it "
                "checked, and measure on another one"
            )
