"""`ssdlab view`."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.command import App
from ssdlab.study.saved import page_of

app = App()


@app.command(
    examples="""
ssdlab view out/oltp
ssdlab view out/oltp/result.json
ssdlab view studies/op
"""
)
def view(
    path: Annotated[
        Path,
        typer.Argument(metavar="RUN|STUDY", help="Folder that --out named, its JSON file, or the folder of a study."),
    ],
) -> int:
    """The page of a study is written anew, with what is finished, into its folder."""
    page = page_of(path).absolute()
    opened = webbrowser.open(page.as_uri())
    print(page.as_uri() if opened else f"there is no browser here; open {page.as_uri()} in one")
    return 0
