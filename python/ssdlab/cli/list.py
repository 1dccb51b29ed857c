"""The command `ssdlab list`."""

from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument
from ssdlab.cli.output import print_json
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
        "Section to list with parameters, such as caches, or the key of a setting.",
        default=None,
        choices=lambda: [(group.name, group.help) for group in catalogue()],
    ),
    json: bool = options.JSON,
) -> None:
    """With a name, lists only that heading, with parameters and their defaults."""
    listing(name, json=json)


def listing(name: str | None, *, json: bool) -> None:
    """Lists the catalogue group with the given name; lists all groups if None."""
    groups = catalogue() if name is None else [group(name)]
    if json:
        print_json("catalogue", [_plain(shown) for shown in groups])
        return
    for number, shown in enumerate(groups):
        if name is None:
            print(f"{'' if number == 0 else chr(10)}{shown.name}: {shown.help}")
        _show(shown, "" if name else "  ", with_parameters=name is not None)


def _show(shown: Group, indent: str, *, with_parameters: bool) -> None:
    width = max(len(entry.name) for entry in shown.entries)
    for entry in shown.entries:
        print(f"{indent}{entry.name:<{width}}  {entry.help}".rstrip())
        for parameter in entry.parameters if with_parameters else ():
            print(f"    {parameter.name:<24}{parameter.default:>12}  {parameter.help}")


def _plain(shown: Group) -> dict[str, object]:
    entries = [
        {"name": entry.name, "help": entry.help, "parameters": [parameter._asdict() for parameter in entry.parameters]}
        for entry in shown.entries
    ]
    return {"name": shown.name, "help": shown.help, "entries": entries}
