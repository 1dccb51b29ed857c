"""Arguments and options of a command, declared where its function takes them:
`jobs: Annotated[int | None, option("--jobs -j INTEGER", "Simulations at a time.")] = None`.

Click reads command lines and completes them; it is told of everything here.
"""

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from ssdlab.cli import values

Completion = Callable[[str], Iterable[str | tuple[str, str]]]
"""What may follow the beginning of a value, with a word on each or without."""


class Declared(NamedTuple):
    """An argument or an option, but for what its parameter says: name, kind of value and default."""

    names: tuple[str, ...]
    """Those of an option; an argument has none."""
    metavar: str | None
    help: str
    panel: str | None = None
    """The heading under which help lists an option."""
    min: float | None = None
    max: float | None = None
    """Of an option that has a least value too."""
    parser: Callable[[str], Any] | None = None
    """Makes the value of the path that was typed; its errors are the user's."""
    check: Callable[[str], object] | None = None
    """Reads text, or each of several between commas, so that an error names the option."""
    complete: Completion | None = None


def option(written: str, help: str, panel: str | None = None, **more: Any) -> Declared:
    """An option as help shows it, such as `--config -c FILE`, and what else `Declared` says."""
    words = written.split()
    names = tuple(word for word in words if word.startswith("-"))
    metavar = " ".join(word for word in words if word not in names)
    return Declared(names, metavar or None, help, panel, **more)


def argument(metavar: str, help: str, **more: Any) -> Declared:
    """An argument as help shows it, such as `NAME`, and what else `Declared` says."""
    return Declared((), metavar, help, **more)


class Option(click.Option):
    """An option that stands under a heading in help."""

    def __init__(self, names: list[str], panel: str | None, **more: Any) -> None:
        super().__init__(names, show_default=True, **more)
        self.panel = panel


class Argument(click.Argument):
    """An argument that says what it means. Click calls that its help, since version 8.5 alone."""

    def __init__(self, name: str, meaning: str, **more: Any) -> None:
        super().__init__([name], **more)
        self.meaning = meaning

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Its row in help."""
        value = f"default: {self.default}" if isinstance(self.default, str) else ""
        extra = "required" if self.required else value
        return self.metavar or "", f"{self.meaning}  [{extra}]" if extra else self.meaning


def parameters(function: Callable[..., Any]) -> list[click.Parameter]:
    """Arguments and options of the command that this function is, in its order."""
    return [_parameter(one) for one in inspect.signature(function).parameters.values()]


def _parameter(one: inspect.Parameter) -> click.Parameter:
    declared: Declared = one.annotation.__metadata__[0]
    kind = _without_none(one.annotation.__origin__)
    several = get_origin(kind) is list
    if several:
        (kind,) = get_args(kind)
    # A required option stands behind parameters that have a default.
    required = one.default in (one.empty, ...)
    more: dict[str, Any] = {"metavar": declared.metavar, "required": required}
    if not required and one.default != []:
        more["default"] = one.default
    if declared.complete:
        more["shell_complete"] = _completing(declared.complete)
    if not declared.names:
        return Argument(one.name, declared.help, nargs=-1 if several else 1, type=_type(kind, declared), **more)
    shape = {"is_flag": True} if kind is bool else {"multiple": several, "type": _type(kind, declared)}
    return Option([*declared.names, one.name], declared.panel, help=declared.help, **shape, **more)


def _without_none(kind: Any) -> Any:
    # `Literal[...] | None` is of the older kind.
    unites = get_origin(kind) in (Union, UnionType)
    return next(one for one in get_args(kind) if one is not NoneType) if unites else kind


def _type(kind: Any, declared: Declared) -> Any:
    if declared.parser:
        return values.Parsed(declared.parser)
    if declared.check:
        return values.Checked(declared.check)
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind), case_sensitive=False)
    if kind is Path:
        return values.FilePath(readable=False, path_type=Path)
    if declared.min is not None:
        if kind is int:
            return values.Integer(int(declared.min), None if declared.max is None else int(declared.max))
        return values.Number(declared.min, declared.max)
    return {str: values.Text(), int: values.Whole()}.get(kind, kind)


def _completing(complete: Completion) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    def items(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = complete(incomplete)
        return [CompletionItem(one) if isinstance(one, str) else CompletionItem(one[0], help=one[1]) for one in found]

    return items
