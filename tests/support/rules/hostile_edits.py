"""Edits that spoil one file of a bundle."""

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def result_with(**changes: Any) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        result = json.loads((directory / "result.json").read_text())
        (directory / "result.json").write_text(json.dumps({**result, **changes}))

    return write


def result_text(old: str, new: str) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        text = (directory / "result.json").read_text()
        assert old in text
        (directory / "result.json").write_text(text.replace(old, new, 1))

    return write


def content(name: str, raw: bytes) -> Callable[[Path], None]:
    return lambda directory: (directory / name).write_bytes(raw) and None


def table(name: str, edit: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        text = gzip.decompress((directory / name).read_bytes())
        edited = edit(text)
        assert edited != text
        (directory / name).write_bytes(gzip.compress(edited, mtime=0))

    return write


def in_row(row: int, old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def edit(text: bytes) -> bytes:
        lines = text.split(b"\n")
        assert old in lines[row]
        lines[row] = lines[row].replace(old, new, 1)
        return b"\n".join(lines)

    return edit


def cell(row: int, column: int, new: bytes) -> Callable[[bytes], bytes]:
    def edit(text: bytes) -> bytes:
        lines = text.split(b"\n")
        cells = lines[row].split(b",")
        cells[column] = new
        lines[row] = b",".join(cells)
        return b"\n".join(lines)

    return edit


def bomb(unpacked_mib: int) -> bytes:
    """A gzip stream of zeros: the same flushed block over and over, which costs nothing to make."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block + again * (unpacked_mib - 1) + packer.flush()


def manifest_with(edit: Callable[[Any], Any]) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        manifest = json.loads((directory / "MANIFEST.json").read_text())
        edit(manifest["files"])
        (directory / "MANIFEST.json").write_text(json.dumps(manifest))

    return write


def entry(path: str) -> Callable[[Any], Any]:
    return lambda listed: listed.append({"path": path, "size": 0, "sha256": "0" * 64})
