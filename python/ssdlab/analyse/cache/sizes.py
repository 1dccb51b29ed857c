"""Parses sizes of simulated caches: bytes, a number of items, or a share of the trace's footprint."""

from collections.abc import Sequence
from typing import NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.cache.policies import Items
from ssdlab.model.several import several


class Size(NamedTuple):
    """A cache size as the user requested it: a number of units, or a share of the footprint."""

    text: str
    units: int | None
    share: float

    def of(self, footprint: int, items: Items) -> int:
        """Returns the cache size in units."""
        units = int(footprint * self.share) if self.units is None else self.units
        if units < 1:
            raise ConfigError(
                f"a cache of {self.text} of {text.count(footprint)} {items.word} is smaller than one item; "
                "use a larger share"
            )
        return units


def _size(written: str | int, items: Items) -> Size:
    name = str(written).strip()
    if name.endswith("%"):
        return Size(name, None, _ssdlab.share(name))
    if name.isascii() and name.isdigit():
        if items.granularity == "sized-objects":
            raise ConfigError(
                f"a cache of {name} objects has no definite size, because object sizes differ; use bytes, such as 64MiB"
            )
        units = int(name) if len(name) < 20 else 1 << 62
        unit = items.word
    else:
        size = _ssdlab.size(name)
        if items.unit_bytes is None:
            raise ConfigError(
                f"a cache of {name} needs object sizes; use a number of objects, a share such as 10%, or sized objects"
            )
        units = size // items.unit_bytes
        unit = f"page of {items.page}" if items.granularity == "pages" else "byte"
    if units < 1:
        raise ConfigError(f"a cache of {name} is smaller than one {unit.removesuffix('s')}; use a larger cache")
    if units >= 1 << 62:
        raise ConfigError(f"a cache of {name} is larger than any trace; use a smaller cache")
    return Size(name, units, 0.0)


def read_sizes(written: Sequence[str | int], items: Items) -> list[Size]:
    """Parses sizes of simulated caches."""
    sizes = written.split(",") if isinstance(written, str) else several(written)
    if not sizes:
        raise ConfigError("no cache size to simulate; add at least one, such as 64MiB or 10%")
    return [_size(size, items) for size in sizes]
