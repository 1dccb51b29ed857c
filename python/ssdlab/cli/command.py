"""How commands are declared, found and explained.

Help is plain text of at most 80 columns: rich takes longer to load than the help of all commands takes to write.
"""

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from inspect import cleandoc
from typing import Any, TypeVar

import click
from click.core import augment_usage_errors

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli.declare import Argument, Option, parameters
from ssdlab.lazy import room

WITHOUT_DOCSTRINGS = "Python leaves out the rest of this help with -OO; run it without."

MOST_SETS = 3
"""Settings of the same name that a message shows."""

Function = TypeVar("Function", bound=Callable[..., Any])


class App:
    """A module's commands. One of the same name as the module is all of it; else they are a group."""

    def __init__(self) -> None:
        self.commands: dict[str, click.Command] = {}

    def add(self, command: "Later") -> None:
        """Declares a command of a module of its own."""
        self.commands[command.name or ""] = command

    def command(self, name: str | None = None, *, examples: str = "") -> Callable[[Function], Function]:
        """Declares a command, with command lines as examples. Its docstring is its help."""

        def declare(function: Function) -> Function:
            called = name or function.__name__
            self.commands[called] = Command(called, function, examples)
            return function

        return declare


class Later(click.Command):
    """Stands for a command, or a group, until it is called: its module below `cli` is loaded then, not to list it.

    Its summary is the first paragraph of the help.
    """

    def __init__(self, name: str, summary: str, module: str | None = None) -> None:
        super().__init__(name, help=summary)
        self._called, self._module = name, (module or name).replace("-", "_")

    @cached_property
    def loaded(self) -> click.Command:
        """The command."""
        commands = room(f"cli.{self._module}").app.commands
        alone = [*commands] == [self._called]
        command: click.Command = commands[self._called] if alone else Group(self._called, commands=commands)
        command.help = f"{self.help}\n\n{command.help or ''}"
        return command


class Command(click.Command):
    """A command whose help lists options by their panels, and its examples last.

    It refuses the second value of an option that takes one, else the last would silently count, and figures that go
    nowhere.
    """

    def __init__(self, name: str, function: Callable[..., Any], examples: str) -> None:
        def call(**given: Any) -> Any:
            return function(**{name: [*value] if isinstance(value, tuple) else value for name, value in given.items()})

        help = cleandoc(function.__doc__ or (WITHOUT_DOCSTRINGS if sys.flags.optimize > 1 else ""))
        super().__init__(name, callback=call, params=parameters(function), help=help, epilog=examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the command line.

        Raises:
            ConfigError: If an option that takes one value is given again, a configuration without its option, or
                --figures without --out or matplotlib.
        """
        if ctx.resilient_parsing:
            # A shell asks for completions, and what stands there is not done.
            return super().parse_args(ctx, args)
        with augment_usage_errors(ctx), _suggesting(self, args):
            _, extra, given = self.make_parser(ctx).parse_args(args=[*args])
        self._refuse_configurations(extra)
        times = Counter(id(one) for one in given)
        for one in given:
            if isinstance(one, Option) and times[id(one)] > 1 and not one.multiple and not one.is_flag:
                remedy = room("cli.options").ONE_PRESET if one.name == "preset" else "give it once"
                raise ConfigError(f"{one.opts[0]} is given twice; {remedy}")
        names = {one.name for one in given}
        if "figures" in names and "out" not in names:
            raise ConfigError("--figures: figures are written to a directory; name one with --out DIR")
        rest = super().parse_args(ctx, args)
        if "figures" in names:
            # What draws them may be missing: better now than after the run.
            room("view.plots.paper")
        traces = ctx.params.get("trace") or ()
        self._refuse_configurations(traces if isinstance(traces, tuple) else (traces,))
        return rest

    def _refuse_configurations(self, paths: Iterable[object]) -> None:
        """Refuses configurations among files that are no options."""
        for path in map(str, paths):
            if path.endswith(".toml") and any(one.name == "config" for one in self.params):
                raise ConfigError(f"{path}: a configuration is given by an option: --config {path}")

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """What follows the name in the line of usage."""
        arguments = [one for one in self.get_params(ctx) if isinstance(one, Argument)]
        return ["[OPTIONS]", *(_argument(one) if one.required else f"[{_argument(one)}]" for one in arguments)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes arguments and options."""
        _write_parameters(self, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in cleandoc(self.epilog).splitlines():
                    formatter.write(f"  {line}\n")


class Group(click.Group):
    """A group of commands; its help lists them, as they were declared."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the command line up to the name of a command."""
        with _suggesting(self, [*args]):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Name, command and its arguments, of a command line."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.loaded if isinstance(command, Later) else command, rest

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names of its commands."""
        return [*self.commands]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes options and commands."""
        _write_parameters(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the name of each command and the first paragraph of its help."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(one)) for name, one in commands.items() if one])


@contextmanager
def _suggesting(command: click.Command, args: Sequence[str]) -> Iterator[None]:
    """Says what an unknown option may mean: a setting of that name, or else the nearest option."""
    try:
        yield
    except click.NoSuchOption as error:
        # Click suggests options by difflib, which takes --merge for like --seed.
        if any(one.name == "set" for one in command.params) and (sets := _sets(error.option_name, args)):
            said = f"; write {' or '.join(sets)}"
        else:
            names = [name for one in command.params if isinstance(one, click.Option) for name in one.opts]
            # A single letter is like every other.
            options = [name for name in names if min(len(name), len(error.option_name)) > 2]
            said = text.suggestion(error.option_name, options)
        raise click.UsageError(f"No such option {text.path(error.option_name)}{said}", error.ctx) from None


def _sets(name: str, args: Sequence[str]) -> list[str]:
    """How to set what an option is called: `--set seed=5` for `--seed 5`. Settings that need the fewest choices."""
    if not name.startswith("--"):
        return []
    word = name.removeprefix("--").replace("-", "_")
    found = [(key, example) for key, _, example, _ in _ssdlab.options() if f".{key}".endswith(f".{word}")]
    fewest = min((key.count(".") for key, _ in found), default=0)
    at, follows = next((at, one.partition("=")) for at, one in enumerate(args) if one.partition("=")[0] == name)
    following = follows[2] or next((one for one in args[at + 1 : at + 2] if not one.startswith("-")), "")
    return [
        f"--set {shlex.quote(f'{key}={following or example}')}" for key, example in found if key.count(".") == fewest
    ][:MOST_SETS]


def summary(command: click.Command) -> str:
    """The first paragraph of its help."""
    return " ".join((command.help or "").partition("\n\n")[0].split())


def _argument(argument: Argument) -> str:
    return f"{argument.metavar}..." if argument.nargs == -1 else f"{argument.metavar}"


def _write_parameters(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    for title, rows in panels(command, ctx).items():
        with formatter.section(title):
            formatter.write_dl(rows)


def panels(command: click.Command, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
    """How each argument and option is written and what it means, by the heading that it stands under."""
    found: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for one in command.get_params(ctx):
        name, help = one.get_help_record(ctx) or ("", "")
        if isinstance(one, Argument):
            found["Arguments"].append((_argument(one), help))
        else:
            # Click's own option of help stands under none.
            found.setdefault(getattr(one, "panel", None) or "Options", []).append((name, help))
    return {title: rows for title, rows in found.items() if rows}
