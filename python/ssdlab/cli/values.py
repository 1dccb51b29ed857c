"""Types of option and argument values, with errors that quote the typed value."""

from collections.abc import Callable
from typing import Any

import click

from ssdlab._ssdlab import ConfigError, SsdlabError

MOST = (1 << 63) - 1
"""Largest integer that the simulator accepts."""


class Text(click.types.StringParamType):
    """UTF-8 text. The simulator requires UTF-8 for all values except paths, which may contain any bytes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the text that the user typed; rejects an empty text."""
        if value == "":
            self.fail("the value is empty; enter a value, or omit the parameter", param, ctx)
        return super().convert(_utf8(value, self, param, ctx), param, ctx)


class Checked(Text):
    """Text with comma-separated items, each validated by a given function. The command receives the text unchanged."""

    def __init__(self, read: Callable[[str], object]) -> None:
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the text; errors of the validating function begin with the option's name."""
        written = super().convert(value, param, ctx)
        try:
            for item in written.split(","):
                self._read(item.strip())
        except SsdlabError as error:
            raise ConfigError(f"{param.opts[0]}: {error}" if param else str(error)) from None
        return written


def _utf8(value: Any, kind: "click.ParamType[Any]", param: click.Parameter | None, ctx: click.Context | None) -> Any:
    if isinstance(value, str) and not value.isprintable():
        try:
            value.encode()
        except UnicodeEncodeError:
            kind.fail(f"{value!a} is not UTF-8 text", param, ctx)
    return value


class FilePath(click.Path):
    """A path, which may hold any bytes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the path; rejects an empty path, which would mean the current directory."""
        if value == "":
            self.fail("the path is empty; enter a path, or omit the parameter", param, ctx)
        return super().convert(value, param, ctx)


class Whole(click.types.IntParamType):
    """A 64-bit integer."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the integer that the user typed."""
        number = super().convert(value, param, ctx)
        if abs(number) > MOST:
            self.fail(f"{value} is too large; the maximum is {MOST}", param, ctx)
        return number


class Integer(Whole, click.IntRange):
    """An integer in a range. Error messages call it "integer"; click would say "integer range"."""

    name = "integer"


class Number(click.FloatRange):
    """A number in a range. Error messages call it "number"."""

    name = "number"


class Parsed(click.Path):
    """A command-line path that a given function converts to another value."""

    def __init__(self, parser: Callable[[str], Any]) -> None:
        super().__init__()
        self._parser = parser

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the converted value. A default is returned as is, because it is already converted."""
        return self._parser(_utf8(value, self, param, ctx)) if isinstance(value, str) else value
