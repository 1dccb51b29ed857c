"""`ssdlab view`."""

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, option
from ssdlab.lazy import room
from ssdlab.study.saved import page_of

app = App()


@app.command(
    examples="""
ssdlab view out/oltp
ssdlab view out/oltp/result.json
ssdlab view studies/op
ssdlab view out/oltp --serve
"""
)
def view(
    path: Annotated[
        Path,
        argument("PATH", "Folder that --out named, its JSON file, or the folder of a study."),
    ],
    serve: Annotated[
        bool,
        option(
            "--serve",
            "Answer the browser from here, until Ctrl-C: the page shows operations that it has no room for, as well.",
        ),
    ] = False,
) -> int:
    """The page of a study is written anew, with what is finished, into its folder; that of a run as result.html where
    another finding was saved there after it.
    """
    page = page_of(path).absolute()
    if not serve:
        _open(page.as_uri())
        return 0
    with room("view.local").LocalServer(page) as server:
        _open(server.address)
        sys.stdout.flush()
        server.serve_forever()
    return 0


def _open(address: str) -> None:
    opened = webbrowser.open(address)
    print(address if opened else f"there is no browser here; open {address} in one")
