"""The section "Write a rule" of CONTRIBUTING.md, followed literally in a copy of the project."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


NO_FILES = (".venv*", ".*_cache", ".hypothesis", "__pycache__", "build", "dist")
"""What tools write beside the files of the project."""


def copy_project(target: Path) -> None:
    """Copy the files of the project, committed or not, and link its environment."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, target / name)
    else:  # a source distribution
        ignore = shutil.ignore_patterns(*NO_FILES)
        shutil.copytree(ROOT, target, ignore=ignore, dirs_exist_ok=True)
    (target / ".venv").symlink_to(ROOT / ".venv")
    # `make test` runs mypy before the tests. With its cache, mypy checks only what has changed.
    if (ROOT / ".mypy_cache").exists():
        shutil.copytree(ROOT / ".mypy_cache", target / ".mypy_cache")
    # make sets up the environment again where these are newer than it.
    for name in ("pyproject.toml", "constraints/vision-cpu.txt"):
        os.utime(target / name, (0, 0))


def test_section_on_writing_a_rule_works_as_written(tmp_path: Path) -> None:
    copy_project(tmp_path)
    text = (tmp_path / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Write a rule\n")[2].partition("\n## What a change needs")[0]
    blocks = BLOCK.findall(section)
    assert [language for language, _ in blocks] == ["sh", "python", "python", "sh"]
    outputs = []
    for language, block in blocks:
        if language == "python":
            name = block.partition("\n")[0].removeprefix("# ")
            assert (tmp_path / name).exists(), "the skeleton has another name"
            (tmp_path / name).write_text(block.partition("\n")[2], encoding="utf-8")
            continue
        process = subprocess.run(
            ["bash", "-e", "-c", block],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        outputs.append(process.stdout)
    assert "M119: edit both files" in outputs[0]
    assert "findings on the committed bundles: 0" in outputs[1]
    page = (tmp_path / "docs/rules/M119-system-name-generic.md").read_text(encoding="utf-8")
    assert "- localhost" in page
    rules, before = (
        int(
            re.findall(
                r"^(\d+) rules", (root / "docs/mutations.md").read_text("utf-8"), re.MULTILINE
            )[0]
        )
        for root in (tmp_path, ROOT)
    )
    assert rules == before + 1


def test_a_rule_that_misses_its_mutation_fails_the_check(tmp_path: Path) -> None:
    copy_project(tmp_path)
    path = tmp_path / "rules/checks/protocol/epoch_too_short.py"
    text = path.read_text(encoding="utf-8")
    assert "if length_s < minimum_s" in text
    path.write_text(text.replace("if length_s < minimum_s", "if length_s < 0.0"), encoding="utf-8")
    process = subprocess.run(
        ["make", "check-rule", "NAME=epoch-too-short"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode != 0
    assert "P103" in process.stdout + process.stderr


def test_make_rule_refuses_a_name_and_a_family_that_do_not_fit() -> None:
    for values, message in (
        (["NAME=Cap", "FAMILY=caps"], "expected at least two lower-case words"),
        (["NAME=cap-rises", "FAMILY=cap"], "unknown family; choose from"),
        (["NAME=cap-moved", "FAMILY=caps"], "already exists; choose another NAME"),
    ):
        process = subprocess.run(
            ["make", "-o", ".venv/ready", "rule", *values],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode != 0
        assert message in process.stderr, process.stderr
