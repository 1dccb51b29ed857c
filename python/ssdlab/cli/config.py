"""The command `ssdlab config`."""

import re

from ssdlab import _ssdlab, text
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, group
from ssdlab.cli.options import Settings
from ssdlab.cli.output import print_json, print_lines, shows_all
from ssdlab.cli.output import show as show_page
from ssdlab.lazy import room
from ssdlab.model.config import config_schema
from ssdlab.study.explain import explain as explained

app = App()


@app.command(examples="ssdlab config schema > ssdlab.schema.json")
def schema() -> None:
    """Print the JSON schema of a configuration file, for editors."""
    print(config_schema(), end="")


@app.command(examples="ssdlab config check --config mine.toml")
def check(settings: Settings = group(), json: bool = options.JSON) -> None:
    """Check a configuration; report where each error is and how to fix it."""
    resolved = settings.resolved()
    resolved.check()
    if json:
        print_json("check", {"sound": True}, configuration=resolved.to_dict())
    else:
        print("the configuration is valid")


@app.command(examples="ssdlab config show --preset tlc-nvme --set device.op=7%\nssdlab config show --all > full.toml")
def show(settings: Settings = group(), json: bool = options.JSON) -> None:
    """Print the resolved configuration as TOML, with the origin of each setting; --all adds the default values."""
    resolved = settings.resolved()
    if json:
        print_json("configuration", {"toml": resolved.to_toml()}, configuration=resolved.to_dict())
    else:
        written = resolved.to_toml(origins=True)
        print_lines((written if shows_all() else _without_defaults(written)).splitlines())


def _without_defaults(written: str) -> str:
    """Removes default settings and empty tables; a comment at the end gives the number of removed settings."""
    kept, defaults = re.subn(r"^.*  # default( .*)?\n", "", written, flags=re.MULTILINE)
    tables = re.sub(r"^\[.*\]\n(?=\n|\Z)", "", kept, flags=re.MULTILINE)
    more = f"# --all shows {text.counted(defaults, 'more settings')} with default values"
    return re.sub(r"\n{3,}", "\n\n", f"{tables}\n{more}").lstrip()


@app.command(examples="ssdlab config explain nand.read\nssdlab config explain ftl.page")
def explain(
    key: str = argument(
        "KEY",
        "A setting, such as nand.read, or a table of settings.",
        choices=lambda: [(key, help_text) for key, help_text, _, _ in _ssdlab.options()],
    ),
    json: bool = options.JSON,
) -> None:
    """Explain a setting: range, units, default, when it applies, and the presets' values with their sources."""
    found = explained(key)
    if json:
        print_json("explanation", [setting.to_dict() for setting in found])
    else:
        show_page(room("view.pages.explanation").page(key, found))
