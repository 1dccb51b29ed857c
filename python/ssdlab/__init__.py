"""A laboratory for the flash storage stack: exact, fast simulation of SSDs from block traces.

    >>> import ssdlab
    >>> result = ssdlab.simulate(ssdlab.Config(overrides={"device.capacity": "256MiB"}))
    >>> result.write_amplification  # doctest: +SKIP

A package imports only packages that are listed below it; `tests/test_rooms.py` checks this:

    cli       one file per command: parse, call, print
    view      presentation of findings: a `page`, rendered by `terminal` and `html`; `plots`
    study     many simulations: experiments, calibration, fits, validation, comparison, the executor
    analyse   analysis: workloads, write intervals, caches, codecs, real drives
    model     objects that users create: configurations, traces, simulations, results, the two-pool cache

`api` lists the public names. It is loaded on the first use of a public name, so a command loads only the modules that
it needs. Findings and traces in `model` use `view` and `analyse`, although these packages are above it. They are loaded
by name, on first use (see `lazy.room` and `model.finding.Plot`). NumPy, pyarrow and matplotlib are loaded on first use
(`lazy`).

Functions raise ConfigError for invalid arguments and settings, and TraceError for faults in a trace. Each message has
one line per fault, which locates the fault and gives a remedy. Docstrings mention these errors only in the public
interface.
"""

import os

from ssdlab.lazy import TYPE_CHECKING, room

# An extension with plug-ins, built by `ssdlab build`, takes precedence over the built-in extension.
if "SSDLAB_EXTENSION" in os.environ:
    __path__.insert(0, os.environ["SSDLAB_EXTENSION"])

if TYPE_CHECKING:
    from ssdlab.api import *  # noqa: F403 (`api` has a list of them)


def __getattr__(name: str) -> object:
    # An import such as `from ssdlab import text` calls this function before it loads the submodule.
    try:
        value: object = room(name)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        value = getattr(room("api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(room("api").__all__)
