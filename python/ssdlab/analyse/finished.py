"""Selects the part of a result table to keep if the runs that fill its cells were stopped early."""

from collections.abc import Sequence


def finished_part(done: Sequence[Sequence[bool]]) -> tuple[list[int], list[int]]:
    """Returns the rows and columns to keep: all finished rows or else the finished cells of the row with the most; two
    empty lists if no cell is finished.

    >>> finished_part([[True, True], [True, False]])
    ([0], [0, 1])
    >>> finished_part([[False, False, False], [True, False, True]])
    ([1], [0, 2])
    """
    rows = [number for number, row in enumerate(done) if all(row)]
    if rows:
        return rows, list(range(len(done[0])))
    most = max(range(len(done)), key=lambda number: sum(done[number]))
    columns = [number for number, cell in enumerate(done[most]) if cell]
    return [most] if columns else [], columns
