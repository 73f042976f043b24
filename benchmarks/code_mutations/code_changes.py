"""Small changes to the source of a module, each of which a test should notice.

`find_changes` walks the syntax tree. A change replaces one expression or statement by its text, so
the other lines of the file stay as they are. Annotations, imports, docstrings and formatted strings
stay as they are too.
"""

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

OTHER_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OTHER_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
OTHER_NAMES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
    "fullmatch": "match",
    "sorted": "list",
    "union": "intersection",
    "startswith": "endswith",
    "endswith": "startswith",
}
OTHER_TEXTS = {"left": "right", "right": "left"}
"""The sides of `searchsorted`."""


@dataclass(frozen=True)
class Change:
    """The text between two offsets of `file`, in bytes of UTF-8, becomes `changed_to`.

    `number` tells equal changes in one function apart.
    """

    file: str
    line: int
    function: str
    code: str
    changed_to: str
    start: int
    end: int
    runs_on_import: bool
    number: int = 0

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What identifies the change where lines above it have moved."""
        return self.file, self.function, self.code, self.changed_to, self.number

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.changed_to.encode() + source[self.end :]


def find_changes(file: str, source: bytes) -> list[Change]:
    """Every change to the source of `file` that still compiles, in the order of the lines."""
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    counts: Counter[tuple[str, str, str, str, int]] = Counter()
    changes = {}
    for change in sorted(finder.changes, key=lambda c: (c.start, c.end, c.changed_to)):
        if change.code == change.changed_to or not _compiles(change.apply(source)):
            continue
        numbered = Change(**{**vars(change), "number": counts[change.key]})
        place = change.start, change.end, change.changed_to
        if place not in changes:
            counts[change.key] += 1
            changes[place] = numbered
    return list(changes.values())


def _compiles(source: bytes) -> bool:
    try:
        compile(source, "changed", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


class _Finder(ast.NodeVisitor):
    def __init__(self, file: str, source: bytes) -> None:
        self.changes: list[Change] = []
        self._file, self._source = file, source
        self._names: list[str] = []
        self._runs_on_import = True
        lines = source.splitlines(keepends=True)
        self._offsets = [0]
        for line in lines:
            self._offsets.append(self._offsets[-1] + len(line))

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.expr):
            for changed in _other_expressions(node):
                text = changed if isinstance(changed, str) else f"({ast.unparse(changed)})"
                self._add(node, text)
        elif isinstance(node, ast.stmt):
            for text in _other_statements(node):
                self._add(node, text)
        super().visit(node)

    def _add(self, node: ast.expr | ast.stmt, changed_to: str) -> None:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._offsets[node.lineno - 1] + node.col_offset
        end = self._offsets[node.end_lineno - 1] + node.end_col_offset
        code = self._source[start:end].decode()
        function = ".".join(self._names)
        self.changes.append(
            Change(
                self._file,
                node.lineno,
                function,
                code,
                changed_to,
                start,
                end,
                self._runs_on_import,
            )
        )

    def _enter(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._names.append(node.name)
        outside = self._runs_on_import
        self._runs_on_import = outside and isinstance(node, ast.ClassDef)
        for statement in node.body:
            self.visit(statement)
        self._runs_on_import = outside
        if not isinstance(node, ast.ClassDef):
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                self.visit(default)
        self._names.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _enter

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) not in ("TYPE_CHECKING", "__name__ == '__main__'"):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Python 3.11 has no exact places of what is inside a formatted string."""

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Imports stay."""

    visit_ImportFrom = visit_Import


def _other_expressions(node: ast.expr) -> Iterator[ast.expr | str]:
    match node:
        case ast.Compare():
            yield from _other_compares(node)
        case ast.BoolOp():
            opposite = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
            yield ast.BoolOp(opposite, node.values)
            for left_out in range(len(node.values)):
                kept = [v for i, v in enumerate(node.values) if i != left_out]
                yield kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.BinOp() if type(node.op) in OTHER_OPERATORS and not _is_text_or_path(node):
            yield ast.BinOp(node.left, OTHER_OPERATORS[type(node.op)](), node.right)
            yield node.left
            yield node.right
        case ast.Constant(value=bool()):
            yield str(not node.value)
        case ast.Constant(value=int() | float()):
            yield from (repr(number) for number in (node.value + 1, node.value - 1))
        case ast.Constant(value=str()) if node.value in OTHER_TEXTS:
            yield repr(OTHER_TEXTS[node.value])
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.Call():
            yield from _other_calls(node)
        case ast.Subscript(slice=ast.Slice() as part):
            for end in ("lower", "upper", "step"):
                if getattr(part, end) is not None:
                    fields = {"lower": part.lower, "upper": part.upper, "step": part.step}
                    cut = ast.Slice(**{**fields, end: None})
                    yield ast.Subscript(node.value, cut, node.ctx)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            for number, loop in enumerate(node.generators):
                for condition in range(len(loop.ifs)):
                    changed = copy.deepcopy(node)
                    del changed.generators[number].ifs[condition]
                    text = ast.unparse(changed)
                    yield text


def _other_compares(node: ast.Compare) -> Iterator[ast.expr]:
    for number, operator in enumerate(node.ops):
        for comparison in OTHER_COMPARISONS[type(operator)]:
            operators = [comparison() if i == number else o for i, o in enumerate(node.ops)]
            yield ast.Compare(node.left, operators, node.comparators)


def _other_calls(node: ast.Call) -> Iterator[str]:
    """The call of an opposite function, and the call without each of its keywords."""
    name = ast.unparse(node.func)
    stem, dot, last = name.rpartition(".")
    if last in OTHER_NAMES and not any(k.arg == "key" for k in node.keywords):
        function = ast.Name(f"{stem}{dot}{OTHER_NAMES[last]}")
        yield ast.unparse(ast.Call(function, node.args, node.keywords))
    for left_out in node.keywords:
        if left_out.arg is not None:
            keywords = [k for k in node.keywords if k is not left_out]
            yield ast.unparse(ast.Call(node.func, node.args, keywords))


def _other_statements(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return None"
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield "pass"
        case ast.AugAssign() | ast.Raise() | ast.Delete() | ast.Continue() | ast.Break():
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "pass"


_PATH = re.compile(r"(?i)path|director|root|file|scratch|/ name")


def _is_text_or_path(node: ast.BinOp) -> bool:
    """Whether text is joined or formatted, or a path extended; any test notices that."""
    sides = node.left, node.right
    text = any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )
    return text or (isinstance(node.op, ast.Div) and bool(_PATH.search(ast.unparse(node))))
