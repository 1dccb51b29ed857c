"""Terms of reports with their meanings, for `docs/glossary.md` and the end of each report that uses a term."""

import re
from collections.abc import Iterator
from html import unescape

TERMS = {
    "block": "A few hundred to a few thousand pages that flash erases together.",
    "block layer": "The part of the operating system that queues, merges and schedules requests above the drive.",
    "channel": "A bus that moves data between the controller and some of the dies, one transfer at a time.",
    "closed loop": "A request is sent when another one ends, as fast as possible; the times of the trace are ignored. "
    "In an open loop requests are sent at their times.",
    "die": "A chip, or an independent part of a chip; executes one read, program or erase at a time.",
    "dirty page": "A cached page with changes that the storage below does not have yet.",
    "drive writes per day (DWPD)": "How many times per day the full capacity may be written during the warranty.",
    "evict": "To remove from a cache so that something else fits; a dirty page is written back first.",
    "flash translation layer (FTL)": "The firmware that maps logical pages to flash pages and collects garbage.",
    "flush": "A request that makes acknowledged writes durable.",
    "fold": "To copy pages from blocks in SLC mode to native blocks.",
    "footprint": "The distinct addresses that a trace touches.",
    "full merge": "A merge that copies the newest pages of a logical block to an erased block.",
    "garbage collection (GC)": "Copying valid pages out of a victim block and erasing it.",
    "hit ratio": "Share of the accesses that a cache served; 1 - miss ratio.",
    "log block": "A block for updated pages, which cannot be written in place; a merge moves them elsewhere.",
    "merge": "In FTLs with log blocks, collecting the pages of one logical block in one block.",
    "miss ratio": "Share of the accesses that a cache did not serve.",
    "miss-ratio curve (MRC)": "The miss ratio against the size of the cache.",
    "over-provisioning (OP)": "Flash beyond the capacity that the host sees, divided by that capacity. Effective OP is "
    "measured during GC: invalid pages per valid page, without erased pages.",
    "page": "The unit that an FTL maps: a flash page, or a part of a flash page.",
    "parity (RAIN)": "Redundant array of independent NAND: an XOR of the program units of a stripe, which can restore "
    "an unreadable unit.",
    "partial merge": "A merge that copies the missing pages to a log block whose other pages are all in place.",
    "percentile": "p99 is the time within which 99 of 100 requests complete.",
    "plane": "A part of a die; the planes of a die can do the same operation in parallel.",
    "preconditioning": "Writing to the drive before the first request, until it behaves like a drive in use.",
    "program unit": "Data of one program command: a flash page, or a word line of one or all planes of a die.",
    "queue depth": "Number of outstanding requests.",
    "response time": "Time from a request to its completion: waiting and service.",
    "second chance": "A victim that was used since the last check is not evicted the first time.",
    "SLC cache": "Blocks that store one bit per cell, so programs are fast; their pages are folded later.",
    "steady state": "The phase in which write amplification no longer rises or falls, apart from random variation.",
    "superblock": "Blocks of all planes of the drive that are written, collected and erased together.",
    "suspension": "Interrupting a program or an erase so that a host read need not wait until it ends.",
    "switch merge": "A merge without copies: a log block with every page in place becomes the data block.",
    "terabytes written (TBW)": "Host writes until the blocks are worn out.",
    "trim": "A request that marks addresses as unused; also discard or deallocate.",
    "victim": "The block that garbage collection frees.",
    "wear": "The number of erases of a block; a block endures only a limited number.",
    "word line": "Cells that are programmed together; with n bits per cell they hold n flash pages.",
    "working set": "The distinct addresses touched in a part of a trace.",
    "write amplification (WAF)": "Pages programmed in flash over pages that the host wrote; below 1 only if a "
    "write buffer absorbs rewrites or holds pages at the end.",
    "write-back": "A cache acknowledges a write as soon as it holds the data, and writes the data to the drive later.",
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
