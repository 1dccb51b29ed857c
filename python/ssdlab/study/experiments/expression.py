"""Values of cells: arithmetic on the figures of a run, such as `1e3 * wear.erases / host.pages_written`."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Summary = Mapping[str, Any]


@dataclass(frozen=True)
class Value:
    """An expression in dotted paths of `Result.summary`, numbers, `+ - * /` and parentheses."""

    text: str
    """As it was written."""
    paths: tuple[str, ...] = field(init=False)
    """The paths that it reads, in their order."""
    _tree: ast.expr = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            tree = ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            raise ValueError("is not an expression") from None
        object.__setattr__(self, "_tree", tree)
        object.__setattr__(self, "paths", tuple(dict.fromkeys(_paths(tree))))

    def of(self, summary: Summary) -> float | None:
        """The value in one run; None where the run did not yield a figure, or nothing can be divided by it."""
        try:
            return _evaluate(self._tree, summary)
        except (_MissingError, ZeroDivisionError):
            return None


class _MissingError(Exception):
    """A path leads to no figure."""


def figure(summary: Summary, path: str) -> float | None:
    """The figure that a dotted path leads to, or None."""
    node: Any = summary
    for part in path.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return None
        node = node[part]
    return float(node) if isinstance(node, int | float) and not isinstance(node, bool) else None


def figure_paths(summary: Summary, prefix: str = "") -> list[str]:
    """Every path that leads to a figure."""
    found: list[str] = []
    for key, node in summary.items():
        if isinstance(node, Mapping):
            found += figure_paths(node, f"{prefix}{key}.")
        elif figure(summary, key) is not None:
            found.append(f"{prefix}{key}")
    return found


def _path(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_path(node.value)}.{node.attr}"
    raise ValueError(f"{ast.unparse(node)!r} is not the path of a figure")


def _paths(node: ast.expr) -> list[str]:
    """The paths below a node; refuses whatever is no arithmetic."""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right):
            return [*_paths(left), *_paths(right)]
        case ast.UnaryOp(ast.USub(), operand):
            return _paths(operand)
        case ast.Constant(value) if isinstance(value, int | float) and not isinstance(value, bool):
            return []
        case ast.Name() | ast.Attribute():
            return [_path(node)]
    raise ValueError(f"{ast.unparse(node)!r} is not arithmetic on figures")


def _evaluate(node: ast.expr, summary: Summary) -> float:
    match node:
        case ast.BinOp(left, operator, right):
            a, b = _evaluate(left, summary), _evaluate(right, summary)
            match operator:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
            return a / b
        case ast.UnaryOp(_, operand):
            return -_evaluate(operand, summary)
        case ast.Constant(value) if isinstance(value, int | float):
            return float(value)
    found = figure(summary, _path(node))
    if found is None:
        raise _MissingError
    return found
