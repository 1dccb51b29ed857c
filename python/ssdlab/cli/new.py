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
    kind: Kind = argument("KIND", f"What to write: {', '.join(Kind.__args__)}."),  # type: ignore[attr-defined]
    name: str = argument("NAME", "Name of the component, its crate and its directory, such as my_policy."),
) -> None:
    """The crate builds, and its example works: src/lib.rs explains each line, README.md has the next commands."""
    directory = create(kind, name)
    print(f"{directory}: written; src/lib.rs has the component\nnext: cd {shlex.quote(name)} && cargo test")
