"""Declares commands, loads them when they are called, and writes their help.

Help is plain text of at most 80 columns, because loading rich would take longer than writing the help.
"""

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from inspect import cleandoc
from itertools import pairwise
from typing import Any, TypeVar

import click
from click.core import augment_usage_errors

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli.declare import Argument, Option, bound, parameters
from ssdlab.lazy import room

WITHOUT_DOCSTRINGS = "Python option -OO removes the rest of this help; run without it."

MOST_SETS = 3
"""Maximum number of settings with the same name that a message lists."""

ALL = Option(["--all"], "Output", is_flag=True, help="Print everything; by default, at most 40 lines.")
"""Option of all commands with human-readable output; `output.shows_all` returns its value."""

Function = TypeVar("Function", bound=Callable[..., Any])


class App:
    """The commands that a module declares: a single command with the module's name, or a group."""

    def __init__(self) -> None:
        self.commands: dict[str, click.Command] = {}

    def add(self, command: "Later") -> None:
        """Adds a command that has its own module."""
        self.commands[command.name or ""] = command

    def command(self, name: str | None = None, *, examples: str = "") -> Callable[[Function], Function]:
        """Declares a function as a command, whose help is the docstring followed by `examples`."""

        def declare(function: Function) -> Function:
            called = name or function.__name__
            self.commands[called] = Command(called, function, examples)
            return function

        return declare


class Later(click.Command):
    """A command or group whose module below `cli` is loaded only when called. Its help begins with `summary`."""

    def __init__(self, name: str, summary: str, module: str | None = None) -> None:
        super().__init__(name, help=summary)
        self._called, self._module = name, (module or name).replace("-", "_")

    @cached_property
    def loaded(self) -> click.Command:
        """The command, loaded from its module on first use."""
        commands = room(f"cli.{self._module}").app.commands
        alone = [*commands] == [self._called]
        command: click.Command = commands[self._called] if alone else Group(self._called, commands=commands)
        command.help = f"{self.help}\n\n{command.help or ''}"
        return command


class Command(click.Command):
    """A command whose help groups options by panel and ends with examples.

    The command rejects repeated options (unless the option allows repetition), options for figures without --out, and
    options for tables together with --json.
    """

    def __init__(self, name: str, function: Callable[..., Any], examples: str) -> None:
        def call(**given: Any) -> Any:
            listed = {name: [*value] if isinstance(value, tuple) else value for name, value in given.items()}
            return function(**bound(function, listed))

        help = cleandoc(function.__doc__ or (WITHOUT_DOCSTRINGS if sys.flags.optimize > 1 else ""))
        params = parameters(function)
        if any(parameter.name == "json" for parameter in params):
            params.append(ALL)
        super().__init__(name, callback=call, params=params, help=help, epilog=examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the command line."""
        if any(parameter.name == "json_fio" for parameter in self.params):
            args = _with_json_fio(args)
        if ctx.resilient_parsing:
            # For completion, the shell passes an unfinished command line, which must not be rejected.
            return super().parse_args(ctx, args)
        with augment_usage_errors(ctx), _suggesting(self, args):
            _, extra, given = self.make_parser(ctx).parse_args(args=[*args])
        self._refuse_configurations(extra)
        times = Counter(id(parameter) for parameter in given)
        for parameter in given:
            once = isinstance(parameter, Option) and not (parameter.multiple or parameter.is_flag)
            if once and times[id(parameter)] > 1:
                remedy = room("cli.options").ONE_PRESET if parameter.name == "preset" else "use it only once"
                raise ConfigError(f"{parameter.opts[0]} is used more than once; {remedy}")
        names = {parameter.name for parameter in given}
        drawn = names & {"figure", "figures"}
        if drawn and "out" not in names:
            raise ConfigError(f"--{min(drawn)} needs an output directory; add --out DIR")
        if "json" in names and names & {"table", "rows"}:
            raise ConfigError(f"--{max(names & {'table', 'rows'})} prints tables, not JSON; omit --json")
        rest = super().parse_args(ctx, args)
        if drawn:
            # Imports the module early: if matplotlib is missing, the command fails before the run instead of after it.
            room("view.plots.paper")
        traces = ctx.params.get("trace") or ()
        self._refuse_configurations(traces if isinstance(traces, tuple) else (traces,))
        return rest

    def _refuse_configurations(self, paths: Iterable[object]) -> None:
        """Rejects a configuration file given as an argument."""
        for path in map(str, paths):
            if path.endswith(".toml") and any(parameter.name == "config" for parameter in self.params):
                raise ConfigError(f"{path}: is a configuration file, not a trace; use --config {path}")

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Returns the part of the usage line that follows the command's name."""
        arguments = [(_argument(word), word.required) for word in self.get_params(ctx) if isinstance(word, Argument)]
        return ["[OPTIONS]", *(word if required else f"[{word}]" for word, required in arguments)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the command's arguments and options into its help."""
        _write_parameters(self, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the command's examples into its help."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in cleandoc(self.epilog).splitlines():
                    formatter.write(f"  {line}\n")


class Group(click.Group):
    """A group of commands, which its help lists in the order of declaration."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the command line up to the command's name."""
        with _suggesting(self, [*args]):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Returns name, command and remaining arguments; loads the command."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.loaded if isinstance(command, Later) else command, rest

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Returns the names of the commands in the group."""
        return [*self.commands]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes options and commands of the group into its help."""
        _write_parameters(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes each command with its summary into the group's help."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(command)) for name, command in commands.items() if command])


@contextmanager
def _suggesting(command: click.Command, args: Sequence[str]) -> Iterator[None]:
    """Adds to the error for an unknown option a setting with this name, or else the most similar option."""
    try:
        yield
    except click.NoSuchOption as error:
        # Does not use Click's own suggestions, which rely on difflib: it finds --merge similar to --seed.
        if any(parameter.name == "set" for parameter in command.params) and (sets := _sets(error.option_name, args)):
            said = f"; write {' or '.join(sets)}"
        else:
            names = [name for known in command.params if isinstance(known, click.Option) for name in known.opts]
            # Single letters are never suggested.
            options = [name for name in names if min(len(name), len(error.option_name)) > 2]
            said = text.suggestion(error.option_name, options)
        raise click.UsageError(f"No such option {text.path(error.option_name)}{said}", error.ctx) from None


def _sets(name: str, args: Sequence[str]) -> list[str]:
    """Returns suggestions for an unknown option, such as `--set seed=5` for `--seed 5`. Among the settings whose key
    ends in the option's name, suggests the settings with the fewest levels in the key. If a setting cannot have the
    given value, the suggestion has an example value.
    """
    if not name.startswith("--"):
        return []
    word = name.removeprefix("--").replace("-", "_")
    settings = [(key, example) for key, _, example, _ in _ssdlab.options() if f".{key}".endswith(f".{word}")]
    depth = min((key.count(".") for key, _ in settings), default=0)
    at = next(at for at, argument in enumerate(args) if argument.partition("=")[0] == name)
    value = args[at].partition("=")[2] or next((word for word in args[at + 1 : at + 2] if word[:1] != "-"), "")
    least = [(key, example) for key, example in settings if key.count(".") == depth][:MOST_SETS]
    sets = [f"{key}={value if _is_value(key, value) else example}" for key, example in least]
    return [f"--set {shlex.quote(setting)}" for setting in sets]


def _is_value(key: str, value: str) -> bool:
    """True if the setting can have the given value."""
    try:
        room("model.config").Config(overrides={key: value})
    except ConfigError:
        return False
    return True


def _with_json_fio(args: Sequence[str]) -> list[str]:
    """Replaces `--json fio` by `--json-fio`, because the flag --json takes no value."""
    pairs = [*pairwise(args)]
    at = pairs.index(("--json", "fio")) if ("--json", "fio") in pairs else len(args)
    return [*args[:at], *(["--json-fio"] if at < len(args) else []), *args[at + 2 :]]


def summary(command: click.Command) -> str:
    """Returns the first paragraph of a command's help."""
    return " ".join((command.help or "").partition("\n\n")[0].split())


def _argument(argument: Argument) -> str:
    return f"{argument.metavar}..." if argument.nargs == -1 else f"{argument.metavar}"


def _write_parameters(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    for title, rows in panels(command, ctx).items():
        with formatter.section(title):
            formatter.write_dl(rows)


def panels(command: click.Command, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Returns, for each panel, the command's arguments and options as the user writes them, with their help."""
    by_panel: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in command.get_params(ctx):
        name, help = parameter.get_help_record(ctx) or ("", "")
        if isinstance(parameter, Argument):
            by_panel["Arguments"].append((_argument(parameter), help))
        else:
            # Click adds the option --help itself, without a panel.
            by_panel.setdefault(getattr(parameter, "panel", None) or "Options", []).append((name, help))
    return {title: rows for title, rows in by_panel.items() if rows}
