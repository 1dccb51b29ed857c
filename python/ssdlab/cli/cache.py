"""`ssdlab cache`."""

import typer

from ssdlab.cli import cache_plan

app = typer.Typer(help="Caches of pages.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `plan` a command of its own while it is the only one."""


app.command("plan", epilog=cache_plan.EXAMPLES)(cache_plan.plan)
