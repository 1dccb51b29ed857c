"""`ssdlab cache`."""

import typer

app = typer.Typer(help="Caches of pages.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `plan` a command of its own while it is the only one."""
