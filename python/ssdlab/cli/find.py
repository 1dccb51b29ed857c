"""The command `ssdlab find`."""

from collections.abc import Iterator

import click

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.command import App, Later, summary
from ssdlab.cli.declare import argument
from ssdlab.cli.output import print_json, show
from ssdlab.lazy import room
from ssdlab.model.metrics import METRICS
from ssdlab.study.catalogue import KNOWN_AS, catalogue
from ssdlab.study.search import Named, corrected, search

app = App()


@app.command("find", examples="ssdlab find queue depth\nssdlab find host.queue\nssdlab find WAF")
def find(
    word: list[str] = argument("WORD", "Words to find, or part of a setting's key."),
    json: bool = options.JSON,
) -> None:
    """The best matches come first: names equal to the search words, then names that end with them, then names and
    descriptions with words that start with them. If nothing matches, misspelt words are corrected.
    """
    known = [*_names(), *_commands(click.get_current_context().find_root().command, "ssdlab")]
    query = " ".join(word)
    found = search(query, known)
    if not found:
        query = corrected(query, known)
        found = search(query, known)
    if not found:
        raise ConfigError(f"nothing matches {' '.join(word)!r}; 'ssdlab list' shows all names")
    if json:
        print_json("matches", [one._asdict() for one in found])
    else:
        show(room("view.pages.matches").page(query, found))


def _names() -> Iterator[Named]:
    """Yields all searchable names: settings, their values, other catalogue entries, metrics and terms."""
    keys = {key for key, *_ in _ssdlab.options()}
    yield from (Named(key, "setting", help_text) for key, help_text, *_ in _ssdlab.options())
    for group in catalogue():
        key = KNOWN_AS.get(group.name, group.name)
        if key in keys:
            yield from (Named(f"{key}={entry.name}", "value", entry.help) for entry in group.entries)
        elif group.name != "settings":
            yield from (Named(entry.name, group.name.removesuffix("s"), entry.help) for entry in group.entries)
    yield from (
        Named(one.name, "metric", ": ".join(filter(None, [one.label, one.help])))
        for one in METRICS
        if one.compute is None
    )
    yield from (Named(term, "term", meaning) for term, meaning in room("view.glossary").TERMS.items())


def _commands(command: click.Command, path: str) -> Iterator[Named]:
    """Yields the commands of a group, with their subcommands."""
    for name, below in command.commands.items() if isinstance(command, click.Group) else ():
        yield Named(f"{path} {name}", "command", summary(below))
        yield from _commands(below.loaded if isinstance(below, Later) else below, f"{path} {name}")
