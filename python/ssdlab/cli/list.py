"""`ssdlab list`."""

import typer

from ssdlab import _ssdlab

app = typer.Typer(help="Names that a setting takes, each with what it means.", no_args_is_help=True)


def _show(key: str) -> None:
    """One line for each value of the setting, as it stands in the table of settings."""
    variants = _ssdlab.variants(key)
    width = max(len(name) for name, _ in variants)
    for name, help_text in variants:
        print(f"{name:<{width}}  {help_text}")


@app.command(epilog="[bold]Example[/bold]\n\n  ssdlab list ftls")
def ftls() -> None:
    """List the flash translation layers: values of `ftl`."""
    _show("ftl")


@app.command(epilog="[bold]Example[/bold]\n\n  ssdlab list policies")
def policies() -> None:
    """List the choices of victims of page mapping: values of `ftl.page.gc`."""
    _show("ftl.page.gc")


@app.command(epilog="[bold]Example[/bold]\n\n  ssdlab list workloads")
def workloads() -> None:
    """List the generated workloads: values of `workload.pattern`."""
    _show("workload.pattern")
