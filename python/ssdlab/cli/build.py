"""The command `ssdlab build`."""

from pathlib import Path

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli.command import App
from ssdlab.cli.declare import option
from ssdlab.model.extension import build as extension
from ssdlab.model.extension import wheel as wheels

app = App()

EXAMPLES = """
ssdlab build --with ./mine --out bin
bin/ssdlab run --workload zipf -s ftl.page.gc=mine
ssdlab build --with ./mine --with ./other --wheel dist
"""


@app.command(examples=EXAMPLES)
def build(
    with_: list[Path] = option("--with DIRECTORY", "Directory of a Rust crate with components; may be repeated."),
    out: Path | None = option(
        "--out -o DIRECTORY", "Write the built command and its Python extension to this directory."
    ),
    wheel: Path | None = option(
        "--wheel DIRECTORY", "Also write a Python wheel of ssdlab with the components to this directory."
    ),
) -> None:
    """The crates are compiled and linked statically, with the sources of ssdlab; repeating a build with the same
    sources takes no time. Prints the path of the new command, which works like 'ssdlab' and also has these components.

    Rust (cargo) must be installed. The first build takes minutes. If ssdlab does not run from a clone, set
    SSDLAB_SOURCE to the directory of its sources.
    """
    if not with_:
        raise ConfigError("no crate to build; add the directory of a crate, such as --with ./mine")
    built = extension.build(with_)
    if out is not None:
        built = extension.copy(built, out)
    print(text.path(built.command))
    if wheel is not None:
        print(text.path(wheels.write(built, wheel)))
