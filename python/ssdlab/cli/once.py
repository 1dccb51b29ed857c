"""Options that take one value, given twice."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption
from typer.models import CommandInfo

from ssdlab import ConfigError
from ssdlab.cli.options import ONE_PRESET


class Once(TyperCommand):
    """A command that refuses the second value of an option that takes one; else the last would silently count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the command line.

        Raises:
            ConfigError: If an option that takes one value is given again.
        """
        _, _, given = self.make_parser(ctx).parse_args(args=[*args])
        times = Counter(id(one) for one in given)
        for one in given:
            if isinstance(one, TyperOption) and times[id(one)] > 1 and not one.multiple and not one.is_flag:
                remedy = ONE_PRESET if one.name == "preset" else "give it once"
                raise ConfigError(f"{one.opts[0]} is given twice; {remedy}")
        return super().parse_args(ctx, args)


def every_command(of: typer.Typer) -> Iterator[CommandInfo]:
    """The commands of a program, and of its groups."""
    yield from of.registered_commands
    for group in of.registered_groups:
        if group.typer_instance is not None:
            yield from every_command(group.typer_instance)
