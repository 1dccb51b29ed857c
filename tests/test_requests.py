"""Batches of requests in streams."""

from threading import Event, get_ident

import pytest

from forked import PATIENCE_SECONDS
from ssdlab import _ssdlab
from ssdlab.model.requests import BATCH, batches, from_columns

FULL = from_columns(op=[3] * BATCH)
REST = from_columns(op=[3, 3])


class BatchSource:
    """Yields `parts` in turn, one of which may be an error; sets `read_all` when the last part is requested."""

    def __init__(self, *parts: _ssdlab.Requests | Exception) -> None:
        self._parts, self._given = [*parts, from_columns(op=[])], 0
        self.read_all, self.threads = Event(), set[int]()

    def read(self, max: int) -> _ssdlab.Requests:
        self.threads.add(get_ident())
        part = self._parts[self._given]
        self._given += 1
        if self._given == len(self._parts):
            self.read_all.set()
        if isinstance(part, Exception):
            raise part
        return part

    def progress(self) -> tuple[int, int | None]:
        return self._given, None

    def streams(self) -> list[str]:
        return []


@pytest.mark.parametrize("ahead", [False, True])
def test_the_monitor_learns_the_position_of_each_batch(ahead: bool) -> None:
    told: list[tuple[int, int]] = []
    source = BatchSource(FULL, FULL, REST)
    for batch in batches(source, lambda _, done, __, requests: told.append((done, requests)), ahead=ahead):
        assert len(batch) == told[-1][1] - (told[-2][1] if len(told) > 1 else 0)
    assert told == [(1, BATCH), (2, 2 * BATCH), (3, 2 * BATCH + 2)]


def test_the_next_batch_is_read_while_one_is_used() -> None:
    source = BatchSource(FULL, FULL)
    passing = batches(source, ahead=True)
    next(passing), next(passing)
    assert source.read_all.wait(PATIENCE_SECONDS)
    assert list(passing) == []


def test_a_single_batch_needs_no_thread() -> None:
    source = BatchSource(REST)
    assert len(list(batches(source, ahead=True))) == 1
    assert source.threads == {get_ident()}


def test_an_error_follows_the_batches_before_it() -> None:
    passing = batches(BatchSource(FULL, FULL, ValueError("line 131,073")), ahead=True)
    assert [len(next(passing)), len(next(passing))] == [BATCH, BATCH]
    with pytest.raises(ValueError, match="line 131,073"):
        next(passing)


def test_an_early_end_waits_only_for_the_current_batch() -> None:
    source = BatchSource(FULL, FULL, FULL, FULL, FULL)
    with pytest.raises(KeyboardInterrupt):
        list(batches(source, lambda *_: source.progress()[0] >= 2, ahead=True))
    assert source.progress()[0] <= 3
