"""What a submitter may give to a run: options, a text to train on, its tokenizer, a checkpoint. All
is looked at before it."""

import hashlib
from array import array
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from rules.contract import Job

READ_CHARACTERS = 1 << 20


def check_options(job: Job, known: dict[str, tuple[str, ...]]) -> None:
    """Raises ValueError for an option that is not known, has no such value, or has no effect.

    `known` has the values of each option, none where it names a file.
    """
    for name, value in job.options.items():
        if name not in known or (known[name] and value not in known[name]):
            listed = ", ".join(
                f"{key}={'|'.join(values) or 'FILE'}" for key, values in known.items()
            )
            raise ValueError(f"option {name}={value}: there is no such thing here, only {listed}")
    if "tokenizer" in job.options and not job.corpus:
        raise ValueError(
            "option tokenizer: there is no corpus to tokenise; name one, or leave the tokenizer out"
        )


def corpus_batches(job: Job, sequence: int, vocabulary: int) -> Tensor:
    """This rank's part of `job.corpus`: int32, (batches, samples, sequence + 1), each sequence
    followed by its last target.

    The token ids are those of the `tokenizer.json` that the option `tokenizer` names, else the
    file's bytes. Raises ValueError where a file cannot be read, holds less than one batch of all
    ranks, or has tokens beyond the vocabulary.
    """
    tokens = read_tokens(str(job.corpus), job.options.get("tokenizer"))
    step = job.world_size * job.batch_size
    if len(tokens) < step * sequence + 1:
        found = (
            f"its {len(tokens)} tokens are too few: {step} sequences of {sequence} take "
            f"{step * sequence + 1}"
        )
        raise ValueError(f"corpus {job.corpus}: {found}; take a longer text or a smaller batch")
    if (largest := int(tokens.max())) >= vocabulary:
        found = f"token id {largest} is beyond the model's vocabulary of {vocabulary}"
        raise ValueError(
            f"tokenizer {job.options.get('tokenizer')}: {found}; take the model's own tokenizer"
        )
    rows = tokens.unfold(0, sequence + 1, sequence)
    batches = rows[: len(rows) // step * step].unflatten(0, (-1, job.world_size, job.batch_size))
    return batches[:, job.rank].to(torch.int32).contiguous()


def read_tokens(corpus: str, tokenizer: str | None) -> Tensor:
    """The token ids of a text file, in order. Raises ValueError where it, or the tokenizer, cannot
    be read."""
    try:
        if tokenizer is None:
            return torch.frombuffer(
                bytearray(Path(corpus).read_bytes()) or bytearray(1), dtype=torch.uint8
            )
        encode = load_tokenizer(tokenizer).encode
        ids = array("i", [0])  # a buffer may not be empty; this first one is left out below
        with Path(corpus).open(encoding="utf-8") as text:
            while lines := text.readlines(READ_CHARACTERS):
                ids.extend(encode("".join(lines), add_special_tokens=False).ids)
        return torch.frombuffer(ids, dtype=torch.int32)[1:]
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"corpus {corpus}: cannot be read ({error}); name a text file in UTF-8"
        ) from None


def load_tokenizer(path: str) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`. Raises ValueError where it is none."""
    try:
        return Tokenizer.from_file(path)
    except Exception as error:  # the library raises nothing more exact
        raise ValueError(
            f"tokenizer {path}: cannot be read ({error}); name a tokenizer.json"
        ) from None


def check_weights(path: str, model: nn.Module) -> None:
    """Raises ValueError where `path` is not a checkpoint of LitGPT's for `model`, which may be on
    the meta device."""
    if Path(path).name != "lit_model.pth":
        raise ValueError(
            f"checkpoint {path}: LitGPT's checkpoints are called lit_model.pth; convert it "
            "with litgpt first"
        )
    try:
        found = {
            name: tuple(tensor.shape)
            for name, tensor in torch.load(path, mmap=True, weights_only=True).items()
        }
    except Exception as error:  # torch.load raises of every kind
        reason = str(error).split("\n", maxsplit=1)[0]
        raise ValueError(
            f"checkpoint {path}: cannot be read ({reason}); convert it again with litgpt"
        ) from None
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    if wrong := sorted(
        name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)
    ):
        first = (
            f"{wrong[0]} is {found.get(wrong[0], 'missing')}, the model's is "
            f"{wanted.get(wrong[0], 'not there')}"
        )
        raise ValueError(
            f"checkpoint {path}: not of this model, {len(wrong)} tensors differ ({first})"
        )


def sha256(path: str) -> str:
    """Of a file's bytes."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
