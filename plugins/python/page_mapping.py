"""A page-mapped FTL in Python. Greedy garbage collection copies pages to the open block of the host.

On one plane, performs exactly the same operations as the built-in FTL with `ftl.page.gc=greedy`,
`ftl.page.survivors=shared` and `ftl.page.allocation=fifo`.
"""

from collections import deque

from ssdlab.plugin import Ftl


class PageMapping(Ftl):
    """A logical page may be in any flash page; the block with the fewest valid pages is collected."""

    def start(self) -> None:
        self.place: dict[int, int] = {}  # flash page of each logical page
        self.owner: dict[int, int] = {}  # logical page whose newest copy is in each flash page
        self.valid = [0] * self.flash.blocks
        self.free = deque(range(self.flash.blocks))
        self.full: set[int] = set()
        self.next = self.end = 0  # next page of the open block; first page past the block

    def pages_of(self, block: int) -> range:
        return range(block * self.flash.pages_per_block, (block + 1) * self.flash.pages_per_block)

    def append(self, lpn: int) -> int:
        """Allocates the next erased page for a logical page, and invalidates the logical page's previous copy."""
        if self.next == self.end:
            if self.end > 0:
                self.full.add((self.end - 1) // self.flash.pages_per_block)
            pages = self.pages_of(self.free.popleft())
            self.next, self.end = pages.start, pages.stop
        self.trim(lpn)
        page = self.next
        self.place[lpn], self.owner[page] = page, lpn
        self.valid[page // self.flash.pages_per_block] += 1
        self.next += 1
        return page

    def collect(self) -> None:
        """Collects the block with the fewest valid pages, or the lowest-numbered of several such blocks: copies its
        valid pages, and erases it.
        """
        open_block = {(self.end - 1) // self.flash.pages_per_block} if self.next == self.end else set()
        block = min(self.full | open_block, key=lambda block: (self.valid[block], block))
        for page in self.pages_of(block):
            if page in self.owner:
                self.flash.copy(page, self.append(self.owner[page]))
        self.flash.erase(block)
        self.full.discard(block)
        self.free.append(block)

    def write(self, lpn: int) -> None:
        # Keeps one erased block in reserve, for the pages that are copied from a victim.
        while len(self.free) * self.flash.pages_per_block + self.end - self.next <= self.flash.pages_per_block:
            self.collect()
        self.flash.program(self.append(lpn), lpn)

    def read(self, lpn: int) -> None:
        if lpn in self.place:
            self.flash.read(self.place[lpn])

    def trim(self, lpn: int) -> None:
        if lpn in self.place:
            page = self.place.pop(lpn)
            del self.owner[page]
            self.valid[page // self.flash.pages_per_block] -= 1
