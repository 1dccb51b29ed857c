"""S4-FIFO, a replacement policy of 2026: S3-FIFO whose small FIFO does not count hits on newly inserted items.

    hit(x):    do nothing if x is young and in the small FIFO S; otherwise count a use of x, at most 3
               x is young while fewer than `skip` * |S| items have entered S, counting x and all later items
    miss(x):   while x does not fit: EVICT-M if the main FIFO M is above 90 % or S is empty; otherwise EVICT-S
               insert x into M if x is in the ghost G, or if S is full and nothing was evicted yet; otherwise into S
    EVICT-S:   repeat until an item is evicted or S is empty: remove the oldest item of S;
               if it has at least `hits` uses, clear its uses and insert it into M; otherwise evict it to G
    EVICT-M:   repeat until an item is evicted: remove the oldest item of M;
               if it has uses, subtract one and insert it into M again; otherwise evict it

S has 10 % of the capacity, M and G have 90 %. With `skip=0` this policy equals the built-in `s3-fifo:simulator=1`. The
authors choose four parameters, one of them `skip`, for each workload with a learned model. This class has fixed
parameters instead. All items have the same size, because cache policies in Python receive no sizes.

Source: S4-FIFO, OSDI 2026; rules as in the authors' simulator (libCacheSim).
"""

from collections import OrderedDict

from ssdlab.plugin import CachePolicy


class S4Fifo(CachePolicy):
    """S3-FIFO whose small FIFO does not count hits on newly inserted items."""

    def __init__(self, skip: float = 0.25, hits: int = 2) -> None:
        self.skip, self.hits = skip, hits
        self.small: OrderedDict[int, int] = OrderedDict()  # for each item, number of items inserted into S before it
        self.main: OrderedDict[int, None] = OrderedDict()
        self.ghost: OrderedDict[int, None] = OrderedDict()
        self.uses: dict[int, int] = {}
        self.inserted = 0
        self.has_evicted = False

    def hit(self, item: int) -> None:
        if item in self.small and self.inserted - self.small[item] < int(self.skip * len(self.small)):
            return
        self.uses[item] = min(3, self.uses[item] + 1)

    def insert(self, item: int) -> None:
        comes_back = item in self.ghost
        self.ghost.pop(item, None)
        while len(self.ghost) > self.capacity * 90 // 100:
            self.ghost.popitem(last=False)
        self.uses[item] = 0
        if comes_back or (not self.has_evicted and len(self.small) >= self.capacity * 10 // 100):
            self.main[item] = None
        else:
            self.small[item] = self.inserted
            self.inserted += 1

    def evict(self) -> int:
        self.has_evicted = True
        if len(self.main) <= self.capacity - self.capacity * 10 // 100:
            while self.small:
                item, _ = self.small.popitem(last=False)
                if self.uses[item] < self.hits:
                    self.ghost[item] = None  # `insert` trims the ghost, once the new item is known
                    del self.uses[item]
                    return item
                self.uses[item] = 0
                self.main[item] = None
        while True:
            item, _ = self.main.popitem(last=False)
            if self.uses[item] == 0:
                del self.uses[item]
                return item
            self.uses[item] -= 1
            self.main[item] = None

    def remove(self, item: int) -> None:
        self.small.pop(item, None)
        self.main.pop(item, None)
        del self.uses[item]
