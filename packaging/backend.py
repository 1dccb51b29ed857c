"""Builds packages with maturin, whose source distributions lose the mode of the command that wheels install."""

from pathlib import Path

from maturin import *  # noqa: F403

(Path(__file__).parent / "data" / "scripts" / "ssdlab").chmod(0o755)
