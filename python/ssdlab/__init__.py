"""A laboratory for the flash storage stack: exact, fast simulation of SSDs from block traces.

    >>> import ssdlab
    >>> result = ssdlab.simulate(ssdlab.Config(overrides={"device.capacity": "256MiB"}))
    >>> result.write_amplification  # doctest: +SKIP

The package has rooms, and imports lead down only; `tests/test_rooms.py` keeps that:

    cli       one file for each command: parse, call, hand over
    view      how findings look: `page` is what is shown, `terminal` and `html` show it, `plots` draw
    study     many simulations: experiments, calibration, validation, comparison, the executor
    analyse   what is computed and found: workloads, write intervals, caches, codecs, real drives
    model     what a user holds: configurations, traces, simulations, results, the two-pool cache

`api` lists what is public. It loads with the first name that is used, so that the command line loads only what its
command needs. A finding hands over to `view` by name (`lazy.room`, `model.finding.Plot`), as traces do to `analyse`.
NumPy, pyarrow and matplotlib are loaded when they are first used (`lazy`).
"""

from ssdlab.lazy import TYPE_CHECKING, room

if TYPE_CHECKING:
    from ssdlab.api import *  # noqa: F403 (`api` has a list of them)


def __getattr__(name: str) -> object:
    # `from ssdlab import text` asks here first.
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
