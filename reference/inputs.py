"""Checks and reads the inputs of a submitter before a run: options, a text to train on, its
tokenizer and a checkpoint."""

from array import array
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from rules.contract import Job
from rules.workloads import workloads

READ_CHARACTERS = 1 << 20


def check_inputs(job: Job) -> None:
    """Raise ValueError for an option or a file that the workload does not take, and for a tokenizer
    that has no effect."""
    workloads()[job.workload].check_inputs(job.options, job.corpus, job.weights)
    if "tokenizer" in job.options and not job.corpus:
        raise ValueError(
            "option tokenizer: there is no corpus to tokenise; name one, or leave the tokenizer out"
        )


def load_corpus_batches(job: Job, sequence: int, vocabulary: int) -> Tensor:
    """Return this rank's part of `job.corpus`: int32, of shape (batches, samples, sequence + 1).
    Each sequence is followed by its last target.

    The option `tokenizer` names a `tokenizer.json`. Without it the token ids are the file's bytes.
    Raises ValueError if a file cannot be read, holds less than one batch of all ranks, or has
    tokens beyond the vocabulary.
    """
    tokens = read_tokens(str(job.corpus), job.options.get("tokenizer"))
    step = job.world_size * job.batch_size
    if len(tokens) < step * sequence + 1:
        raise ValueError(
            f"corpus {job.corpus}: its {len(tokens)} tokens are too few: {step} sequences of "
            f"{sequence} take {step * sequence + 1}; take a longer text or a smaller batch"
        )
    if (largest := int(tokens.max())) >= vocabulary:
        raise ValueError(
            f"tokenizer {job.options.get('tokenizer')}: token id {largest} is beyond the model's "
            f"vocabulary of {vocabulary}; take the model's own tokenizer"
        )
    # Windows overlap by one token: the last target of a sequence is the first token of the next.
    rows = tokens.unfold(0, sequence + 1, sequence)
    batches = rows[: len(rows) // step * step].unflatten(0, (-1, job.world_size, job.batch_size))
    return batches[:, job.rank].to(torch.int32).contiguous()


def read_tokens(corpus: str, tokenizer: str | None) -> Tensor:
    """Return the token ids of the text file `corpus`, in order. Raises ValueError if the file or
    the tokenizer cannot be read."""
    try:
        if tokenizer is None:
            # torch.frombuffer takes no empty buffer; one byte is too short for a batch too.
            content = bytearray(Path(corpus).read_bytes()) or bytearray(1)
            return torch.frombuffer(content, dtype=torch.uint8)
        encode = load_tokenizer(tokenizer).encode
        ids = array("i", [0])  # a buffer may not be empty; this first id is left out below
        with Path(corpus).open(encoding="utf-8") as text:
            # In pieces of whole lines: encoding a large text at once takes much more memory.
            while lines := text.readlines(READ_CHARACTERS):
                ids.extend(encode("".join(lines), add_special_tokens=False).ids)
        return torch.frombuffer(ids, dtype=torch.int32)[1:]
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"corpus {corpus}: cannot be read ({error}); name a text file in UTF-8"
        ) from None


def load_tokenizer(path: str) -> Tokenizer:
    """Load the tokenizer of a `tokenizer.json`. Raises ValueError if `path` is none."""
    try:
        return Tokenizer.from_file(path)
    except Exception as error:  # the library raises nothing more exact
        raise ValueError(
            f"tokenizer {path}: cannot be read ({error}); name a tokenizer.json"
        ) from None


def check_weights(path: str, model: nn.Module) -> None:
    """Raise ValueError if `path` is not a LitGPT checkpoint of `model`, which may be on the meta
    device."""
    if Path(path).name != "lit_model.pth":
        raise ValueError(
            f"checkpoint {path}: LitGPT's checkpoints are named lit_model.pth; convert it "
            "with litgpt first"
        )
    try:
        # Mapped, so that only names and shapes are read from the disk.
        stored_shapes = {
            name: tuple(tensor.shape)
            for name, tensor in torch.load(path, mmap=True, weights_only=True).items()
        }
    except Exception as error:  # torch.load raises errors of many types
        reason = str(error).split("\n", maxsplit=1)[0]
        raise ValueError(
            f"checkpoint {path}: cannot be read ({reason}); convert it again with litgpt"
        ) from None
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    names = stored_shapes.keys() | shapes.keys()
    if different := sorted(name for name in names if stored_shapes.get(name) != shapes.get(name)):
        name = different[0]
        raise ValueError(
            f"checkpoint {path}: not of this model, {len(different)} tensors differ ({name} is "
            f"{stored_shapes.get(name, 'missing')}, the model's is "
            f"{shapes.get(name, 'not there')})"
        )
