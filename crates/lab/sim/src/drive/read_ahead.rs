//! Read-ahead: prefetches the pages after a sequential stream of reads from flash into a read cache.
//!
//! ```text
//! read:   continues one of the last reads? after `requests` such reads, the next `pages` pages are read
//! cache:  slots are taken in turn, so the oldest page leaves; a write or trim of a page drops it
//! ```
//! Only pages that are in flash and not in the write buffer are read in advance.

use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;
use ssdlab_core::PageSize;

use crate::setup::drive::ReadAhead;

/// Maximum number of sequential streams that are tracked at the same time.
const STREAMS: usize = 16;

/// A page in the read cache.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// Logical page; `None` if the slot is empty or its page is out of date.
    lpn: Option<u32>,
    is_loading: bool,
    is_used: bool,
    /// Requests that wait for the page.
    waiting: Vec<u32>,
}

/// State of a requested page that is in the read cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cached {
    Ready,
    /// The flash is still reading the page, so the request waits for it.
    Loading,
}

/// Read-ahead counters for the measured phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub pages: u64,
    pub hits: u64,
    pub wasted: u64,
}

/// Sequential streams of reads, and the read cache.
#[derive(Debug)]
pub(super) struct ReadCache {
    options: ReadAhead,
    page: PageSize,
    /// For each stream, the byte address where it currently ends, and its number of requests so far. The most recently
    /// read stream comes last.
    streams: VecDeque<(u64, u32)>,
    slots: Vec<Slot>,
    slot_of: FxHashMap<u32, u32>,
    /// Slot for the next prefetched page.
    turn: u32,
    pub counts: Counts,
}

impl ReadCache {
    pub fn new(options: ReadAhead, page: PageSize) -> Self {
        Self {
            options,
            page,
            streams: VecDeque::new(),
            slots: vec![Slot::default(); options.cache_pages as usize],
            slot_of: FxHashMap::default(),
            turn: 0,
            counts: Counts::default(),
        }
    }

    /// Records a read of the bytes `offset..end`. Returns the pages to read in advance.
    pub fn follow(&mut self, offset: u64, end: u64) -> Range<u64> {
        let at = self.streams.iter().position(|&(next, _)| next == offset);
        let requests = at.and_then(|at| self.streams.remove(at)).map_or(0, |(_, requests)| requests) + 1;
        if self.streams.len() == STREAMS {
            self.streams.pop_front();
        }
        self.streams.push_back((end, requests));
        let next = self.page.touched(offset, end).end;
        next..if requests >= self.options.requests { next + u64::from(self.options.pages) } else { next }
    }

    /// Looks up a page in the read cache for a request. If the flash is still reading the page, the request waits for
    /// it.
    pub fn look_up(&mut self, lpn: u32, request: u32) -> Option<Cached> {
        let slot = &mut self.slots[*self.slot_of.get(&lpn)? as usize];
        slot.is_used = true;
        self.counts.hits += 1;
        if slot.is_loading {
            slot.waiting.push(request);
            return Some(Cached::Loading);
        }
        Some(Cached::Ready)
    }

    pub fn contains(&self, lpn: u32) -> bool {
        self.slot_of.contains_key(&lpn)
    }

    /// Assigns a slot to a page that the flash is about to read. Returns `None` if the flash is still reading the
    /// slot's previous page.
    pub fn load(&mut self, lpn: u32) -> Option<u32> {
        let number = self.turn;
        if self.slots[number as usize].is_loading {
            return None;
        }
        if let Some(before) = self.slots[number as usize].lpn {
            self.drop_page(before);
        }
        self.turn = (number + 1) % self.slots.len() as u32;
        self.slots[number as usize] = Slot { lpn: Some(lpn), is_loading: true, is_used: false, waiting: Vec::new() };
        self.slot_of.insert(lpn, number);
        self.counts.pages += 1;
        Some(number)
    }

    /// Records that the flash has read the page of a slot. Returns the requests that wait for the page.
    pub fn loaded(&mut self, slot: u32) -> Vec<u32> {
        let slot = &mut self.slots[slot as usize];
        slot.is_loading = false;
        std::mem::take(&mut slot.waiting)
    }

    /// Drops a page from the read cache because its data is about to change. A request that waits for the page still
    /// gets the old data.
    pub fn drop_page(&mut self, lpn: u32) {
        if let Some(slot) = self.slot_of.remove(&lpn) {
            let slot = &mut self.slots[slot as usize];
            slot.lpn = None;
            self.counts.wasted += u64::from(!slot.is_used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(pages: u32, cache_pages: u32) -> ReadCache {
        ReadCache::new(ReadAhead { requests: 2, pages, cache_pages }, PageSize::new(4096))
    }

    #[test]
    fn consecutive_reads_form_a_stream() {
        let mut cache = cache(3, 8);
        assert!(cache.follow(0, 4_096).is_empty());
        assert!(cache.follow(40_960, 45_056).is_empty(), "another stream");
        assert_eq!(cache.follow(4_096, 6_000), 2..5);
        assert_eq!(cache.follow(6_000, 8_192), 2..5, "the rest of the page");
        assert_eq!(cache.follow(45_056, 53_248), 13..16);
        // Sixteen further streams displace both earlier streams.
        (100..116).for_each(|stream| assert!(cache.follow(stream << 20, (stream << 20) + 1).is_empty()));
        assert!(cache.follow(8_192, 12_288).is_empty());
    }

    #[test]
    fn pages_leave_in_turn_and_when_they_change() {
        let mut cache = cache(3, 2);
        assert_eq!([cache.load(5), cache.load(6), cache.load(7)], [Some(0), Some(1), None]);
        assert_eq!((cache.look_up(5, 11), cache.look_up(4, 11)), (Some(Cached::Loading), None));
        cache.drop_page(5);
        assert_eq!(cache.look_up(5, 12), None);
        assert_eq!((cache.loaded(0), cache.loaded(1)), (vec![11], vec![]));
        // Page 6 was never used; slot 0 is empty.
        assert_eq!([cache.load(8), cache.load(9)], [Some(0), Some(1)]);
        assert!(cache.contains(8) && cache.contains(9) && !cache.contains(6));
        assert_eq!(cache.loaded(1), []);
        assert_eq!(cache.look_up(9, 13), Some(Cached::Ready));
        assert_eq!(cache.counts, Counts { pages: 4, hits: 2, wasted: 1 });
    }
}
