"""Hashes of the files that a run reads, as bundles state them."""

import hashlib
from functools import lru_cache
from pathlib import Path

CHECKPOINT_PATTERN = "*.safetensors"
"""The files of a checkpoint directory that hold its weights."""


def hash_file(path: str | Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits. Raises OSError."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_input(path: str | Path) -> str:
    """Return the SHA-256 of a corpus or of weights, in hexadecimal digits: of a file, or over the
    files of a checkpoint directory in order of name. Where it has safetensors files, only they
    count. Files that have not changed since the last call are not read again. Raises OSError."""
    path = Path(path)
    files = [path]
    if path.is_dir():
        files = sorted(path.glob(CHECKPOINT_PATTERN)) or sorted(
            file for file in path.iterdir() if file.is_file()
        )
    states = [file.stat() for file in files]
    return _hash_in_order(
        tuple(
            (file, s.st_ino, s.st_ctime_ns, s.st_size)
            for file, s in zip(files, states, strict=True)
        )
    )


@lru_cache(maxsize=8)
def _hash_in_order(files: tuple[tuple[Path, int, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for path, *_ in files:
        with path.open("rb") as content:
            while chunk := content.read(1 << 24):
                digest.update(chunk)
    return digest.hexdigest()
