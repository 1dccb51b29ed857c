"""Layers of the package, as in its docstring: modules import only lower layers, and slow imports are deferred."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import ssdlab

PACKAGE = Path(ssdlab.__file__).parent
BELOW = {
    "model": set[str](),
    "analyse": {"model"},
    "study": {"model", "analyse"},
    "view": {"model", "analyse", "study"},
    "cli": {"model", "analyse", "study", "view"},
}
"""Each layer with the ones it may import; `text`, `lazy`, `interrupt` and `leaving` are for all."""
MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(module: ast.Module) -> Iterator[str]:
    """Dotted names that a module imports, except imports for type checkers only."""
    for node in module.body:
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def room_of(name: str) -> str:
    return name.removeprefix("ssdlab.").partition(".")[0]


@pytest.mark.parametrize("room", BELOW)
def test_a_layer_imports_only_lower_layers(room: str) -> None:
    paths = [path for path in MODULES if path.relative_to(PACKAGE).parts[0] == room]
    assert paths
    upward = [
        (str(path.relative_to(PACKAGE)), name)
        for path in paths
        for name in imports(tree(path))
        if name.startswith("ssdlab.") and room_of(name) in BELOW.keys() - BELOW[room] - {room}
    ]
    assert upward == []


def test_only_lazy_imports_within_functions() -> None:
    deferred = [
        (str(path.relative_to(PACKAGE)), node.lineno)
        for path in MODULES
        for function in ast.walk(tree(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert deferred == []


def test_only_view_loads_drawing_and_rendering() -> None:
    heavy = {"matplotlib", "jinja2", "numpy", "pyarrow"}
    eager = [
        (str(path.relative_to(PACKAGE)), name)
        for path in MODULES
        if path.relative_to(PACKAGE).parts[0] != "view"
        for name in imports(tree(path))
        if room_of(name) in heavy
    ]
    assert eager == []


def test_lazily_loaded_names_exist() -> None:
    """Every name passed to `lazy.room` and `Plot` is that of an existing module and function."""
    count = 0
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                continue
            argument = node.args[0]
            if node.func.id not in ("room", "Plot") or not isinstance(argument, ast.Constant):
                continue
            module, _, function = str(argument.value).rpartition(".")
            if node.func.id == "Plot":
                drawn = tree(PACKAGE / "view" / "charts" / f"{module}.py").body
                assert function in {
                    module_name.name for module_name in drawn if isinstance(module_name, ast.FunctionDef)
                }, argument.value
            else:
                at = PACKAGE.joinpath(*str(argument.value).split("."))
                assert at.with_suffix(".py").exists() or (at / "__init__.py").exists(), argument.value
            count += 1
    assert count > 30


def test_no_two_modules_import_each_other() -> None:
    def dotted(path: Path) -> str:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        return ".".join(parts).removesuffix(".__init__")

    names = {dotted(path) for path in MODULES} - {"ssdlab"}
    graph = {
        # An import is a module, or a name in a module.
        dotted(path): {name if name in names else name.rpartition(".")[0] for name in imports(tree(path))}
        & (names - {dotted(path)})
        for path in MODULES
    }
    TopologicalSorter(graph).prepare()
