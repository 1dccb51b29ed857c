"""How commands are declared, found and explained.

Help is plain text of at most 80 columns: rich takes longer to load than the help of all commands takes to write.
"""

from collections import Counter
from collections.abc import Callable
from inspect import cleandoc
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command, get_group

from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import room

Function = TypeVar("Function", bound=Callable[..., Any])


class App(typer.Typer):
    """A module's commands. One of the same name as the module is all of it; else they are a group."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**{
            "cls": Group, "no_args_is_help": True, "add_completion": False, "rich_markup_mode": None,
            "pretty_exceptions_enable": False, **more,
        })  # fmt: skip

    def command(self, name: str | None = None, *, examples: str = "", **more: Any) -> Callable[[Function], Function]:
        """Declares a command, with command lines as examples. Its docstring is its help."""
        return super().command(name, cls=Command, epilog=examples, **more)


def load(name: str, summary: str) -> Any:
    """The command or group that the module of this name below `cli` declares."""
    app = room(f"cli.{name.replace('-', '_')}").app
    alone = [one.name or one.callback.__name__ for one in app.registered_commands] == [name]
    command = get_command(app) if alone else get_group(app)
    command.name = name
    command.help = f"{summary}\n\n{command.help or ''}"
    return command


class Command(TyperCommand):
    """A command whose help lists options by their panels, and its examples last.

    It refuses the second value of an option that takes one, else the last would silently count, and figures that go
    nowhere.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the command line.

        Raises:
            ConfigError: If an option that takes one value is given again, or --figures without --out.
        """
        _, _, given = self.make_parser(ctx).parse_args(args=[*args])
        times = Counter(id(one) for one in given)
        for one in given:
            if isinstance(one, TyperOption) and times[id(one)] > 1 and not one.multiple and not one.is_flag:
                remedy = room("cli.options").ONE_PRESET if one.name == "preset" else "give it once"
                raise ConfigError(f"{one.opts[0]} is given twice; {remedy}")
        names = {one.name for one in given}
        if "figures" in names and "out" not in names:
            raise ConfigError("--figures: figures are written to a directory; name one with --out DIR")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What follows the name in the line of usage."""
        arguments = [one for one in self.get_params(ctx) if one.param_type_name == "argument"]
        return ["[OPTIONS]", *(_argument(one) if one.required else f"[{_argument(one)}]" for one in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments and options."""
        _write_parameters(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the examples."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in cleandoc(self.epilog).splitlines():
                    formatter.write(f"  {line}\n")


class Group(TyperGroup):
    """A group of commands; its help lists them."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes options and commands."""
        _write_parameters(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the name of each command and the first paragraph of its help."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(one)) for name, one in commands.items() if one])


def summary(command: Any) -> str:
    """The first paragraph of its help."""
    return " ".join((command.help or "").partition("\n\n")[0].split())


def _argument(argument: Any) -> str:
    name: str = argument.metavar or argument.name.upper()
    return f"{name}..." if argument.nargs == -1 else name


def _write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    for title, rows in panels(command, ctx).items():
        with formatter.section(title):
            formatter.write_dl(rows)


def panels(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """How each argument and option is written and what it means, by the heading that it stands under."""
    found: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for one in command.get_params(ctx):
        name, help = one.get_help_record(ctx)
        if one.param_type_name == "argument":
            found["Arguments"].append((_argument(one), help))
        else:
            found.setdefault(one.rich_help_panel or "Options", []).append((name, help))
    return {title: rows for title, rows in found.items() if rows}
