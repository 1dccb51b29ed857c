"""Finds rows of tables and figures by short names, such as `waf` or `read.p99`."""

import re
from collections.abc import Iterable, Sequence

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.metrics import BY_NAME

SYNONYMS = {"latency": "response time", "waf": "write amplification"}
"""Words that labels use, by the short name that users may write instead."""

MOST_NAMED = 8
"""Maximum number of names that an error message lists."""


def words(label: str) -> frozenset[str]:
    """Returns the words of a label or of a name in lower case; a decimal number such as `p99.9` is one word."""
    found = re.findall(r"[^\W\d_]*\d+\.\d+|[^\W_]+", label.lower())
    return frozenset(" ".join(SYNONYMS.get(word, word) for word in found).split())


def chosen(option: str, names: Iterable[str], labels: Sequence[str]) -> list[int]:
    """Returns the positions of the labels that match the names, in the order of the names.

    A name matches a label that contains all words of the name. If several labels match, the labels with the fewest
    words are chosen. If several of these labels are identical, only the first is chosen. The name of a metric, such as
    `latency.read.p99_ns`, is treated like the metric's label. The error for an unknown name mentions `option`.
    """
    places: dict[int, None] = {}
    known = [words(label) for label in labels]
    for name in names:
        asked = words(BY_NAME[name].label if name in BY_NAME else name)
        fits = [at for at, label in enumerate(known) if asked <= label]
        if not asked or not fits:
            raise ConfigError(f"{option} {text.path(name)}: unknown name{_hint(name, labels)}")
        fewest = min(len(known[at]) for at in fits)
        first: dict[frozenset[str], int] = {}
        for at in fits:
            if len(known[at]) == fewest:
                first.setdefault(known[at], at)
        places |= dict.fromkeys(first.values())
    return [*places]


def _hint(name: str, labels: Sequence[str]) -> str:
    known = [*dict.fromkeys(labels)]
    more = f" (--all shows {len(known) - MOST_NAMED} more)" if len(known) > MOST_NAMED else ""
    return text.suggestion(name, known) or f"; choose one of {', '.join(known[:MOST_NAMED])}{more}"
