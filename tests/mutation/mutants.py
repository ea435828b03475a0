"""What can be broken in a source file, one place at a time: made from its syntax tree, applied to its text.

Left alone: messages (f-strings, docstrings), annotations, decorators, how a class is declared, assertions for the type checker, lines of
the log, numbers that are mere defaults of settings.
"""

import ast
import marshal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

_COMPARED: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COMPUTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_CALLED: Final = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "popleft": "pop",
    "extendleft": "extend",
    "append": "appendleft",
}


@dataclass(frozen=True, order=True)
class Mutant:
    """One change of a file: the text between two offsets (bytes) becomes another one.

    `name` stays the same as long as the place does: function, kind, both texts, and which of several it is.
    """

    path: str
    start: int
    end: int
    text: str
    line: int
    kind: str
    name: str

    def applied(self, source: str) -> str:
        """Return the source with the change."""
        raw = source.encode("utf-8")
        return (raw[: self.start] + self.text.encode("utf-8") + raw[self.end :]).decode("utf-8")


class _Change(NamedTuple):
    node: ast.expr | ast.stmt
    kind: str
    text: str


def mutants_of(source: str, path: str) -> list[Mutant]:
    """Return all mutants of a file that compile and are not the same program, in the order of their places."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.encode("utf-8").splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    whole = marshal.dumps(compile(source, path, "exec"))
    found: dict[tuple[int, int, str], Mutant] = {}
    for place, change in _changes(tree):
        node = change.node
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = " ".join(source.encode("utf-8")[start:end].decode("utf-8").split())
        name = f"{place}: {change.kind}: {before} -> {change.text}"
        mutant = Mutant(path, start, end, change.text, node.lineno, change.kind, name)
        if (start, end, change.text) not in found and _is_another(mutant.applied(source), path, whole):
            found[start, end, change.text] = mutant
    return _told_apart(sorted(found.values()))


def _told_apart(mutants: list[Mutant]) -> list[Mutant]:
    """Return the mutants with a number behind each name that was there before."""
    seen: Counter[str] = Counter()
    apart = []
    for mutant in mutants:
        seen[mutant.name] += 1
        count = seen[mutant.name]
        apart.append(mutant if count == 1 else replace(mutant, name=f"{mutant.name} #{count}"))
    return apart


def _is_another(source: str, path: str, whole: bytes) -> bool:
    try:
        return marshal.dumps(compile(source, path, "exec")) != whole
    except (SyntaxError, ValueError):
        return False


def _changes(node: ast.AST, place: str = "") -> Iterator[tuple[str, _Change]]:
    """Yield every change below a node, with the function that it is in."""
    for child in _looked_at(node):
        inner = place
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{place}.{child.name}".lstrip(".")
        for change in _own(child):
            if not (isinstance(node, ast.ClassDef) and change.kind == "number"):
                yield inner, change
        if isinstance(node, ast.ClassDef) and isinstance(child, ast.AnnAssign) and child.value is not None:
            if isinstance(child.value, ast.Constant) and isinstance(child.value.value, bool):
                yield inner, _Change(child.value, "flag", str(not child.value.value))
            continue
        yield from _changes(child, inner)


def _looked_at(node: ast.AST) -> Iterator[ast.AST]:
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "type"):
            continue
        if field == "keywords" and isinstance(node, ast.ClassDef):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_left_alone(child):
                yield child


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log")))):
            return True
        case ast.Assign(targets=[ast.Name(id=("log" | "__slots__" | "__all__"))]):
            return True
        case ast.Call(func=ast.Name(id="TypeVar")):
            return True
    return False


def _expression(node: ast.expr, kind: str, new: ast.expr) -> _Change:
    return _Change(node, kind, f"({ast.unparse(new)})")


def _own(node: ast.AST) -> Iterator[_Change]:
    """Yield the changes of this very node."""
    if isinstance(node, ast.stmt):
        yield from _of_statement(node)
    elif isinstance(node, ast.expr):
        yield from _of_expression(node)
    elif isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield _Change(test, "condition", "True")


def _of_statement(node: ast.stmt) -> Iterator[_Change]:
    match node:
        case ast.Expr() | ast.AugAssign() | ast.Delete() | ast.Raise() | ast.Break() | ast.Continue():
            yield _Change(node, "removed", "pass")
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield _Change(node, "removed", "pass")
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield _Change(node, "return", "return None")
        case ast.Return():
            yield _Change(node, "removed", "pass")
        case ast.If(test=test):
            yield _Change(test, "condition", "True")
            yield _Change(test, "condition", "False")
        case ast.While(test=test):
            yield _Change(test, "condition", "False")
        case ast.For(iter=iterated) | ast.AsyncFor(iter=iterated):
            yield _Change(iterated, "loop", "()")
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
            work = [one for one in body if not _is_left_alone(one)]
            if len(work) > 1:
                yield _Change(work[0], "early return", "return None")
    if isinstance(node, ast.AugAssign) and type(node.op) in _COMPUTED:
        target, value = ast.unparse(node.target), ast.unparse(node.value)
        yield _Change(node, "computed", f"{target} = {target} {_sign(node.op)} {value}")


def _sign(operator: ast.operator) -> str:
    """Return the sign of what an operator is exchanged for."""
    name = ast.Name("x")
    return ast.unparse(ast.BinOp(name, _COMPUTED[type(operator)](), name)).split()[1]


def _of_expression(node: ast.expr) -> Iterator[_Change]:
    match node:
        case ast.Compare(left=left, ops=operators, comparators=comparators):
            for index, operator in enumerate(operators):
                for other in _COMPARED[type(operator)]:
                    changed = [*operators[:index], other(), *operators[index + 1 :]]
                    yield _expression(node, "compared", ast.Compare(left, changed, comparators))
        case ast.BoolOp(op=operator, values=values):
            swapped = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield _expression(node, "boolean", ast.BoolOp(swapped, values))
            for index in range(len(values)):
                rest = [*values[:index], *values[index + 1 :]]
                yield _expression(node, "left out", rest[0] if len(rest) == 1 else ast.BoolOp(operator, rest))
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield _expression(node, "sign", operand)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _COMPUTED:
            yield _expression(node, "computed", ast.BinOp(left, _COMPUTED[type(operator)](), right))
        case ast.IfExp(body=body, orelse=orelse):
            yield _expression(node, "condition", body)
            yield _expression(node, "condition", orelse)
        case ast.Await(value=value):
            yield _expression(node, "not awaited", value)
        case ast.Call(func=ast.Name(id=name)) if name in _CALLED:
            yield _Change(node.func, "called", _CALLED[name])
        case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in _CALLED:
            yield _Change(node.func, "called", f"{ast.unparse(of)}.{_CALLED[name]}")
        case ast.Constant(value=bool(value)):
            yield _Change(node, "flag", str(not value))
        case ast.Constant(value=int(value) | float(value)):
            yield _Change(node, "number", f"({value + 1})")
            yield _Change(node, "number", f"({value - 1})")
