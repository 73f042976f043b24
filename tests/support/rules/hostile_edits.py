"""Edits that spoil one file of a bundle."""

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def set_result_fields(**changes: Any) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        result = json.loads((directory / "result.json").read_text())
        (directory / "result.json").write_text(json.dumps({**result, **changes}))

    return write


def replace_result_text(original: str, replacement: str) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        text = (directory / "result.json").read_text()
        assert original in text
        (directory / "result.json").write_text(text.replace(original, replacement, 1))

    return write


def replace_content(name: str, raw: bytes) -> Callable[[Path], None]:
    return lambda directory: (directory / name).write_bytes(raw) and None


def edit_table(name: str, edit: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        text = gzip.decompress((directory / name).read_bytes())
        edited = edit(text)
        assert edited != text
        (directory / name).write_bytes(gzip.compress(edited, mtime=0))

    return write


def replace_in_row(row: int, original: bytes, replacement: bytes) -> Callable[[bytes], bytes]:
    def edit(text: bytes) -> bytes:
        lines = text.split(b"\n")
        assert original in lines[row]
        lines[row] = lines[row].replace(original, replacement, 1)
        return b"\n".join(lines)

    return edit


def replace_cell(row: int, column: int, replacement: bytes) -> Callable[[bytes], bytes]:
    def edit(text: bytes) -> bytes:
        lines = text.split(b"\n")
        cells = lines[row].split(b",")
        cells[column] = replacement
        lines[row] = b",".join(cells)
        return b"\n".join(lines)

    return edit


def make_bomb(unpacked_mib: int) -> bytes:
    """A gzip stream of zeros: the same flushed block over and over, which costs nothing to make."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    repeated_block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block + repeated_block * (unpacked_mib - 1) + packer.flush()


def edit_manifest(edit: Callable[[Any], Any]) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        manifest = json.loads((directory / "MANIFEST.json").read_text())
        edit(manifest["files"])
        (directory / "MANIFEST.json").write_text(json.dumps(manifest))

    return write


def add_entry(path: str) -> Callable[[Any], Any]:
    return lambda listed: listed.append({"path": path, "size": 0, "sha256": "0" * 64})
