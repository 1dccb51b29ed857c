"""Parses replacement policies and the granularity of caches."""

from collections.abc import Sequence
from typing import NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import room
from ssdlab.model.config import PLUGIN
from ssdlab.text import suggestion

GRANULARITIES = ("pages", "objects", "sized-objects")
"""Granularities of cached items: pages; objects that each count as one unit; or objects with a size in bytes."""

ADMISSION = "admission"
"""Name of the policy parameter that selects an admission policy."""

PAGE = "4KiB"
"""Default page size, as in Linux's page cache."""


class CachePolicy(NamedTuple):
    """A replacement policy for simulated caches."""

    name: str
    """Name of the policy, as users write it in the argument `policies`."""
    help: str
    parameters: tuple["CacheParameter", ...]
    """Parameters of the policy, set as `name:parameter=value`."""
    sizes: bool
    """True if the policy supports items of different sizes."""
    needs_future: bool
    """True if the policy must know future accesses and so needs the whole trace."""
    one_pass: bool
    """True if the policy is a stack algorithm, for which one pass gives the misses of all sizes."""


class CacheAdmission(NamedTuple):
    """An admission policy, which filters items in front of a replacement policy."""

    name: str
    """Name of the admission policy as written in `policies` after `admission=`."""
    help: str
    parameters: tuple["CacheParameter", ...]
    """Parameters of the admission policy, set as `:admission.parameter=value`."""
    sizes: bool
    """True if the admission policy supports items of different sizes."""


class CacheParameter(NamedTuple):
    """A parameter of a replacement or admission policy."""

    name: str
    unit: str
    default: int
    least: int
    most: int
    help: str


def policies() -> list[CachePolicy]:
    """Returns all replacement policies."""
    return [
        CachePolicy(name, help_text, tuple(CacheParameter(*row) for row in parameters), *rest)
        for name, help_text, parameters, *rest in _ssdlab.cache_policies()
    ]


def admissions() -> list[CacheAdmission]:
    """Returns all admission policies."""
    return [
        CacheAdmission(name, help_text, tuple(CacheParameter(*row) for row in parameters), sizes)
        for name, help_text, parameters, sizes in _ssdlab.cache_admissions()
    ]


class Asked(NamedTuple):
    """A parsed replacement policy, as requested by the user."""

    text: str
    name: str
    changes: list[tuple[str, int]]
    needs_future: bool
    one_pass: bool


class Items(NamedTuple):
    """Granularity of a cache: kind and size of its items."""

    granularity: str
    page: str
    page_bytes: int

    @property
    def unit_bytes(self) -> int | None:
        """Bytes per unit of capacity; None if objects are counted regardless of their sizes."""
        return {"pages": self.page_bytes, "objects": None, "sized-objects": 1}[self.granularity]

    @property
    def one_size(self) -> bool:
        """True if every item takes exactly one unit of capacity."""
        return self.granularity != "sized-objects"

    @property
    def word(self) -> str:
        """Plural name of the items, such as `pages`."""
        return "pages" if self.granularity == "pages" else "objects"

    def size(self, units: int) -> str:
        """Formats a cache capacity, given as a number of units: bytes, or objects if the cache counts objects."""
        if self.unit_bytes is None:
            return text.count(units)
        return text.size(units * self.unit_bytes)


def read_items(granularity: str, page: str) -> Items:
    """Parses the granularity and the page size of a cache."""
    granularity = _ssdlab.named(granularity, GRANULARITIES) or granularity
    if granularity not in GRANULARITIES:
        meant = suggestion(granularity, GRANULARITIES)
        raise ConfigError(f"granularity {granularity!r} is not one of {', '.join(GRANULARITIES)}{meant}")
    return Items(granularity, page, _ssdlab.size(page))


def _number(written: str) -> int | None:
    try:
        number = _ssdlab.count(written)
    except ConfigError:
        return None
    return number if number < 10**18 else None


def _admission(name: str) -> int:
    """Returns the index of an admission policy in `admissions()`."""
    names = [admission.name for admission in admissions()]
    name = _ssdlab.named(name, names) or name
    if name not in names:
        meant = suggestion(name, names)
        raise ConfigError(f"unknown admission {name!r}{meant}; write {ADMISSION}={' or '.join(names)}")
    return names.index(name)


def _parted(change: str) -> tuple[str, str]:
    """Splits a policy parameter into name and value."""
    parameter, _, value = change.partition("=")
    return _ssdlab.named(parameter, [ADMISSION]) or parameter, value


def _meant(policy: str, change: str, takes: Sequence[str]) -> str:
    """Returns the remedy for a parameter that neither the replacement policy nor its admission policy has."""
    parameter, value = _parted(change)
    of_admission = f"{ADMISSION}.{parameter.removeprefix(f'{ADMISSION}.')}"
    if of_admission in takes:
        return f"; did you mean {of_admission}?"
    for admission in admissions():
        for known in admission.parameters:
            if f"{ADMISSION}.{known.name}" == of_admission:
                selected = f"{ADMISSION}={admission.name}"
                return f" without {selected}; write {policy}:{selected}:{of_admission}={value or known.default}"
    return suggestion(parameter, takes) or f"; its parameters are {', '.join(takes)}"


def _policy(written: str, items: Items) -> Asked:
    """Parses and checks a policy such as `lru` or `lru-k:k=3:admission=bloom`."""
    if written.strip().startswith(PLUGIN):
        name, changed = written.strip(), []
        room("model.plugins").register_named([("policies", f"={name}")])
    else:
        name, *changed = written.strip().split(":")
    known = {policy.name: policy for policy in policies()}
    name = _ssdlab.named(name, list(known)) or name
    if name not in known:
        meant = suggestion(name, known) or "; 'ssdlab list caches' shows all policies"
        raise ConfigError(f"unknown policy {name!r}{meant}")
    # The parameters of an admission policy may precede its name.
    asked = [value for parameter, value in map(_parted, changed) if parameter == ADMISSION]
    guard = admissions()[_admission(asked[-1])] if asked else None
    takes = {parameter.name: parameter.default for parameter in known[name].parameters}
    if guard:
        takes |= {f"{ADMISSION}.{parameter.name}": parameter.default for parameter in guard.parameters}
    changes = []
    for change in changed:
        parameter, value = _parted(change)
        if parameter == ADMISSION:
            changes.append((ADMISSION, _admission(value)))
            continue
        parameter = _ssdlab.named(parameter, list(takes)) or parameter
        if parameter not in takes:
            meant = _meant(name, change, [*takes, ADMISSION])
            raise ConfigError(f"policy {name} has no parameter {parameter!r}{meant}")
        number = _number(value)
        if number is None:
            raise ConfigError(f"{written!r}: {change!r} is not NAME=NUMBER; use {parameter}={takes[parameter]}")
        changes.append((parameter, number))
    _ssdlab.check_cache(name, changes, items.one_size)
    policy = known[name]
    return Asked(written.strip(), name, changes, policy.needs_future, policy.one_pass and not changes)


def read_policies(written: Sequence[str], items: Items) -> list[Asked]:
    """Parses and checks policies such as `lru` and `lru-k:k=3`."""
    if isinstance(written, str):
        written = written.split(",")
    asked = [_policy(policy, items) for policy in written]
    if not asked:
        raise ConfigError("no policy to simulate; add at least one, such as lru")
    for index, policy in enumerate(asked):
        if policy.text in (other.text for other in asked[:index]):
            raise ConfigError(f"policy {policy.text} is listed twice; list it once")
    return asked
