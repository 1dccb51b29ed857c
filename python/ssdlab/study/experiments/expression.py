"""Expressions for table cells: arithmetic on the metrics of a run, such as `1e3 * wear.erases / host.pages_written`."""

import ast
import statistics
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Summary = Mapping[str, Any]
Numbers = list[float]


def _part_max(values: Sequence[float], part: float, parts: float) -> float:
    """Returns the maximum of part number `part`, counted from 1, of a column divided into `parts` equal parts."""
    first, last = (len(values) * edge // int(parts) for edge in (int(part) - 1, int(part)))
    if not 0 <= first < last <= len(values):
        raise _MissingError
    return max(values[first:last])


def _share_within(values: Sequence[float], times: Sequence[float], limit: float) -> float:
    """Returns the share of observations up to `limit`; `values[i]` was observed `times[i]` times."""
    within = sum(count for value, count in zip(values, times, strict=True) if value <= limit)
    return within / sum(times)


def _cubic(at: Sequence[float], values: Sequence[float], x: float) -> float:
    """Returns the least-squares cubic through the points (`at`, `values`) at x, from at least four distinct positions.

    Exact fractions give the same last digit on every machine.
    """
    if len({*at}) < CUBIC or len(at) != len(values):
        raise _MissingError
    powers = [[Fraction(one) ** power for power in range(CUBIC)] for one in at]
    exact = [Fraction(value) for value in values]
    # Solves the normal equations by elimination, with one row per power of x. No pivoting is needed, because the matrix
    # is positive definite.
    none = Fraction(0)
    rows = [
        [sum((line[row] * line[column] for line in powers), none) for column in range(CUBIC)]
        + [sum((line[row] * value for line, value in zip(powers, exact, strict=True)), none)]
        for row in range(CUBIC)
    ]
    for pivot in range(CUBIC):
        rows[pivot] = [one / rows[pivot][pivot] for one in rows[pivot]]
        for row in range(CUBIC):
            if row != pivot:
                factor = rows[row][pivot]
                rows[row] = [one - factor * other for one, other in zip(rows[row], rows[pivot], strict=True)]
    return float(sum(rows[power][CUBIC] * Fraction(x) ** power for power in range(CUBIC)))


def _increase(at: Sequence[float], values: Sequence[float], first: float, last: float) -> float:
    """Returns the increase between two positions on a polyline from the origin through the points (`at`, `values`)."""
    places, heights = [0.0, *at], [0.0, *values]
    if len(places) != len(heights) or not 0 <= first <= last <= places[-1]:
        raise _MissingError

    def height(place: float) -> float:
        right = max(bisect_left(places, place), 1)
        slope = (heights[right] - heights[right - 1]) / (places[right] - places[right - 1])
        return heights[right - 1] + slope * (place - places[right - 1])

    return height(last) - height(first)


CUBIC = 4
"""Number of coefficients of a cubic polynomial, and minimum number of points for the fit."""

FUNCTIONS: Mapping[str, tuple[Callable[..., float], tuple[type, ...]]] = {
    "cubic": (_cubic, (list, list, float)),
    "increase": (_increase, (list, list, float, float)),
    "max": (max, ()),
    "mean": (statistics.fmean, ()),
    "min": (min, ()),
    "part_max": (_part_max, (list, float, float)),
    "share_within": (_share_within, (list, list, float)),
}
"""Functions of expressions, with the types of their arguments: `list` for a column, `float` for a number. A function
without types takes any numbers and columns, concatenated.
"""


@dataclass(frozen=True)
class Value:
    """An arithmetic expression: dotted paths of metrics and columns, numbers, `+ - * /`, parentheses and functions."""

    text: str
    paths: tuple[str, ...] = field(init=False)
    """Distinct paths in the expression, in order of appearance."""
    _tree: ast.expr = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            tree = ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            raise ValueError("is not an expression") from None
        object.__setattr__(self, "_tree", tree)
        object.__setattr__(self, "paths", tuple(dict.fromkeys(_paths(tree))))

    def of(self, summary: Summary) -> float | None:
        """Returns the value of the expression for a run; None if a metric is missing or a divisor is 0."""
        try:
            return _evaluate(self._tree, summary)
        except (_MissingError, ZeroDivisionError):
            return None


class _MissingError(Exception):
    """Raised if a path in an expression is not the path of a metric."""


def _node(summary: Summary, path: str) -> Any:
    """Returns the value at a dotted path of a summary, in which a stream goes by its name; None if there is none."""
    node: Any = summary
    for part in path.split("."):
        node = _streams(node) or node
        if not isinstance(node, Mapping) or part not in node:
            return None
        node = node[part]
    return node


def _streams(node: Any) -> Summary:
    """Returns the entries of a list of streams by name; empty for any other node."""
    items = node if isinstance(node, list) else []
    return {str(item["stream"]): item for item in items if isinstance(item, Mapping) and "stream" in item}


def figure(summary: Summary, path: str) -> float | None:
    """Returns the metric at a dotted path of a summary; None if there is none."""
    node = _node(summary, path)
    return float(node) if isinstance(node, int | float) and not isinstance(node, bool) else None


def is_known(summary: Summary, path: str) -> bool:
    """True if a dotted path is the path of a metric or a column in the summary."""
    return figure(summary, path) is not None or isinstance(_node(summary, path), list)


def figure_paths(summary: Summary, prefix: str = "") -> list[str]:
    """Returns the dotted paths of all metrics and columns in the summary of a result."""
    paths: list[str] = []
    for key, node in summary.items():
        inner = node if isinstance(node, Mapping) else _streams(node)
        if inner:
            paths += figure_paths(inner, f"{prefix}{key}.")
        elif is_known(summary, key):
            paths.append(f"{prefix}{key}")
    return paths


def _path(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_path(node.value)}.{node.attr}"
    raise ValueError(f"{ast.unparse(node)!r} is not the path of a metric")


def _paths(node: ast.expr) -> list[str]:
    """Returns the paths in a syntax tree; rejects anything except arithmetic and known functions."""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right):
            return [*_paths(left), *_paths(right)]
        case ast.UnaryOp(ast.USub(), operand):
            return _paths(operand)
        case ast.Call(ast.Name(name), arguments, []):
            if name not in FUNCTIONS:
                raise ValueError(f"{name!r} is not one of the functions {', '.join(FUNCTIONS)}")
            kinds = FUNCTIONS[name][1]
            if not arguments or (kinds and len(arguments) != len(kinds)):
                raise ValueError(f"{ast.unparse(node)!r}: {name} needs {len(kinds) or 'one or more'} arguments")
            return [path for argument in arguments for path in _paths(argument)]
        case ast.Constant(value) if isinstance(value, int | float) and not isinstance(value, bool):
            return []
        case ast.Name() | ast.Attribute():
            return [_path(node)]
    raise ValueError(f"{ast.unparse(node)!r} is not arithmetic on metrics")


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
        case ast.Call(ast.Name(name), arguments):
            return _call(name, arguments, summary)
        case ast.Constant(value) if isinstance(value, int | float):
            return float(value)
    value_of = figure(summary, _path(node))
    if value_of is None:
        raise _MissingError
    return value_of


def _call(name: str, arguments: list[ast.expr], summary: Summary) -> float:
    function, kinds = FUNCTIONS[name]
    if not kinds:
        return function([number for argument in arguments for number in _column(argument, summary, alone=True)])
    values = (
        _column(argument, summary) if kind is list else _evaluate(argument, summary)
        for argument, kind in zip(arguments, kinds, strict=True)
    )
    return function(*values)


def _column(node: ast.expr, summary: Summary, *, alone: bool = False) -> Numbers:
    """Returns the numbers of a column. If `alone` is true, a single number is accepted as well."""
    column = _node(summary, _path(node)) if isinstance(node, ast.Name | ast.Attribute) else None
    if isinstance(column, list) and column:
        return column
    if alone and not isinstance(column, list):
        return [_evaluate(node, summary)]
    raise _MissingError
