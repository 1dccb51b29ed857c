"""The command `ssdlab list`."""

from collections.abc import Sequence
from textwrap import shorten

from ssdlab import _ssdlab, text
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument
from ssdlab.cli.output import print_json, print_lines, shows_all
from ssdlab.study.catalogue import Group, catalogue, group

app = App()

EXAMPLES = """
ssdlab list
ssdlab list schedulers
ssdlab list ftl.page.trigger
"""


@app.command("list", examples=EXAMPLES)
def list_group(
    name: str | None = argument(
        "NAME",
        "Section to list, such as caches, or key of a setting whose values to list.",
        default=None,
        choices=lambda: [(group.name, group.help) for group in catalogue()],
    ),
    json: bool = options.JSON,
) -> None:
    """With NAME, lists only that section, with parameters and their defaults."""
    listing(name, json=json)


def listing(name: str | None, *, json: bool) -> None:
    """Lists a group of the catalogue or, without a name, all groups, each with its first entries."""
    groups = catalogue() if name is None else [group(name)]
    if json:
        print_json("catalogue", [_plain(shown) for shown in groups])
    elif name is not None:
        print_lines(_entries(groups[0]))
    elif shows_all():
        print_lines([line for shown in groups for line in (*_heading(shown), *_entries(shown, "  "), "")][:-1])
    else:
        print_lines(
            [*_overview(groups), "", "'ssdlab list NAME' explains one section, such as caches; --all explains all"]
        )


def _overview(groups: Sequence[Group]) -> list[str]:
    """Returns a line for each group with the number of its entries, then a line with other settings."""
    keys = {key for key, *_ in _ssdlab.options()}
    headings = [one for one in groups if one.name not in keys]
    width = max(len(one.name) for one in headings)
    lines = [
        f"{one.name:<{width}}  {len(one.entries):>3}  "
        + shorten(", ".join(entry.name for entry in one.entries), text.columns() - width - 7, placeholder=" …")
        for one in headings
    ]
    others = ", ".join(one.name for one in groups if one.name in keys)
    return [
        *lines,
        "",
        *text.folded(f"settings whose values can also be listed: {others}").split("\n"),
    ]


def _heading(shown: Group) -> list[str]:
    return text.folded(f"{shown.name}: {shown.help}").split("\n")


def _entries(shown: Group, indent: str = "") -> list[str]:
    """Returns the lines of a group's entries, each followed by its parameters."""
    width = max(len(entry.name) for entry in shown.entries)
    hang = " " * (len(indent) + width + 2)
    lines = []
    for entry in shown.entries:
        lines += text.folded(f"{entry.name:<{width}}  {entry.help}", indent, hang).split("\n")
        for one in entry.parameters:
            lines += text.folded(f"{one.name:<24}{one.default:>12}  {one.help}", "    ", " " * 42).split("\n")
    return lines


def _plain(shown: Group) -> dict[str, object]:
    entries = [
        {"name": entry.name, "help": entry.help, "parameters": [parameter._asdict() for parameter in entry.parameters]}
        for entry in shown.entries
    ]
    return {"name": shown.name, "help": shown.help, "entries": entries}
