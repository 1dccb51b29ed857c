"""`ssdlab list`."""

from ssdlab import _ssdlab
from ssdlab.analyse import cache
from ssdlab.cli.command import App

app = App()


def _show(key: str) -> None:
    """One line for each value of the setting, as it stands in the table of settings."""
    variants = _ssdlab.variants(key)
    width = max(len(name) for name, _ in variants)
    for name, help_text in variants:
        print(f"{name:<{width}}  {help_text}")


@app.command(examples="ssdlab list ftls")
def ftls() -> None:
    """List the flash translation layers: values of `ftl`."""
    _show("ftl")


@app.command(examples="ssdlab list maps")
def maps() -> None:
    """List where page mapping can keep its map: values of `ftl.page.map`."""
    _show("ftl.page.map")


@app.command(examples="ssdlab list policies")
def policies() -> None:
    """List the choices of victims of page mapping: values of `ftl.page.gc`."""
    _show("ftl.page.gc")


@app.command(examples="ssdlab list schedulers")
def schedulers() -> None:
    """List the I/O schedulers, values of `block.scheduler`, each with its tunables and their defaults."""
    key = "block.scheduler"
    # The example of a tunable is its default.
    described = {one: (help_text, default) for one, help_text, default, _ in _ssdlab.options()}
    for name, help_text in _ssdlab.variants(key):
        print(f"{name}: {help_text}")
        prefix = f"{key}.{name}."
        for option, (tunable_help, default) in described.items():
            if option.startswith(prefix):
                print(f"    {option.removeprefix(prefix):<24}{default:>9}  {tunable_help}")


@app.command(examples="ssdlab list caches")
def caches() -> None:
    """List the replacement policies of caches, each with its parameters and their defaults."""
    for policy in cache.policies():
        print(f"{policy.name}: {policy.help}")
        for parameter in policy.parameters:
            no_limit = 2**64 - 1
            default = "no limit" if parameter.default == no_limit else f"{parameter.default} {parameter.unit}"
            print(f"    {parameter.name:<16}{default:>24}  {parameter.help}")


@app.command(examples="ssdlab list workloads")
def workloads() -> None:
    """List the generated workloads: values of `workload.pattern`."""
    _show("workload.pattern")
