"""SKILL.md and llms.txt have the form that agents read, SKILL.md shows an executed command for each
task, and schemas are named as the documents name them. tests/site/test_console_blocks.py executes
the commands of SKILL.md."""

import json
import re
from pathlib import Path

import pytest
import yaml
from support.console.blocks import list_blocks, list_program_calls

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "SKILL.md"
SCHEMAS = ROOT / "rules/bundle_format/schemas"
TASKS = {
    "Measure": ("bench-submit", "run"),
    "Sweep": ("bench-submit", "sweep"),
    "Check": ("bench-check", "--local"),
    "Compare": ("bench-report", "compare"),
    "Explain a finding": ("bench-check", "explain"),
}


def test_skill_says_what_it_is_for() -> None:
    _, header, _ = SKILL.read_text().split("---\n", 2)
    fields = yaml.safe_load(header)
    # The limits of the format of agent skills.
    assert re.fullmatch(r"[a-z0-9-]{1,64}", fields["name"])
    assert 0 < len(fields["description"]) <= 1024
    assert set(fields) == {"name", "description"}


@pytest.mark.parametrize("task", TASKS)
def test_task_of_the_skill_has_an_executed_command(task: str) -> None:
    lines = SKILL.read_text().splitlines()
    first = lines.index(f"## {task}")
    last = next((n for n in range(first + 1, len(lines)) if lines[n].startswith("## ")), len(lines))
    blocks = [b for b in list_blocks(SKILL) if first < b.line <= last and b.is_executed]
    steps = [step.command for block in blocks for step in block.list_steps()]
    calls = [(name, words[0]) for text in steps for name, words in list_program_calls(text)]
    assert TASKS[task] in calls


def test_no_run_of_the_skill_needs_an_accelerator() -> None:
    text = "\n".join(block.text for block in list_blocks(SKILL))
    runs = re.findall(r"bench-submit (?:run|sweep) .*", text)
    assert runs and all("--simulate " in run and "--epoch-seconds 0." in run for run in runs)


def test_llms_txt_has_the_layout_of_its_format() -> None:
    """A title, a summary, text without headings, then sections of links (https://llmstxt.org)."""
    item = r"- \[[^\]]+\]\([^)\s]+\): .+\n"
    layout = rf"# .+\n\n> .+\n\n(?:[^#\n].*\n\n)*(?:## .+\n\n(?:{item})+\n?)+"
    assert re.fullmatch(layout, (ROOT / "llms.txt").read_text())


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_schema_is_named_as_its_file(path: Path) -> None:
    schema = json.loads(path.read_text())
    assert schema["$id"] == f"urn:wattmark:schema:{path.stem}"
    kind, _, version = path.stem.rpartition("-")
    assert schema["properties"]["format"]["const"] == f"wattmark-{kind}/{version}"
