"""Effort of the tests. The variable `SSDLAB_TESTS`, for Rust and Python, is `quick`, `ci` (default) or `deep`.

`quick` skips tests marked `slow` and tries a twentieth of the property-test examples, for quick edits. `deep` tries
twenty times as many, different each time, and may take a night. `crates/dev/tiers` reads the same variable.
"""

import os

TIERS = {"quick": 1 / 20, "ci": 1, "deep": 20}

TIER = os.environ.get("SSDLAB_TESTS") or "ci"
if TIER not in TIERS:
    raise SystemExit(f"SSDLAB_TESTS is {TIER!r}; it is quick, ci or deep")


def examples(ci: int) -> int:
    """Number of examples for a property test with `count` in tier `ci`."""
    return max(1, round(ci * TIERS[TIER]))
