"""docs/dataset.md and docs/mayr-figures.ipynb: the code that they show gives what they show, apart
from gaps, and of the notebook up to numbers and images. tests/end_to_end/test_round_pages.py tests
the outputs of docs/dataset.md too, but for the archive."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.console.blocks import GAP

nbformat = pytest.importorskip("nbformat", reason="nbformat is in the extra site")
nbclient = pytest.importorskip("nbclient", reason="nbclient is in the extra site")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTEBOOK = DOCS / "mayr-figures.ipynb"
MAX_NOTEBOOK_BYTES = 300_000
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.M | re.S)


ENVIRONMENT = {
    **os.environ,
    "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    "COLUMNS": "200",
}


def drop_numbers(text: str) -> str:
    """The text with one sign for each number, and single blanks: columns are as wide as their
    numbers."""
    text = re.sub(r"[-\u2212]?\d+([.,]\d+)*(e[-+]?\d+)?", "#", text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def run_console(block: str) -> str:
    """The block with the output of its commands in the place of that which it shows."""
    lines = []
    for command in re.findall(r"^\$ (.*)", block, re.M):
        lines.append(f"$ {command}")
        process = subprocess.run(
            command, shell=True, capture_output=True, text=True, check=False, env=ENVIRONMENT
        )
        assert process.returncode == 0, process.stderr
        lines.append(process.stdout.rstrip())
    return "\n".join(line for line in lines if line)


def run_python(block: str, names: dict[str, Any]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(block, names)
    return output.getvalue()


def test_page_shows_what_its_blocks_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "submissions").symlink_to(ROOT / "submissions")
    blocks = BLOCK.findall((DOCS / "dataset.md").read_text(encoding="utf-8"))
    assert [language for language, *_ in blocks] == [
        *["python"] * 3,
        "console",
        "python",
        "console",
    ]
    names: dict[str, Any] = {}
    for language, code, shown in blocks:
        expected, printed = (
            (shown, run_python(code, names)) if language == "python" else (code, run_console(code))
        )
        pattern = re.escape(expected.strip()).replace(GAP, r"\d+")
        lines = [line.rstrip() for line in printed.strip().splitlines()]
        assert re.fullmatch(pattern, "\n".join(lines)), code


def list_outputs(notebook: Any) -> list[tuple[str, str]]:
    """The kind and the text of each output, without numbers; of an image its media type."""
    outputs = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            media = sorted(kind for kind in data if kind.startswith("image/"))
            text = "" if media else output.get("text", "") or data.get("text/plain", "")
            outputs.append((f"{output['output_type']} {' '.join(media)}", drop_numbers(text)))
    return outputs


def test_notebook_gives_the_outputs_that_it_shows() -> None:
    committed = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(committed)
    executed = nbformat.read(NOTEBOOK, as_version=4)
    for cell in executed.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    client = nbclient.NotebookClient(
        executed, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(DOCS)}}
    )
    client.execute()
    assert list_outputs(executed) == list_outputs(committed)
    assert sum("image/" in kind for kind, _ in list_outputs(executed)) == 2


def test_notebook_is_small_and_names_no_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text.encode()) < MAX_NOTEBOOK_BYTES
    assert not re.search(r"/(work|home|root|tmp)/", text)
    assert "error" not in {
        kind.partition(" ")[0] for kind, _ in list_outputs(nbformat.reads(text, as_version=4))
    }
