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
from dataclasses import dataclass, replace
from typing import TypeGuard

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
    "sum": "mean",
    "mean": "sum",
    "median": "mean",
    "fmean": "median",
    "union": "intersection",
    "startswith": "endswith",
    "endswith": "startswith",
}
OTHER_TEXTS = {"left": "right", "right": "left"}
"""The sides of `searchsorted`."""
GUARDS = "strict", "flush", "encoding"
"""Options that change no result where the code is right."""


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
    kind: str
    number: int = 0

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What identifies the change where lines above it have moved."""
        return self.file, self.function, self.code, self.changed_to, self.number

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.changed_to.encode() + source[self.end :]


def find_changes(file: str, source: bytes) -> list[Change]:
    """Every change to the source of `file`, in the order of the lines."""
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    counts: Counter[tuple[str, str, str, str, int]] = Counter()
    changes = {}
    for change in sorted(finder.changes, key=lambda c: (c.start, c.end, c.changed_to)):
        place = change.start, change.end, change.changed_to
        if change.code != change.changed_to and place not in changes:
            changes[place] = replace(change, number=counts[change.key])
            counts[change.key] += 1
    return list(changes.values())


def compiles(source: bytes) -> bool:
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
        self._columns: dict[str, list[str]] = {}
        lines = source.splitlines(keepends=True)
        self._offsets = [0]
        for line in lines:
            self._offsets.append(self._offsets[-1] + len(line))

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.expr):
            for kind, changed in (*_other_expressions(node), *_other_columns(node, self._columns)):
                text = changed if isinstance(changed, str) else f"({ast.unparse(changed)})"
                self._add(node, kind, text)
        elif isinstance(node, ast.stmt):
            for text in _other_statements(node):
                self._add(node, "statement", text)
        super().visit(node)

    def _add(self, node: ast.expr | ast.stmt, kind: str, changed_to: str) -> None:
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
                kind,
            )
        )

    def _enter(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._names.append(node.name)
        outside = self._runs_on_import
        if outside and not isinstance(node, ast.ClassDef):
            self._columns = _find_columns(node)
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

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in GUARDS:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Imports stay."""

    visit_ImportFrom = visit_Import


Other = tuple[str, ast.expr | str]
"""The kind of a change, and what an expression becomes."""


def _other_expressions(node: ast.expr) -> Iterator[Other]:
    match node:
        case ast.Compare():
            yield from _other_compares(node)
        case ast.BoolOp():
            opposite = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
            yield "condition", ast.BoolOp(opposite, node.values)
            for left_out in range(len(node.values)):
                kept = [v for i, v in enumerate(node.values) if i != left_out]
                yield "condition", kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)
        case ast.UnaryOp(op=ast.Not()):
            yield "condition", node.operand
        case ast.UnaryOp(op=ast.USub()):
            yield "sign", node.operand
        case ast.BinOp() if type(node.op) in OTHER_OPERATORS and not _is_text_or_path(node):
            kind = "sign" if isinstance(node.op, ast.Add | ast.Sub) else "factor"
            yield kind, ast.BinOp(node.left, OTHER_OPERATORS[type(node.op)](), node.right)
            yield kind, node.left
            yield kind, node.right
        case ast.Constant(value=bool()):
            yield "condition", str(not node.value)
        case ast.Constant(value=int() | float()):
            for number in (node.value + 1, node.value - 1):
                yield "constant", repr(number)
        case ast.Constant(value=str()) if node.value in OTHER_TEXTS:
            yield "function", repr(OTHER_TEXTS[node.value])
        case ast.IfExp():
            yield "condition", ast.IfExp(node.test, node.orelse, node.body)
        case ast.Call():
            yield from _other_calls(node)
        case ast.Subscript(slice=ast.Slice() as part):
            for end in ("lower", "upper", "step"):
                if getattr(part, end) is not None:
                    fields = {"lower": part.lower, "upper": part.upper, "step": part.step}
                    cut = ast.Slice(**{**fields, end: None})
                    yield "boundary", ast.Subscript(node.value, cut, node.ctx)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            for number, loop in enumerate(node.generators):
                for condition in range(len(loop.ifs)):
                    changed = copy.deepcopy(node)
                    del changed.generators[number].ifs[condition]
                    yield "condition", ast.unparse(changed)


def _other_compares(node: ast.Compare) -> Iterator[Other]:
    for number, operator in enumerate(node.ops):
        for comparison in OTHER_COMPARISONS[type(operator)]:
            operators = [comparison() if i == number else o for i, o in enumerate(node.ops)]
            is_boundary = comparison.__name__.rstrip("E") == type(operator).__name__.rstrip("E")
            kind = "boundary" if is_boundary else "condition"
            yield kind, ast.Compare(node.left, operators, node.comparators)


def _other_calls(node: ast.Call) -> Iterator[Other]:
    """The call of an opposite function, with swapped arguments, and without an option."""
    name = ast.unparse(node.func)
    stem, dot, last = name.rpartition(".")
    if last in OTHER_NAMES and not any(k.arg == "key" for k in node.keywords):
        other = "max" if name == "sum" else OTHER_NAMES[last]  # there is no built-in mean
        function = ast.Name(f"{stem}{dot}{other}")
        yield "function", ast.unparse(ast.Call(function, node.args, node.keywords))
    if len(node.args) > 1 and not any(isinstance(a, ast.Starred) for a in node.args[:2]):
        swapped = [node.args[1], node.args[0], *node.args[2:]]
        yield "arguments", ast.unparse(ast.Call(node.func, swapped, node.keywords))
    for left_out in node.keywords:
        if left_out.arg not in (None, *GUARDS) and isinstance(left_out.value, ast.Constant):
            keywords = [k for k in node.keywords if k is not left_out]
            yield "arguments", ast.unparse(ast.Call(node.func, node.args, keywords))


def _find_columns(function: ast.AST) -> dict[str, list[str]]:
    """The attributes and columns that a function reads of each variable, such as `row.start_ns`
    and `row.end_ns` of `row`. What is called is none."""
    called = {id(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    columns: dict[str, list[str]] = {}
    for node in ast.walk(function):
        if _is_column(node) and id(node) not in called:
            known = columns.setdefault(ast.unparse(node.value), [])
            if (text := ast.unparse(node)) not in known:
                known.append(text)
    return columns


def _is_column(node: ast.AST) -> TypeGuard[ast.Attribute | ast.Subscript]:
    match node:
        case ast.Attribute(ctx=ast.Load()):
            return True
        case ast.Subscript(ctx=ast.Load(), slice=ast.Constant(value=str())):
            return True
    return False


def _other_columns(node: ast.expr, columns: dict[str, list[str]]) -> Iterator[Other]:
    """Another attribute or column of the same variable."""
    if _is_column(node):
        known, text = columns.get(ast.unparse(node.value), []), ast.unparse(node)
        if text in known and len(known) > 1:
            yield "column", known[(known.index(text) + 1) % len(known)]


def _other_statements(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) not in ("None", "False"):
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
