//! S3-FIFO: a small queue for new pages, a main queue, and ghosts of pages evicted from the small queue.
//!
//! Source: Yang, Zhang, Qiu, Yue, Vigfusson 2023, "FIFO Queues are All You Need for Cache Eviction", section 4. The
//! small queue gets a tenth of the present pages rather than of the capacity, because the pool may grow and shrink.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::links::{Links, List};
use super::{Policy, PoolPolicyInfo};
use crate::PageId;
use crate::ghosts::Ghosts;

pub(crate) static INFO: PoolPolicyInfo = PoolPolicyInfo {
    name: "s3-fifo",
    help: "Small FIFO for new pages, main FIFO for used pages, and ghost entries for recently evicted pages.",
    source: "Yang et al., SOSP 2023",
    parameters: &[],
    role: |pages| {
        Box::new(S3Fifo {
            links: Links::default(),
            small: List::default(),
            main: List::default(),
            pages: Vec::new(),
            ghosts: Ghosts::new(pages),
        })
    },
};

const MAX_USES: u8 = 3;

#[derive(Default)]
struct Page {
    id: PageId,
    uses: AtomicU8,
    in_main: bool,
}

struct S3Fifo {
    links: Links,
    small: List,
    main: List,
    pages: Vec<Page>,
    ghosts: Ghosts,
}

impl S3Fifo {
    fn push_main(&mut self, slot: u32) {
        self.pages[slot as usize].in_main = true;
        self.links.push(&mut self.main, slot);
    }

    /// Removes the oldest page of the small queue. Evicts the page if it was used at most once and is `evictable`;
    /// otherwise moves it to the main queue.
    fn evict_small(&mut self, evictable: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        let slot = self.links.pop_oldest(&mut self.small)?;
        let page = &mut self.pages[slot as usize];
        if *page.uses.get_mut() <= 1 && evictable(slot) {
            self.ghosts.insert(page.id);
            return Some(slot);
        }
        *page.uses.get_mut() = 0;
        self.push_main(slot);
        None
    }

    /// Removes the oldest page of the main queue. Evicts the page if it is unused and `evictable`; otherwise reinserts
    /// it.
    fn evict_main(&mut self, evictable: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        let slot = self.links.pop_oldest(&mut self.main)?;
        let uses = self.pages[slot as usize].uses.get_mut();
        if *uses == 0 && evictable(slot) {
            return Some(slot);
        }
        *uses = uses.saturating_sub(1);
        self.links.push(&mut self.main, slot);
        None
    }
}

impl Policy for S3Fifo {
    fn grow(&mut self, slots: usize) {
        self.links.grow(slots);
        self.pages.reserve_exact(slots - self.pages.len());
        self.pages.resize_with(slots, Page::default);
    }

    fn insert(&mut self, slot: u32, id: PageId) {
        self.pages[slot as usize] = Page { id, ..Page::default() };
        let pages = self.small.len + self.main.len;
        if self.ghosts.take(id).is_some_and(|since| (since as usize) < pages) {
            self.push_main(slot);
        } else {
            self.links.push(&mut self.small, slot);
        }
    }

    #[inline]
    fn hit(&self, slot: u32) {
        let uses = &self.pages[slot as usize].uses;
        let seen = uses.load(Relaxed);
        if seen < MAX_USES {
            // Losing a concurrent increment is harmless: the page still counts as used.
            uses.store(seen + 1, Relaxed);
        }
    }

    fn remove(&mut self, slot: u32) {
        let list = if self.pages[slot as usize].in_main { &mut self.main } else { &mut self.small };
        self.links.remove(list, slot);
    }

    fn victim(&mut self, evictable: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        let pages = self.small.len + self.main.len;
        // After this many steps, every page has moved to the main queue and lost all its recorded uses there. If no
        // page was evictable, a second pass evicts from the small queue regardless of its length.
        for force_small in [false, true] {
            for _ in 0..pages * (2 + usize::from(MAX_USES)) {
                let small = force_small || self.main.len == 0 || self.small.len > (pages / 10).max(1);
                let victim =
                    if small && self.small.len > 0 { self.evict_small(evictable) } else { self.evict_main(evictable) };
                if victim.is_some() {
                    return victim;
                }
            }
        }
        None
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.pages.capacity() * size_of::<Page>() + self.ghosts.bytes()
    }
}
