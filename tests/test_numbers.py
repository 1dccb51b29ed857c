"""NumPy numbers as arguments, and invalid numbers."""

import json
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import ssdlab
from benches import bench
from ssdlab import cache, compress
from ssdlab.study.store.study import Study

SMALL = ssdlab.Config(
    "tlc-chip", overrides={"device.capacity": "32MiB", "nand.pages_per_block": 32, "workload.requests": 300}
)
SPARE = {"device.op": "20%..40%"}


def swept(**given: Any) -> Study:
    return ssdlab.sweep(SPARE, SMALL, **{"design": "sobol", "samples": 2, "jobs": 1, **given})


def tuned(**given: Any) -> ssdlab.Tuned:
    pytest.importorskip("optuna")
    budget = {"trials": 2, "batch": 2, "repeats": 1, **given}
    return ssdlab.tune(SPARE, SMALL, outcomes=["write_amplification"], jobs=1, **budget)


def test_numpy_numbers_equal_pythons() -> None:
    one, two, three = (cast(Any, number) for number in (np.int64(1), np.int64(2), np.float32(3)))
    for name in ("samples", "seeds", "seed", "jobs"):
        assert swept(**{name: two}).plan == swept(**{name: 2}).plan
    numbers = dict.fromkeys(("trials", "batch", "seeds", "seed", "repeats"), two)
    assert tuned(**numbers).to_json() == tuned(**dict.fromkeys(numbers, 2)).to_json()
    compared = [ssdlab.compare({"case": SMALL}, seeds=seeds) for seeds in (2, two)]
    assert compared[0].to_json() == compared[1].to_json()
    advice = [
        ssdlab.advise_drive(None, SMALL, op=["20%"], years=years, p99_ns=p99, seeds=seeds, jobs=1)
        for years, p99, seeds in ((3.0, 2, 2), (three, two, two))
    ]
    assert advice[0].to_json() == advice[1].to_json()
    measured = compress.bench(codecs="lz4", page_sizes="4KiB", threads=[one], runs=one)
    assert json.loads(measured.to_json())["result"]["runs"] == 1


@pytest.mark.parametrize(
    ("call", "name"),
    [
        *((swept, name) for name in ("samples", "seeds", "seed", "jobs")),
        *((tuned, name) for name in ("trials", "batch", "repeats", "seed")),
        *((lambda **given: ssdlab.compare({"case": SMALL}, **given), name) for name in ("seeds", "jobs")),
        *((lambda **given: ssdlab.fleet("none.csv", **given), name) for name in ("drives", "jobs")),
        (lambda **given: cache.simulate(ssdlab.generate(SMALL), ["lru"], ["10%"], **given), "jobs"),
        *((bench, name) for name in ("pages", "accesses", "workers", "runs", "threads")),
        *((lambda **given: compress.bench(**given), name) for name in ("threads", "runs")),
    ],
)
@pytest.mark.parametrize("value", [1.5, "2", np.array([1.5])])
def test_fractions_are_refused_with_their_argument(call: Callable[..., Any], name: str, value: Any) -> None:
    with pytest.raises(ssdlab.ConfigError, match=rf"^{name}: .*is not a whole number"):
        call(**{name: value})


def test_numbers_not_above_zero_are_refused_with_their_argument() -> None:
    for name in ("years", "dwpd", "p99_ns"):
        for value, message in (("3", "'3' is not a number"), (-3, "must be a number above 0, not -3")):
            given: dict[str, Any] = {name: value}
            with pytest.raises(ssdlab.ConfigError, match=f"^{name}: {message}"):
                ssdlab.advise_drive(None, SMALL, **given)


def test_the_seed_of_a_design_is_not_below_zero() -> None:
    with pytest.raises(ssdlab.ConfigError, match=r"design sobol: the seed -1 is below 0"):
        swept(seed=-1)
