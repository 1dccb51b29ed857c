"""Checks the argument types of public functions; errors name the offending argument.

The annotation of an argument defines its valid types: string, path, function, bool, number, or a list of them.
Arguments that are configurations or traces are checked by the function itself.
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
    """True if the value is a Python or NumPy bool. Other truthy or falsy values do not count."""
    return isinstance(given, bool) or type(given).__name__ in ("bool_", "bool")


def shown(given: object) -> str:
    """Returns text that describes an argument in messages: its value if the value is short, otherwise its type."""
    return repr(given) if isinstance(given, str | bytes | Real | None) else type(given).__name__


class Kind(NamedTuple):
    """A type that an argument may have: noun and remedy for messages, and a function that checks a value."""

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


def _kind_of(cls: type) -> Kind:
    return Kind(cls.__name__, f"a {cls.__name__}", lambda given: isinstance(given, cls))


TEXT = Kind("string", "a string", lambda given: isinstance(given, str))
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
    """Types that an annotation allows for an argument."""

    simple: Sequence[Kind]
    items: "Kinds | None"
    """Types that the items of a list may have; None if the argument cannot be a list."""
    optional: bool

    def words(self, plural: str = "") -> str:
        """Describes the allowed types; for a list the types of its items, because a single item may stand for it."""
        own = " or ".join(f"{kind.noun}{plural}" for kind in self.simple)
        return own if own or self.items is None else self.items.words(plural)

    def remedy(self, example: str) -> str:
        """Returns the remedy for an invalid argument: the allowed types, with an example."""
        own = [kind.remedy for kind in self.simple]
        words = " or ".join([*own, *([f"a list of {self.items.words('s')}"] if self.items else [])])
        return f"pass {words}{example and f', such as {example}'}{', or None' if self.optional else ''}"

    def fault(self, given: object) -> str | None:
        """Describes what is wrong with an argument; None if it is valid."""
        if (given is None and self.optional) or any(kind.holds(given) for kind in self.simple):
            zero = PATH in self.simple and "\0" in str(given)
            return f"{str(given)!r} contains a zero byte" if zero else None
        if self.items is not None and _is_list(given):
            # Items of other iterables are not checked, because some can be iterated over only once.
            items = given if isinstance(given, list | tuple) else []
            return next((fault for fault in map(self.items.fault, items) if fault), None)
        # A single item is accepted where a list is expected, because `several` wraps it in a list.
        is_one = self.items is not None and self.items.fault(given) is None
        return None if is_one else f"{shown(given)} is not a {self.words()}"


def _kinds(annotation: object) -> Kinds | None:
    """Returns the argument types that an annotation allows; None if the function checks the argument itself."""
    simple: list[Kind] = []
    items = None
    members = get_args(annotation) if get_origin(annotation) is UnionType else (annotation,)
    for member in members:
        origin = get_origin(member) or member
        if origin in KINDS:
            simple.append(KINDS[origin])
        elif origin in (Sequence, Iterable):
            items = _kinds(get_args(member)[0])
            simple += [LIST] if items is None else []
        elif isinstance(member, type) and member is not Any and not getattr(member, "_is_protocol", False):
            simple += [] if member is NoneType else [_kind_of(member)]
        else:
            return None
    if PATH in simple:
        simple = [kind for kind in simple if kind != TEXT]
    return Kinds(simple, items, NoneType in members)


def takes(**examples: object) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Makes a function, or the constructor of a class, reject arguments of types that its annotations do not allow. The
    error names the argument, and shows a value of `examples` or, without one, the default value.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        about: Any = function
        if isinstance(about, type):
            constructed: Any = about
            constructed.__init__ = takes(**examples)(constructed.__init__)
            return function
        names = about.__code__.co_varnames[: about.__code__.co_argcount]

        @cache
        def known() -> dict[str, tuple[Kinds, str]]:
            late = names[len(names) - len(about.__defaults__ or ()) :]
            defaults = {**dict(zip(late, about.__defaults__ or (), strict=True)), **(about.__kwdefaults__ or {})}
            by_name = {}
            for name, annotation in about.__annotations__.items():
                kinds, usual = _kinds(annotation), defaults.get(name)
                if kinds is not None and name != "return":
                    usual = [usual[0]] if isinstance(usual, tuple) and usual else usual
                    example = examples.get(name, usual if isinstance(usual, str | list) else None)
                    by_name[name] = kinds, repr(example) if example else ""
            return by_name

        @wraps(function)
        def call(*arguments: P.args, **named: P.kwargs) -> T:
            known_kinds = known()
            for name, given in (*zip(names, arguments, strict=False), *named.items()):
                kinds, example = known_kinds.get(name, (None, ""))
                if kinds is not None and (fault := kinds.fault(given)) is not None:
                    raise ConfigError(f"{name}: {fault}; {kinds.remedy(example)}")
            return function(*arguments, **named)

        return call

    return decorate
