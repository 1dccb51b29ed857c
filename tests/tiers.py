"""How hard tests try, by one variable for Rust and Python: `SSDLAB_TESTS` is `quick`, `ci` (the default) or `deep`.

`quick` leaves out what is marked `slow` and tries a twentieth of the examples of property tests, for an edit; `deep`
tries twenty times as many and others each time, for a night. `crates/tiers` reads the same variable.
"""

import os

TIERS = {"quick": 1 / 20, "ci": 1, "deep": 20}

TIER = os.environ.get("SSDLAB_TESTS") or "ci"
if TIER not in TIERS:
    raise SystemExit(f"SSDLAB_TESTS is {TIER!r}; it is quick, ci or deep")


def examples(ci: int) -> int:
    """Examples of a property test that tries so many in tier `ci`."""
    return max(1, round(ci * TIERS[TIER]))
