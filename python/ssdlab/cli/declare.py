"""Arguments and options, declared as the defaults of a command's parameters:
`jobs: int | None = option("--jobs -j INTEGER", "Parallel simulations.")`.

A parameter whose type is a dataclass declares a group of options. Each field is an option, and the field's default is
the declaration.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from ssdlab.cli import values

Words = Iterable[str | tuple[str, str]]
"""Values that completion offers, each optionally with a help text."""


class Declared(NamedTuple):
    """Declaration of an argument or an option; the command's parameter supplies name and type."""

    names: tuple[str, ...]
    """Names of an option; empty for an argument."""
    metavar: str | None
    help: str
    panel: str | None = None
    """Heading under which help lists the option."""
    default: Any = None
    """Default value of the option; `...` makes the option required. By default, lists are empty and flags are off."""
    min: float | None = None
    max: float | None = None
    """Maximum value of the option; needs `min` as well."""
    parser: Callable[[str], Any] | None = None
    """Converts a path that the user typed. An `SsdlabError` or `OSError` that it raises is reported as a user error."""
    check: Callable[[str], object] | None = None
    """Validates each comma-separated item of the value; error messages contain the option's name."""
    choices: Callable[[], Words] | None = None
    """Returns the possible values of the option, for completion."""
    complete: Callable[[str], Words] | None = None
    """Returns completions of the text typed so far, for options whose values `choices` cannot list."""


def option(written: str, help: str, panel: str | None = None, **more: Any) -> Any:
    """Declares an option as help shows it, such as `--config -c FILE`; `more` are fields of `Declared`."""
    words = written.split()
    names = tuple(word for word in words if word.startswith("-"))
    metavar = " ".join(word for word in words if word not in names)
    return Declared(names, metavar or None, help, panel, **more)


def argument(metavar: str, help: str, **more: Any) -> Any:
    """Declares an argument by its name in help, such as `NAME`; it is required unless `more` has a default."""
    return Declared((), metavar, help, **{"default": ..., **more})


def group(**replaced: Declared) -> Any:
    """Declares a parameter as a group of options; an option in `replaced` replaces the option of the same name."""
    return replaced


class Option(click.Option):
    """An option that the help lists under a heading."""

    def __init__(self, names: list[str], panel: str | None, **more: Any) -> None:
        super().__init__(names, show_default=True, **more)
        self.panel = panel


class Argument(click.Argument):
    """An argument with a help text, which click supports only since version 8.5."""

    def __init__(self, name: str, meaning: str, **more: Any) -> None:
        super().__init__([name], **more)
        self.meaning = meaning

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Returns the row of the argument in the help."""
        value = f"default: {self.default}" if isinstance(self.default, str) else ""
        extra = "required" if self.required else value
        return self.metavar or "", f"{self.meaning}  [{extra}]" if extra else self.meaning


def parameters(function: Callable[..., Any]) -> list[click.Parameter]:
    """Returns the click parameters of a command, in the order of its function's parameters."""
    return [_parameter(*member) for own in inspect.signature(function).parameters.values() for member in _members(own)]


def bound(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a function's arguments; the values of a group of options become an instance of its dataclass."""
    return {
        own.name: own.annotation(**{name: given[name] for name, *_ in _members(own)})
        if isinstance(own.annotation, type) and is_dataclass(own.annotation)
        else given[own.name]
        for own in inspect.signature(function).parameters.values()
    }


def _members(own: inspect.Parameter) -> Iterator[tuple[str, Any, Declared]]:
    """Yields name, type and declaration of a parameter or, for a group of options, of each option in the group."""
    if not is_dataclass(own.annotation):
        yield own.name, own.annotation, own.default
        return
    replaced = own.default if isinstance(own.default, dict) else {}
    for field in fields(own.annotation):
        yield field.name, field.type, replaced.get(field.name, field.default)


def _parameter(name: str, kind: Any, declared: Declared) -> click.Parameter:
    # In Python, `Literal[...] | None` is a `typing.Union`, whereas other unions are of type `types.UnionType`.
    if get_origin(kind) in (Union, UnionType):
        kind = next(member for member in get_args(kind) if member is not NoneType)
    several = get_origin(kind) is list
    if several:
        (kind,) = get_args(kind)
    required = declared.default is ...
    more: dict[str, Any] = {"metavar": declared.metavar, "required": required}
    if not required and not several:
        more["default"] = False if kind is bool else declared.default
    if declared.choices or declared.complete:
        more["shell_complete"] = _completing(declared)
    if not declared.names:
        return Argument(name, declared.help, nargs=-1 if several else 1, type=_type(kind, declared), **more)
    shape = {"is_flag": True} if kind is bool else {"multiple": several, "type": _type(kind, declared)}
    return Option([*declared.names, name], declared.panel, help=declared.help, **shape, **more)


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


def _completing(declared: Declared) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    def items(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        words = declared.complete(typed) if declared.complete else declared.choices() if declared.choices else ()
        pairs = [(word, None) if isinstance(word, str) else word for word in words]
        return [CompletionItem(word, help=help) for word, help in pairs if declared.complete or word.startswith(typed)]

    return items
