"""Figures on the structure of the code, as a Markdown table.

python benchmarks/structure.py [DIRECTORY…]

Each DIRECTORY is a checkout and gives one column; the default is this checkout. To compare with an
earlier state, make a second checkout: `git worktree add ../before COMMIT`.

Core code is what a user installs: the Python files of harness, reference, rules, checker and
reporting without rules/testing, which holds what the rules are tested with. Functions that an
earlier state marked there with @RULE.mutation and the like are left out as well, with their lines.
The check of a rule has one name by convention and does not count as a one-word name. Tests are the
Python files of tests and rules/testing.
"""

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
PACKAGES = ("harness", "reference", "rules", "checker", "reporting")
WIDTH = 100
"""Columns of a line; longer ones are counted."""
MUTATION_MARKS = frozenset({"mutation", "tampering", "pairing"})
CHECK_MARKS = frozenset({"check", "across"})
MAX_FILE_LINES, MAX_FUNCTION_LINES = 400, 60


@dataclass
class CodeFigures:
    """What is counted over a set of Python files. Lines include blank ones."""

    file_lines: dict[str, int] = field(default_factory=dict)
    function_lines: dict[str, int] = field(default_factory=dict)
    comments: int = 0
    docstring_lines: int = 0
    named_functions: int = 0
    one_word_names: int = 0
    text_lookups: int = 0
    wide_lines: int = 0

    @property
    def lines(self) -> int:
        return sum(self.file_lines.values())


def list_core_files(checkout: Path) -> Iterator[Path]:
    """The Python files of the packages, without what rules are tested with."""
    for package in PACKAGES:
        for path in sorted((checkout / package).rglob("*.py")):
            if path.relative_to(checkout).parts[:2] != ("rules", "testing"):
                yield path


def list_test_files(checkout: Path) -> Iterator[Path]:
    """The Python files of tests/ and rules/testing/."""
    for folder in ("tests", "rules/testing"):
        yield from sorted((checkout / folder).rglob("*.py"))


def measure_code(checkout: Path, paths: Iterator[Path]) -> CodeFigures:
    """Count lines, comments, names and look-ups in the files."""
    figures = CodeFigures()
    for path in paths:
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(checkout).as_posix()
        lines = text.splitlines()
        figures.file_lines[name] = len(lines)
        figures.wide_lines += sum(len(line) > WIDTH for line in lines)
        figures.comments += count_comments(text)
        tree = ast.parse(text)
        mutations = [node for node in tree.body if has_mark(node, MUTATION_MARKS)]
        figures.file_lines[name] -= sum(map(count_lines, mutations))
        tree.body = [node for node in tree.body if node not in mutations]
        for node in ast.walk(tree):
            count_node(figures, name, node)
    return figures


def has_mark(node: ast.AST, marks: frozenset[str]) -> bool:
    """Whether a function has a decorator `@RULE.MARK` of these marks, with or without arguments."""
    if not isinstance(node, ast.FunctionDef):
        return False
    decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    return any(isinstance(mark, ast.Attribute) and mark.attr in marks for mark in decorators)


def is_generic_type(value: ast.expr) -> bool:
    """Whether what is subscripted is a type, such as `Sequence["Rule"]` in an annotation."""
    generics = ("list", "tuple", "dict", "set", "frozenset", "type")
    return isinstance(value, ast.Name) and (value.id in generics or value.id.istitle())


def count_lines(node: ast.stmt) -> int:
    """The lines of a statement, with the decorators and the blank lines before a function."""
    assert node.end_lineno is not None
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return node.end_lineno - min([node.lineno, *(d.lineno for d in decorators)]) + 3


def count_comments(text: str) -> int:
    """The comments of a file, directives for tools left out."""
    if "#" not in text:
        return 0
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    directives = ("#!", "# noqa", "# type:", "# mypy:", "# fmt:", "# pragma")
    return sum(not comment.startswith(directives) for comment in comments)


def count_node(figures: CodeFigures, name: str, node: ast.AST) -> None:
    """Add one node of a file's syntax tree to the figures."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        assert node.end_lineno is not None
        figures.function_lines[f"{name}:{node.name}:{node.lineno}"] = (
            node.end_lineno - node.lineno + 1
        )
        is_named_by_us = not node.name.startswith("__") and not has_mark(node, CHECK_MARKS)
        figures.named_functions += is_named_by_us
        figures.one_word_names += is_named_by_us and "_" not in node.name.strip("_")
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        and not is_generic_type(node.value)
    ):
        figures.text_lookups += 1
    body = getattr(node, "body", None)
    if isinstance(body, list):  # docstrings, and the texts below constants and fields
        figures.docstring_lines += sum(map(count_text_lines, body))


def count_text_lines(statement: ast.stmt) -> int:
    """The lines of a statement that is nothing but a text; 0 of any other."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str()), end_lineno=int(end)):
            return end - statement.lineno + 1
    return 0


def find_fullest_folder(checkout: Path) -> str:
    """The folder of the packages and tests with the most Python files, rules/checks left out."""
    counts: dict[str, int] = {}
    for path in [*list_core_files(checkout), *list_test_files(checkout)]:
        folder = path.parent.relative_to(checkout).as_posix()
        if path.name != "__init__.py" and not folder.startswith(("rules/checks", "rules/testing/")):
            counts[folder] = counts.get(folder, 0) + 1
    folder = max(counts, key=lambda name: counts[name])
    return f"{counts[folder]} ({folder}/)"


def find_longest(lines: dict[str, int]) -> str:
    """The largest number of lines and where it is."""
    name = max(lines, key=lambda key: lines[key])
    return f"{lines[name]} ({name.rpartition(':')[0] or name})"


def make_rows(checkout: Path) -> dict[str, str]:
    """The rows of the table, by what they state."""
    core = measure_code(checkout, list_core_files(checkout))
    tests = measure_code(checkout, list_test_files(checkout))
    files, functions = core.file_lines, core.function_lines
    return {
        "core: files, lines": f"{len(files)}, {core.lines}",
        "core: median file, lines": f"{median(files.values()):g}",
        "core: longest file, lines": find_longest(files),
        f"core: files above {MAX_FILE_LINES} lines": str(
            sum(lines > MAX_FILE_LINES for lines in files.values())
        ),
        "core: functions": str(len(functions)),
        "core: median function, lines": f"{median(functions.values()):g}",
        "core: longest function, lines": find_longest(functions),
        f"core: functions above {MAX_FUNCTION_LINES} lines": str(
            sum(lines > MAX_FUNCTION_LINES for lines in functions.values())
        ),
        "core: comments per 100 lines": f"{100 * core.comments / core.lines:.1f}",
        "core: docstring lines, %": f"{100 * core.docstring_lines / core.lines:.1f}",
        "core: one-word function names, %": (
            f"{100 * core.one_word_names / core.named_functions:.0f}"
        ),
        'core: look-ups by text (`["text"]`) per 1 000 lines': (
            f"{1000 * core.text_lookups / core.lines:.1f}"
        ),
        f"core: lines wider than {WIDTH}, %": f"{100 * core.wide_lines / core.lines:.1f}",
        "most Python files in a folder (rules/checks/ aside)": find_fullest_folder(checkout),
        "tests: files, lines": f"{len(tests.file_lines)}, {tests.lines}",
        "tests: longest file, lines": find_longest(tests.file_lines),
        "tests: longest function, lines": find_longest(tests.function_lines),
    }


def make_table(checkouts: list[Path]) -> str:
    """The table in Markdown, one column per checkout."""
    columns = [make_rows(checkout) for checkout in checkouts]
    heads = ["before", "after"] if len(columns) == 2 else [path.name for path in checkouts]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---|' * len(columns)}"]
    for name in columns[0]:
        lines.append(f"| {name} | {' | '.join(column[name] for column in columns)} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    """Print the table of these checkouts."""
    print(make_table([Path(name).resolve() for name in arguments] or [ROOT]), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
