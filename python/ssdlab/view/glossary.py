"""Terms of reports with their meanings, for `docs/glossary.md` and the end of each report that uses a term."""

import re
from collections.abc import Iterator
from html import unescape

TERMS = {
    "block": "A few hundred to a few thousand pages that flash erases together.",
    "block layer": "The part of the operating system that queues, merges and schedules requests above the drive.",
    "channel": "A bus between the controller and a group of dies; it carries one transfer at a time.",
    "closed loop": "Replay in which a completed request triggers the next request; timestamps of the trace are "
    "ignored. In an open loop, each request is sent at its timestamp.",
    "die": "A flash chip, or an independent part of a chip, that executes one read, program or erase at a time.",
    "dirty page": "A modified page in a cache that has not been written back yet.",
    "drive writes per day (DWPD)": "Number of times per day that the full capacity may be written during the "
    "warranty period.",
    "evict": "To remove a page or object from a cache to make room for another; a dirty page is written back first.",
    "flash translation layer (FTL)": "The firmware that maps logical pages to flash pages and collects garbage.",
    "flush": "A request that makes acknowledged writes durable.",
    "fold": "To copy pages from blocks in SLC mode to native blocks, which use all bits of their cells.",
    "footprint": "The distinct addresses that a trace accesses.",
    "full merge": "A merge that copies the newest pages of a logical block to an erased block.",
    "garbage collection (GC)": "Copying valid pages out of a victim block and erasing it.",
    "hit ratio": "Share of accesses served by a cache; 1 - miss ratio.",
    "log block": "A block that stores updated pages, because flash cannot be overwritten in place; a merge empties or "
    "converts it.",
    "merge": "In FTLs with log blocks, gathering the newest pages of a logical block in one flash block.",
    "miss ratio": "Share of accesses not served by a cache.",
    "miss-ratio curve (MRC)": "The miss ratio as a function of cache size.",
    "over-provisioning (OP)": "Flash beyond the capacity visible to the host, divided by the visible capacity. "
    "Effective OP is measured during GC: invalid pages divided by valid pages.",
    "page": "The unit that an FTL maps: a flash page, or a part of a flash page.",
    "parity (RAIN)": "Redundant array of independent NAND: each stripe stores the XOR of its program units, so "
    "that one unreadable unit can be restored.",
    "partial merge": "A merge that copies only the missing pages to a log block; its other pages are already in place.",
    "percentile": "p99 is the time within which 99 of 100 requests complete.",
    "plane": "A part of a die; the planes of a die can do the same operation in parallel.",
    "preconditioning": "Writes that bring a new drive to the state of a used drive before the first request.",
    "program unit": "Data written by one program command: a flash page, or a word line of one or all planes of a die.",
    "queue depth": "Number of outstanding requests.",
    "response time": "Time from the arrival of a request to its completion: waiting plus service.",
    "second chance": "Eviction rule: a victim that was used since it was last checked is kept until the next check.",
    "SLC cache": "Blocks that store one bit per cell, so programs are fast; their pages are folded later.",
    "steady state": "The phase in which write amplification no longer rises or falls, apart from random variation.",
    "superblock": "A set of blocks from all planes of the drive that are written, garbage-collected and erased "
    "together.",
    "suspension": "Interruption of a program or erase to serve a host read first.",
    "switch merge": "A merge without copies: a log block with all its pages in order becomes the data block.",
    "terabytes written (TBW)": "Amount of data that the host can write before the blocks are worn out.",
    "trim": "A request that marks addresses as unused; also called discard or deallocate.",
    "victim": "The block that garbage collection erases.",
    "wear": "The number of erases of a block; a block withstands only a limited number of erases.",
    "word line": "Cells that are programmed together; with n bits per cell they hold n flash pages.",
    "working set": "The distinct addresses accessed in a part of a trace.",
    "write amplification (WAF)": "Pages programmed in flash, divided by pages written by the host. "
    "It is below 1 only if a write buffer absorbs rewrites or still holds pages at the end.",
    "write-back": "Cache mode: a write is acknowledged once the data are in the cache, and is written to the drive "
    "later.",
}
"""Terms with their meanings, sorted alphabetically."""

_TAGS = re.compile(r"<(style|svg)\b.*?</\1>|<[^>]*>", re.DOTALL)


def used(html: str) -> Iterator[tuple[str, str]]:
    """Yields the terms that occur in a piece of HTML, with their meanings."""
    text = unescape(_TAGS.sub(" ", html)).lower()
    for term, meaning in TERMS.items():
        long, _, short = term.lower().rstrip(")").partition(" (")
        if any(re.search(rf"\b{re.escape(word)}(e?s)?\b", text) for word in (long, short) if word):
            yield term, meaning


def document() -> str:
    """Returns the text of `docs/glossary.md`."""
    entries = "".join(f"**{term}**: {meaning}\n\n" for term, meaning in TERMS.items())
    return (
        "# Glossary\n\nTerms of reports, settings and messages; a report ends with the terms that it uses. "
        "[results.md](results.md)\nexplains every figure and column of a run.\n\n" + entries.rstrip("\n") + "\n"
    )
