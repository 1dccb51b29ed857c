"""The words of reports, with what they mean: what `docs/glossary.md` lists, and the foot of a report.

A term is told in a report that uses it, or its short form in brackets.
"""

import re
from collections.abc import Iterator
from html import unescape

TERMS = {
    "block": "The pages that flash erases together; a few hundred to a few thousand of them.",
    "block layer": "The part of the operating system that queues, merges and schedules requests above the drive.",
    "channel": "A bus that moves data between the controller and some of the dies, one transfer at a time.",
    "closed loop": "The next request is sent when one ends; the times of the trace do not matter. In an open loop "
    "requests are sent at their times.",
    "die": "A chip, or part of one, that works on its own: it reads, programs or erases one thing at a time.",
    "dirty page": "A cached page that was written and differs from what is stored below.",
    "drive writes per day (DWPD)": "How many times its capacity a drive can take each day over its time of warranty.",
    "evict": "To remove from a cache so that something else fits; a dirty page is written back first.",
    "flash translation layer (FTL)": "The firmware that keeps where each logical page is in flash, and collects "
    "garbage.",
    "flush": "A request to make durable what the drive has acknowledged.",
    "footprint": "The different addresses that a trace touches, together.",
    "full merge": "A merge that copies the newest pages of a logical block from wherever they are to an empty block.",
    "garbage collection (GC)": "Copying what is still valid out of a victim and erasing it, so that it can be "
    "written again.",
    "hit ratio": "The share of the accesses that a cache served; 1 less the miss ratio.",
    "log block": "A block that takes writes which cannot go where they belong, until a merge brings them there.",
    "merge": "In FTLs with log blocks, bringing the pages of one logical block together in one block.",
    "miss ratio": "The share of the accesses that a cache did not serve.",
    "miss-ratio curve (MRC)": "The miss ratio against the size of the cache.",
    "over-provisioning (OP)": "Flash beyond the capacity that the host sees, over that capacity. The effective one is "
    "what collection is measured to have of it: invalid pages for each valid one, without erased pages.",
    "page": "What flash reads and programs at once; the unit that an FTL maps.",
    "partial merge": "A merge that completes a log block, whose pages are each in their place, with the pages that it "
    "lacks.",
    "percentile": "p99 is the time within which 99 of 100 requests are answered.",
    "plane": "A part of a die; planes of one die can do the same operation at the same time.",
    "preconditioning": "Writing to the drive before the first request, until it behaves as one that is in use.",
    "queue depth": "Requests that are outstanding at once.",
    "response time": "From when a request is sent to when it is answered: waiting and service.",
    "second chance": "What was used since it was last looked at is spared once.",
    "steady state": "The time from which write amplification no longer changes but by chance.",
    "switch merge": "A merge that copies nothing: a log block that has every page in its place becomes the data block.",
    "terabytes written (TBW)": "Host data that the drive can take until its blocks are worn out.",
    "trim": "A request that says the host no longer needs some addresses; also discard or deallocate.",
    "victim": "The block that garbage collection empties.",
    "wear": "Erases of blocks, each of which brings a block closer to its end.",
    "working set": "The different addresses that are touched in a stretch of a trace.",
    "write amplification (WAF)": "Pages programmed in flash over pages that the host wrote; at least 1 "
    "without compression, unless a write buffer takes rewrites of a page before it is programmed, or still holds pages "
    "at the end.",
    "write-back": "A cache acknowledges a write when it holds it, and writes it below later.",
}
"""In the order of the alphabet."""

_TAGS = re.compile(r"<(style|svg)\b.*?</\1>|<[^>]*>", re.DOTALL)


def used(html: str) -> Iterator[tuple[str, str]]:
    """The terms that a piece of HTML uses, each with what it means."""
    text = unescape(_TAGS.sub(" ", html)).lower()
    for term, meaning in TERMS.items():
        long, _, short = term.lower().rstrip(")").partition(" (")
        if any(re.search(rf"\b{re.escape(word)}(e?s)?\b", text) for word in (long, short) if word):
            yield term, meaning


def document() -> str:
    """The text of `docs/glossary.md`."""
    entries = "".join(f"**{term}**: {meaning}\n\n" for term, meaning in TERMS.items())
    return (
        "# Glossary\n\nThe words of reports, settings and messages. A report ends with those that it uses. What each "
        "figure and\ncolumn of a run is exactly, [results.md](results.md) tells.\n\n" + entries.rstrip("\n") + "\n"
    )
