"""Kinds of values of arguments and options, whose errors say what was typed."""

from collections.abc import Callable
from typing import Any

import click

from ssdlab._ssdlab import ConfigError, SsdlabError

MOST = (1 << 63) - 1
"""Larger numbers are slips of the finger; the simulator could not take them."""


class Text(click.types.StringParamType):
    """Text of which the simulator, whose text is UTF-8, can be told; paths may be of any bytes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The text."""
        if value == "":
            self.fail("there is nothing in it; give a value, or leave it out", param, ctx)
        return super().convert(_utf8(value, self, param, ctx), param, ctx)


class Checked(Text):
    """Text that a function reads, once for each of several between commas; it goes on as it was typed."""

    def __init__(self, read: Callable[[str], object]) -> None:
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The text; an error of the function names the option."""
        written = super().convert(value, param, ctx)
        try:
            for one in written.split(","):
                self._read(one.strip())
        except SsdlabError as error:
            raise ConfigError(f"{param.opts[0]}: {error}" if param else str(error)) from None
        return written


def _utf8(value: Any, kind: "click.ParamType[Any]", param: click.Parameter | None, ctx: click.Context | None) -> Any:
    if isinstance(value, str) and not value.isprintable():
        try:
            value.encode()
        except UnicodeEncodeError:
            kind.fail(f"{value!a} is no text in UTF-8", param, ctx)
    return value


class FilePath(click.Path):
    """A path, of any bytes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; empty, it would be that of the directory which one is in."""
        if value == "":
            self.fail("there is no path in it; name a file, or leave it out", param, ctx)
        return super().convert(value, param, ctx)


class Whole(click.types.IntParamType):
    """A number that 64 bits hold."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        number = super().convert(value, param, ctx)
        if abs(number) > MOST:
            self.fail(f"{value} is too large", param, ctx)
        return number


class Integer(Whole, click.IntRange):
    """A whole number within bounds; where a user types none, click would say that it is no "integer range"."""

    name = "integer"


class Number(click.FloatRange):
    """The same of a number with a fraction."""

    name = "number"


class Parsed(click.Path):
    """A path of which a function makes what is wanted."""

    def __init__(self, parser: Callable[[str], Any]) -> None:
        super().__init__()
        self._parser = parser

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; a default is one already."""
        return self._parser(_utf8(value, self, param, ctx)) if isinstance(value, str) else value
