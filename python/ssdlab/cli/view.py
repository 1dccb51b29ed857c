"""The command `ssdlab view`."""

import sys
import webbrowser
from pathlib import Path

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
    path: Path = argument("PATH", "Folder written by --out, its JSON file, or the folder of a study."),
    serve: bool = option(
        "--serve", "Serve the page until Ctrl-C. Only a served page can load more operations of a Gantt chart."
    ),
) -> int:
    """The page of a study is rewritten with all runs finished so far. If another result has overwritten the report.html
    of a run, the page of the run is written to result.html.
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
    print(address if opened else f"no browser found; open {address} in a browser")
