"""Replacement policies and what is cached as one item, as users write them."""

from collections.abc import Sequence
from typing import NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.text import suggestion

GRANULARITIES = ("pages", "objects", "sized-objects")
"""What an item is: a page; what a request addresses, each of one unit; or the same in bytes."""

ADMISSION = "admission"
"""The change of a policy's parameters that asks for an admission."""

PAGE = "4KiB"
"""Size of a page unless another is asked for: that of Linux's page cache."""


class CachePolicy(NamedTuple):
    """A replacement policy."""

    name: str
    """As `policies` take it."""
    help: str
    """One sentence."""
    parameters: tuple["CacheParameter", ...]
    """What can be changed, as `name:parameter=value`."""
    sizes: bool
    """Whether items may be of different sizes."""
    needs_future: bool
    """Whether it must know the whole trace."""
    one_pass: bool
    """Whether it is a stack algorithm: one pass gives the misses of all sizes."""


class CacheAdmission(NamedTuple):
    """Who lets newcomers in, in front of a policy."""

    name: str
    """As `policies` take it, behind `admission=`."""
    help: str
    """One sentence."""
    parameters: tuple["CacheParameter", ...]
    """What can be changed, as `:admission.parameter=value`."""
    sizes: bool
    """Whether items may be of different sizes."""


class CacheParameter(NamedTuple):
    """A parameter of a policy."""

    name: str
    """Its name."""
    unit: str
    """Its unit."""
    default: int
    """Its value unless it is changed."""
    least: int
    """Smallest value."""
    most: int
    """Largest value."""
    help: str
    """One sentence."""


def policies() -> list[CachePolicy]:
    """Every replacement policy."""
    return [
        CachePolicy(name, help_text, tuple(CacheParameter(*row) for row in parameters), *rest)
        for name, help_text, parameters, *rest in _ssdlab.cache_policies()
    ]


def admissions() -> list[CacheAdmission]:
    """Every admission."""
    return [
        CacheAdmission(name, help_text, tuple(CacheParameter(*row) for row in parameters), sizes)
        for name, help_text, parameters, sizes in _ssdlab.cache_admissions()
    ]


class Asked(NamedTuple):
    """A policy as asked for, taken apart."""

    text: str
    name: str
    changes: list[tuple[str, int]]
    needs_future: bool
    one_pass: bool


class Items(NamedTuple):
    """What is cached as one item, and how its sizes are written."""

    granularity: str
    page: str
    page_bytes: int

    @property
    def unit_bytes(self) -> int | None:
        """Bytes of a unit of the capacity; objects that are only counted have none."""
        return {"pages": self.page_bytes, "objects": None, "sized-objects": 1}[self.granularity]

    @property
    def one_size(self) -> bool:
        """Whether every item is one unit."""
        return self.granularity != "sized-objects"

    @property
    def word(self) -> str:
        """Its name in the plural."""
        return "pages" if self.granularity == "pages" else "objects"

    def size(self, units: int) -> str:
        """Units of capacity as a person writes them."""
        if self.unit_bytes is None:
            return text.count(units)
        return text.size(units * self.unit_bytes)


def read_items(granularity: str, page: str) -> Items:
    """What is cached as one item.

    Raises:
        ConfigError: If there is nothing of this name, or no such page.
    """
    granularity = _ssdlab.named(granularity, GRANULARITIES) or granularity
    if granularity not in GRANULARITIES:
        raise ConfigError(
            f"granularity {granularity!r} is not one of {', '.join(GRANULARITIES)}"
            f"{suggestion(granularity, GRANULARITIES)}"
        )
    return Items(granularity, page, _ssdlab.size(page))


def _number(written: str) -> int | None:
    try:
        number = _ssdlab.count(written)
    except ConfigError:
        return None
    return number if number < 10**18 else None


def _admission(name: str) -> int:
    """The place of an admission in the list of all."""
    names = [admission.name for admission in admissions()]
    name = _ssdlab.named(name, names) or name
    if name not in names:
        raise ConfigError(
            f"no admission is called {name!r}{suggestion(name, names)}; write {ADMISSION}={' or '.join(names)}"
        )
    return names.index(name)


def _parted(change: str) -> tuple[str, str]:
    """The name and the value of a change."""
    parameter, _, value = change.partition("=")
    return _ssdlab.named(parameter, [ADMISSION]) or parameter, value


def _meant(policy: str, change: str, takes: Sequence[str]) -> str:
    """What is said of a change whose parameter is none of those that the policy takes with its admission."""
    parameter, value = _parted(change)
    of_admission = f"{ADMISSION}.{parameter.removeprefix(f'{ADMISSION}.')}"
    if of_admission in takes:
        return f"; did you mean {of_admission}?; it has {', '.join(takes)}"
    for admission in admissions():
        for one in admission.parameters:
            if f"{ADMISSION}.{one.name}" == of_admission:
                asked = f"{ADMISSION}={admission.name}"
                return f" without {asked}; write {policy}:{asked}:{of_admission}={value or one.default}"
    return f"{suggestion(parameter, takes)}; it has {', '.join(takes)}"


def _policy(written: str, items: Items) -> Asked:
    """A policy such as `lru` or `lru-k:k=3:admission=bloom`, checked."""
    name, *changed = written.strip().split(":")
    known = {policy.name: policy for policy in policies()}
    name = _ssdlab.named(name, list(known)) or name
    if name not in known:
        raise ConfigError(
            f"no policy is called {name!r}{suggestion(name, known)}; 'ssdlab list caches' shows all of them"
        )
    # Parameters of an admission may stand before its name.
    asked = [value for parameter, value in map(_parted, changed) if parameter == ADMISSION]
    guard = admissions()[_admission(asked[-1])] if asked else None
    takes = {one.name: one.default for one in known[name].parameters}
    takes |= {f"{ADMISSION}.{one.name}": one.default for one in (guard.parameters if guard else ())}
    changes = []
    for change in changed:
        parameter, value = _parted(change)
        if parameter == ADMISSION:
            changes.append((ADMISSION, _admission(value)))
            continue
        parameter = _ssdlab.named(parameter, list(takes)) or parameter
        if parameter not in takes:
            raise ConfigError(
                f"policy {name} has no parameter {parameter!r}{_meant(name, change, [*takes, ADMISSION])}"
            )
        number = _number(value)
        if number is None:
            raise ConfigError(f"{written!r}: {change!r} is not NAME=NUMBER; write {parameter}={takes[parameter]}")
        changes.append((parameter, number))
    _ssdlab.check_cache(name, changes, items.one_size)
    policy = known[name]
    return Asked(written.strip(), name, changes, policy.needs_future, policy.one_pass and not changes)


def read_policies(written: Sequence[str], items: Items) -> list[Asked]:
    """Policies such as `lru` and `lru-k:k=3`, checked.

    Raises:
        ConfigError: If there is no such policy, or it cannot hold these items.
    """
    if isinstance(written, str):
        written = written.split(",")
    asked = [_policy(one, items) for one in written]
    if not asked:
        raise ConfigError("no policy is given; name at least one, such as lru")
    for index, one in enumerate(asked):
        if one.text in (other.text for other in asked[:index]):
            raise ConfigError(f"policy {one.text} is given twice; name it once")
    return asked
