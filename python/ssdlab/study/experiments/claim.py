"""Claims that a document makes in its text, checked against tables."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ssdlab.lazy import Numbers, np


@dataclass(frozen=True)
class Claim:
    """A published claim about a table; sets exactly one condition: `below`, `above`, `best` or `winners_of`."""

    says: str
    below: float | None
    above: float | None
    """Bounds that every cell must stay below or above."""
    best: tuple[str, ...]
    """Rows claimed to have the best value in every column, or columns claimed to have the best value in every row."""
    winners_of: str | None
    """Name of another table that must have the same best rows or columns as this table."""

    def bounds(self, rows: Sequence[str], columns: Sequence[str], values: Numbers) -> "Verdict":
        """Checks the claim's bound in all cells that have a value."""
        known = [at for at in np.ndindex(values.shape) if not np.isnan(values[at])]
        missed = []
        for row, column in known:
            value = float(values[row, column])
            holds = value < self.below if self.below is not None else self.above is not None and value > self.above
            if not holds:
                place = columns[column] if len(rows) == 1 else f"{rows[row]}, {columns[column]}"
                missed.append(Missed(place, value=value))
        return Verdict("cells", len(known), tuple(missed))


@dataclass(frozen=True)
class Missed:
    """A row, column or cell in which a claim does not hold, with the reason."""

    place: str
    value: float | None = None
    """Value of a cell that violates the claimed bound; None for other kinds of claims."""
    claimed: str | None = None
    """Label that should have the best value; if the claim names several labels, the best of them."""
    best: str | None = None
    excess: float | None = None
    """Distance of the value at the claimed label from the best, in percent of the best; None if the best is 0."""


@dataclass(frozen=True)
class Verdict:
    """Result of checking a claim: how many cells, columns or rows were checked, and which ones contradict it."""

    what: str
    """Unit of the counts: `cells`, `columns` or `rows`."""
    of: int
    """Number of cells, columns or rows checked."""
    missed: tuple[Missed, ...]

    @property
    def held(self) -> int:
        """Number of cells, columns or rows that confirm the claim."""
        return self.of - len(self.missed)

    def to_dict(self) -> dict[str, Any]:
        """Returns the counts, and the cells, columns or rows that contradict the claim, ready for JSON."""
        return {"what": self.what, "of": self.of, "held": self.held, "missed": [asdict(one) for one in self.missed]}


def best_of(what: str, labels: Sequence[str], lines: Iterable[tuple[str, int, int, Numbers]]) -> Verdict | None:
    """Checks in each line (row or column) which label has the best value. Returns None if there are no lines.

    Each line has its name, the indexes of the claimed and of the best label, and its values.
    """
    count, missed = 0, []
    for name, claimed, best, values in lines:
        count += 1
        if values[claimed] != values[best]:
            distance = abs(float(values[claimed] - values[best]))
            excess = 100 * distance / abs(float(values[best])) if values[best] else None
            missed.append(Missed(name, None, labels[claimed], labels[best], excess))
    return Verdict(what, count, tuple(missed)) if count else None
