"""`ssdlab list`."""

from typing import Annotated

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


def _complete_group(incomplete: str) -> list[tuple[str, str]]:
    return [(one.name, one.help) for one in catalogue() if one.name.startswith(incomplete)]


@app.command("list", examples=EXAMPLES)
def listing(
    name: Annotated[
        str | None,
        argument(
            "NAME",
            "What to list, with its parameters: a heading of the catalogue, or the key of a setting.",
            complete=_complete_group,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """With a name, only what stands under that heading, with the parameters and their defaults."""
    groups = catalogue() if name is None else [group(name)]
    if json:
        print_json("catalogue", [_plain(one) for one in groups])
        return
    for number, one in enumerate(groups):
        if name is None:
            print(f"{'' if number == 0 else chr(10)}{one.name}: {one.help}")
        _show(one, "" if name else "  ", with_parameters=name is not None)


def _show(shown: Group, indent: str, *, with_parameters: bool) -> None:
    width = max(len(entry.name) for entry in shown.entries)
    for entry in shown.entries:
        print(f"{indent}{entry.name:<{width}}  {entry.help}".rstrip())
        for parameter in entry.parameters if with_parameters else ():
            print(f"    {parameter.name:<24}{parameter.default:>12}  {parameter.help}")


def _plain(shown: Group) -> dict[str, object]:
    entries = [
        {"name": entry.name, "help": entry.help, "parameters": [one._asdict() for one in entry.parameters]}
        for entry in shown.entries
    ]
    return {"name": shown.name, "help": shown.help, "entries": entries}
