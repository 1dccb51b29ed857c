"""Arguments of a kind that a function does not take, which are told with their names.

Kinds are those of the annotations, as far as Python can tell them: texts, paths, functions, switches and lists of
these, numbers. Configurations and traces are told by what takes them.
"""

import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from numbers import Real
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar, get_args, get_origin

from ssdlab._ssdlab import ConfigError

P = ParamSpec("P")
T = TypeVar("T")


def is_switch(given: object) -> bool:
    """Whether it is true or false, and nothing that counts as one of these."""
    # Those of NumPy as well.
    return isinstance(given, bool) or type(given).__name__ in ("bool_", "bool")


def shown(given: object) -> str:
    """An argument for a message, in which there is no room for a table."""
    return repr(given) if isinstance(given, str | bytes | Real | None) else type(given).__name__


class Kind(NamedTuple):
    """What an argument may be."""

    noun: str
    remedy: str
    holds: Callable[[object], bool]


def _is_whole(given: object) -> bool:
    try:
        operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _is_list(given: object) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, str | bytes)


def _of(its: type) -> Kind:
    return Kind(its.__name__, f"a {its.__name__}", lambda given: isinstance(given, its))


TEXT = Kind("text", "a text", lambda given: isinstance(given, str))
PATH = Kind("path", "a path", lambda given: isinstance(given, str | os.PathLike))
LIST = Kind("list", "a list", _is_list)
KINDS: Mapping[object, Kind] = {
    bool: Kind("switch", "True or False", is_switch),
    int: Kind("whole number", "a whole number", _is_whole),
    float: Kind("number", "a number", lambda given: isinstance(given, Real) and not is_switch(given)),
    str: TEXT,
    Literal: TEXT,
    os.PathLike: PATH,
    Callable: Kind("function", "a function", callable),
}


class Kinds(NamedTuple):
    """What an annotation takes."""

    simple: Sequence[Kind]
    items: "Kinds | None"
    """Of a list, if one may be given."""
    optional: bool

    def told(self, plural: str = "") -> str:
        """What it takes, in words; of a list its items, as one stands for a list of it."""
        own = " or ".join(f"{kind.noun}{plural}" for kind in self.simple)
        return own if own or self.items is None else self.items.told(plural)

    def remedy(self, example: str) -> str:
        """What to give."""
        own = [kind.remedy for kind in self.simple]
        words = " or ".join([*own, *([f"a list of {self.items.told('s')}"] if self.items else [])])
        return f"give {words}{example and f', such as {example}'}{', or None' if self.optional else ''}"

    def fault(self, given: object) -> str | None:
        """What is wrong with an argument; None if nothing is."""
        if (given is None and self.optional) or any(kind.holds(given) for kind in self.simple):
            zero = PATH in self.simple and "\0" in str(given)
            return f"{str(given)!r} holds a zero byte, as no path does" if zero else None
        if self.items is not None and _is_list(given):
            # Whatever else can be gone through may be gone through once.
            items = given if isinstance(given, list | tuple) else []
            return next((fault for fault in map(self.items.fault, items) if fault), None)
        # As `several` takes it.
        is_one = self.items is not None and self.items.fault(given) is None
        return None if is_one else f"{shown(given)} is no {self.told()}"


def _kinds(annotation: object) -> Kinds | None:
    """What an annotation takes; None where that is for others to tell."""
    simple: list[Kind] = []
    items = None
    members = get_args(annotation) if get_origin(annotation) is UnionType else (annotation,)
    for one in members:
        origin = get_origin(one) or one
        if origin in KINDS:
            simple.append(KINDS[origin])
        elif origin in (Sequence, Iterable):
            items = _kinds(get_args(one)[0])
            simple += [LIST] if items is None else []
        elif isinstance(one, type) and one is not Any and not getattr(one, "_is_protocol", False):
            simple += [] if one is NoneType else [_of(one)]
        else:
            return None
    if PATH in simple:
        simple = [kind for kind in simple if kind != TEXT]
    return Kinds(simple, items, NoneType in members)


def takes(**examples: object) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Makes a function refuse arguments of a kind that its annotations do not have.

    Args:
        examples: Of arguments, for messages, where they have no default that is one.

    Raises:
        ConfigError: When it is called with such an argument, with its name.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        about: Any = function
        names = about.__code__.co_varnames[: about.__code__.co_argcount]

        @cache
        def known() -> dict[str, tuple[Kinds, str]]:
            late = names[len(names) - len(about.__defaults__ or ()) :]
            defaults = {**dict(zip(late, about.__defaults__ or (), strict=True)), **(about.__kwdefaults__ or {})}
            found = {}
            for name, annotation in about.__annotations__.items():
                kinds, usual = _kinds(annotation), defaults.get(name)
                if kinds is not None and name != "return":
                    usual = [usual[0]] if isinstance(usual, tuple) and usual else usual
                    example = examples.get(name, usual if isinstance(usual, str | list) else None)
                    found[name] = kinds, repr(example) if example else ""
            return found

        @wraps(function)
        def call(*arguments: P.args, **named: P.kwargs) -> T:
            kinds = known()
            for name, given in (*zip(names, arguments, strict=False), *named.items()):
                its, example = kinds.get(name, (None, ""))
                if its is not None and (fault := its.fault(given)) is not None:
                    raise ConfigError(f"{name}: {fault}; {its.remedy(example)}")
            return function(*arguments, **named)

        return call

    return decorate
