"""Writes man pages and completions of `ssdlab`, from the declarations of its commands, for those who package it.

    python packaging/share.py DIRECTORY

The directory is laid out as `/usr/share` is.
"""

import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click

import ssdlab
from ssdlab.cli import COMPLETE, PROGRAM, app
from ssdlab.cli.command import panels, summary
from ssdlab.cli.completion import script

COMPLETIONS = {
    "bash": "bash-completion/completions/ssdlab",
    "zsh": "zsh/site-functions/_ssdlab",
    "fish": "fish/vendor_completions.d/ssdlab.fish",
}


def commands() -> Iterator[tuple[Any, click.Context]]:
    """Every command, each with the context that it is called in."""
    yield from _below(app, click.Context(app, info_name=PROGRAM, **app.context_settings))


def _below(command: Any, context: click.Context) -> Iterator[tuple[Any, click.Context]]:
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            _, below, _ = command.resolve_command(context, [name])
            assert below is not None
            yield from _below(below, click.Context(below, parent=context, info_name=name))


def roff(text: str) -> str:
    """Text as it stands in a man page."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def man_page(command: Any, context: click.Context) -> str:
    """The man page of a command."""
    path = context.command_path
    name = path.replace(" ", "-")
    lines = [
        f'.TH {name.upper()} 1 "" "ssdlab {ssdlab.__version__}" "ssdlab"',
        ".SH NAME",
        f"{roff(name)} \\- {roff(summary(command).rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {roff(path)}",
        roff(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
    ]
    for paragraph in cleandoc(command.help).split("\n\n"):
        lines += [".PP", roff(" ".join(paragraph.split()))]
    for title, rows in panels(command, context).items():
        lines.append(f".SH {title.upper()}")
        for written, meaning in rows:
            lines += [".TP", f".B {roff(written)}", roff(" ".join(meaning.split()))]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for one in command.list_commands(context):
            lines += [".TP", f".BR {roff(f'{name}-{one}')} (1)", roff(summary(command.commands[one]))]
    elif command.epilog:
        lines += [".SH EXAMPLES", ".nf", *map(roff, cleandoc(command.epilog).splitlines()), ".fi"]
    return "\n".join(lines) + "\n"


def files() -> dict[str, str]:
    """Paths below the directory, with what each holds."""
    found = {path: script(app, PROGRAM, COMPLETE, shell) for shell, path in COMPLETIONS.items()}
    for command, context in commands():
        found[f"man/man1/{context.command_path.replace(' ', '-')}.1"] = man_page(command, context)
    return found


if __name__ == "__main__":
    for name, content in files().items():
        target = Path(sys.argv[1]) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
