"""The command `ssdlab new`."""

import shlex
from typing import Literal

from ssdlab.cli.command import App
from ssdlab.cli.declare import argument
from ssdlab.model.extension.new import create

app = App()

Kind = Literal[
    "victim", "placement", "map", "ftl", "die-scheduler", "io-scheduler", "cache-policy", "admission", "trace-format",
    "workload",
]  # fmt: skip

EXAMPLES = """
ssdlab new victim mine
cd mine && cargo test
cargo run --release -- sweep --workload zipf -A ftl.page.gc=greedy,mine
"""


@app.command(examples=EXAMPLES)
def new(
    kind: Kind = argument("KIND", f"Kind of component to write: {', '.join(Kind.__args__)}."),  # type: ignore[attr-defined]
    name: str = argument("NAME", "Name of the component, its crate and its directory, such as my_policy."),
) -> None:
    """The new crate builds and contains a working example. src/lib.rs explains each line; README.md lists the next
    commands.
    """
    directory = create(kind, name)
    print(f"{directory}: crate written; the component is in src/lib.rs\nnext: cd {shlex.quote(name)} && cargo test")
