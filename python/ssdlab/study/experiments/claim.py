"""What a document claims in words, and in how much of a table it holds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ssdlab.lazy import Numbers, np


@dataclass(frozen=True)
class Claim:
    """A claim of a document, and what has to be so for it to hold; one of the conditions is given."""

    says: str
    """The claim in words."""
    below: float | None
    """Every cell is below this."""
    above: float | None
    """Every cell is above this."""
    best: tuple[str, ...]
    """The row (or column) with one of these labels is the best of every column (or row); empty if not given."""
    winners_of: str | None
    """The best of every column (or row) here is the best in the table of this name too."""

    def bounds(self, rows: Sequence[str], columns: Sequence[str], values: Numbers) -> "Verdict":
        """In which cells a bound holds; those without a value do not count."""
        known = [at for at in np.ndindex(values.shape) if not np.isnan(values[at])]
        exceptions = []
        for row, column in known:
            value = float(values[row, column])
            holds = value < self.below if self.below is not None else self.above is not None and value > self.above
            if not holds:
                place = columns[column] if len(rows) == 1 else f"{rows[row]}, {columns[column]}"
                exceptions.append(Missed(place, value=value))
        return Verdict("cells", len(known), tuple(exceptions))


@dataclass(frozen=True)
class Missed:
    """Where a claim does not hold."""

    place: str
    """The cell, column or row."""
    value: float | None = None
    """Its value, of a bound."""
    claimed: str | None = None
    """Label that is claimed to be the best; of several the best."""
    best: str | None = None
    """Label that is."""
    excess: float | None = None
    """How much worse than the best the claimed one is, in % of the best; None where that is 0."""

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {name: getattr(self, name) for name in ("place", "value", "claimed", "best", "excess")}


@dataclass(frozen=True)
class Verdict:
    """In how much of a table a claim holds."""

    what: str
    """What is counted: cells, columns or rows."""
    of: int
    """How many of them there are."""
    missed: tuple[Missed, ...]
    """Those in which it does not hold."""

    @property
    def held(self) -> int:
        """In how many it holds."""
        return self.of - len(self.missed)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"what": self.what, "of": self.of, "held": self.held, "missed": [one.to_dict() for one in self.missed]}


def best_of(what: str, labels: Sequence[str], lines: Iterable[tuple[str, int, int, Numbers]]) -> Verdict | None:
    """In which lines, each with its name, the claimed index, the best and the values, the two are alike.

    None if there are no lines.
    """
    count, missed = 0, []
    for name, claimed, best, values in lines:
        count += 1
        if values[claimed] != values[best]:
            off = abs(float(values[claimed] - values[best]))
            excess = 100 * off / abs(float(values[best])) if values[best] else None
            missed.append(Missed(name, None, labels[claimed], labels[best], excess))
    return Verdict(what, count, tuple(missed)) if count else None
