//! The write buffer of a drive: written pages wait in RAM until they are programmed.
//!
//! ```text
//! write:  a waiting page is overwritten in place; other pages take a free slot, or the request waits for one
//! flush:  eager: at once; watermark: oldest first, from `high` down to `low`
//! ```
//! A slot becomes free when its page has been programmed. A page that is overwritten while it is programmed takes
//! another slot. If the first slot held a whole page, its data is copied to the new slot. Reads find the newest
//! slot.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use ssdlab_core::counters;
use ssdlab_ftl::WriteContext;
use ssdlab_nand::backend::parallel::Requester;

use crate::setup::drive::{FlushPolicy, WriteBuffer};

counters! {
    /// Write-buffer counters for the measured phase.
    pub struct BufferCounters {
        pages_accepted: "pages", "Host pages written to a new buffer slot.";
        pages_overwritten: "pages", "Buffered pages overwritten before they were programmed.";
        pages_trimmed: "pages", "Buffered pages trimmed before they were programmed.";
        pages_read: "pages", "Pages read entirely from the buffer.";
        writes_stalled: "requests", "Write requests that waited for a free buffer slot.";
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SlotState {
    Free,
    /// The page waits to be programmed.
    Waiting,
    Programming,
}

/// A page in the write buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub lpn: u32,
    /// Last request that wrote the page.
    pub requester: Requester,
    pub context: WriteContext,
    /// True if the buffer has the whole page; otherwise the missing part must be read before the page is programmed.
    pub whole: bool,
    /// Sequence number of the host page write that produced this version of the page.
    pub version: u64,
    state: SlotState,
    /// Number of pages that the buffer accepted before this page.
    number: u64,
}

/// Outcome of offering a page to the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Accepted {
    Stored,
    Overwritten,
    Full,
}

#[derive(Debug)]
pub(crate) struct Buffer {
    slots: Vec<Held>,
    free: Vec<u32>,
    /// For each buffered page, the slot that holds its newest version.
    newest: FxHashMap<u32, u32>,
    /// Waiting slots, oldest first, each with the acceptance number of its page. Entries of trimmed pages are stale.
    order: VecDeque<(u32, u64)>,
    waiting: u32,
    accepted: u64,
    /// For each accepted page, in order of acceptance: true if the page has left the buffer. The first entry belongs to
    /// the oldest page that is still buffered.
    gone: VecDeque<bool>,
    /// All pages with a lower acceptance number are flushed, even if the policy would not flush them.
    forced: u64,
    /// True while the watermark policy drains the buffer.
    draining: bool,
    /// Numbers of waiting pages at which the watermark policy starts and stops programming; `None` for the eager
    /// policy.
    marks: Option<(u32, u32)>,
    pub protected: bool,
    pub counters: BufferCounters,
}

impl Buffer {
    pub fn new(options: WriteBuffer) -> Self {
        let free = Held {
            lpn: 0,
            requester: Requester::default(),
            context: WriteContext::default(),
            whole: false,
            version: 0,
            state: SlotState::Free,
            number: 0,
        };
        let share = |share: f64| (share * f64::from(options.pages)) as u32;
        Self {
            slots: vec![free; options.pages as usize],
            free: (0..options.pages).rev().collect(),
            newest: FxHashMap::default(),
            order: VecDeque::new(),
            waiting: 0,
            accepted: 0,
            gone: VecDeque::new(),
            forced: 0,
            draining: false,
            marks: match options.flush {
                FlushPolicy::Eager => None,
                FlushPolicy::Watermark { high, low } => {
                    let high = share(high).max(1);
                    // The fill levels must differ. If both rounded to the same number of pages, as in a small buffer,
                    // the time of a flush would depend on how often [`Self::flush_next`] is called.
                    Some((high, share(low).min(high - 1)))
                }
            },
            protected: options.protected,
            counters: BufferCounters::default(),
        }
    }

    /// Returns the number of pages that wait to be programmed.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Returns the number of pages in the buffer, waiting or being programmed.
    pub fn held(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    /// Iterates over the waiting pages, oldest first.
    pub fn unprogrammed(&self) -> impl Iterator<Item = &Held> {
        let waits = |held: &&Held, number| held.state == SlotState::Waiting && held.number == number;
        self.order
            .iter()
            .map(|&(slot, number)| (&self.slots[slot as usize], number))
            .filter(move |(held, number)| waits(held, *number))
            .map(|(held, _)| held)
    }

    /// Returns the newest data of a page, if it is in the buffer.
    #[inline]
    pub fn newest(&self, lpn: u32) -> Option<&Held> {
        self.newest.get(&lpn).map(|&slot| &self.slots[slot as usize])
    }

    /// Returns true if the buffer can accept the page now.
    pub fn has_room_for(&self, lpn: u32) -> bool {
        !self.free.is_empty() || self.newest(lpn).is_some_and(|held| held.state == SlotState::Waiting)
    }

    /// Accepts a page that the host writes.
    pub fn accept(
        &mut self,
        lpn: u32,
        (requester, context): (Requester, WriteContext),
        mut whole: bool,
        version: u64,
    ) -> Accepted {
        if let Some(&slot) = self.newest.get(&lpn) {
            let held = &mut self.slots[slot as usize];
            if held.state == SlotState::Waiting {
                held.whole |= whole;
                held.requester = requester;
                held.context = context;
                held.version = version;
                self.counters.pages_overwritten += 1;
                return Accepted::Overwritten;
            }
            // The data being programmed is still in the buffer, so a partial write is merged with this data.
            whole |= held.whole;
        }
        let Some(slot) = self.free.pop() else { return Accepted::Full };
        self.slots[slot as usize] =
            Held { lpn, requester, context, whole, version, state: SlotState::Waiting, number: self.accepted };
        self.order.push_back((slot, self.accepted));
        self.newest.insert(lpn, slot);
        self.waiting += 1;
        self.accepted += 1;
        self.gone.push_back(false);
        self.counters.pages_accepted += 1;
        Accepted::Stored
    }

    /// Returns the next slot to program, with its page; `None` if the policy programs no page now. `gathered` is the
    /// number of pages that have been taken for programming and wait in an incomplete program unit.
    pub fn flush_next(&mut self, gathered: u32) -> Option<(u32, Held)> {
        if let Some((high, low)) = self.marks {
            let filled = self.waiting;
            self.draining = if self.draining { filled > low } else { filled >= high };
        }
        // If the buffer is full and only gathered pages are being programmed, no slot becomes free until more pages
        // join them. In that case, pages are programmed regardless of the policy.
        let blocked = self.free.is_empty() && self.held() == self.waiting + gathered;
        while let Some(&(slot, number)) = self.order.front() {
            let held = &self.slots[slot as usize];
            if held.state != SlotState::Waiting || held.number != number {
                self.order.pop_front();
                continue;
            }
            if self.marks.is_some() && !self.draining && !blocked && number >= self.forced {
                return None;
            }
            self.order.pop_front();
            self.waiting -= 1;
            let held = &mut self.slots[slot as usize];
            held.state = SlotState::Programming;
            return Some((slot, *held));
        }
        None
    }

    /// Returns the logical page at position `count` (from 0) in the order of programming; `None` if the order is
    /// shorter. Use it only to prefetch: stale entries of trimmed pages count as positions, and may give a wrong page.
    pub fn ahead(&self, count: usize) -> Option<u32> {
        self.order.get(count).map(|&(slot, _)| self.slots[slot as usize].lpn)
    }

    /// Frees a slot whose page has been programmed.
    pub fn programmed(&mut self, slot: u32) {
        let Held { lpn, number, .. } = self.slots[slot as usize];
        self.release(slot, lpn, number);
    }

    /// Drops a page that waits in the buffer. Returns true if the page was waiting.
    pub fn trim(&mut self, lpn: u32) -> bool {
        let Some(&slot) = self.newest.get(&lpn) else { return false };
        let Held { state, number, .. } = self.slots[slot as usize];
        if state == SlotState::Waiting {
            self.waiting -= 1;
            self.counters.pages_trimmed += 1;
            self.release(slot, lpn, number);
            return true;
        }
        // A page that is being programmed cannot be dropped. The FTL trims this page too, and then serves all reads of
        // it.
        self.newest.remove(&lpn);
        false
    }

    fn release(&mut self, slot: u32, lpn: u32, number: u64) {
        self.slots[slot as usize].state = SlotState::Free;
        self.free.push(slot);
        let oldest = self.oldest();
        self.gone[(number - oldest) as usize] = true;
        while self.gone.front() == Some(&true) {
            self.gone.pop_front();
        }
        if self.newest.get(&lpn) == Some(&slot) {
            self.newest.remove(&lpn);
        }
    }

    /// Makes the buffer flush all pages accepted so far. Returns a mark; pass it to [`Self::is_safe`] to check if these
    /// pages have left the buffer.
    pub fn force(&mut self) -> u64 {
        self.forced = self.accepted;
        self.accepted
    }

    /// Returns true if none of the pages that [`Self::force`] flushes is still waiting.
    pub fn has_forced_all(&self) -> bool {
        self.unprogrammed().next().is_none_or(|held| held.number >= self.forced)
    }

    /// Returns true if all pages accepted before the call of [`Self::force`] that returned `mark` have been programmed
    /// or trimmed.
    pub fn is_safe(&self, mark: u64) -> bool {
        self.oldest() >= mark
    }

    /// Returns the acceptance number of the oldest page still in the buffer. If the buffer is empty, returns the
    /// number that the next page will get.
    fn oldest(&self) -> u64 {
        self.accepted - self.gone.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer() -> (Requester, WriteContext) {
        Default::default()
    }

    fn buffer(pages: u32, flush: FlushPolicy) -> Buffer {
        Buffer::new(WriteBuffer { pages, flush, protected: false })
    }

    fn flushed(buffer: &mut Buffer) -> Vec<(u32, u32)> {
        std::iter::from_fn(|| buffer.flush_next(0).map(|(slot, held)| (slot, held.lpn))).collect()
    }

    #[test]
    fn pages_wait_between_the_watermarks_and_are_overwritten_there() {
        let mut buffer = buffer(4, FlushPolicy::Watermark { high: 0.75, low: 0.25 });
        assert_eq!(buffer.accept(7, writer(), true, 0), Accepted::Stored);
        assert_eq!(buffer.accept(8, writer(), true, 0), Accepted::Stored);
        assert_eq!(buffer.accept(7, writer(), true, 0), Accepted::Overwritten);
        assert_eq!(flushed(&mut buffer), []);
        assert_eq!(buffer.accept(9, writer(), true, 0), Accepted::Stored);
        // Pages wait in three of four slots, so the buffer programs the oldest pages until only one page waits.
        let programming = flushed(&mut buffer);
        assert_eq!(programming.iter().map(|&(_, lpn)| lpn).collect::<Vec<_>>(), [7, 8]);
        // If a page is rewritten while it is programmed, the rewrite takes another slot.
        assert_eq!(buffer.accept(7, writer(), true, 0), Accepted::Stored);
        assert_eq!(buffer.accept(5, writer(), true, 0), Accepted::Full);
        buffer.programmed(programming[0].0);
        assert!(buffer.newest(7).is_some() && buffer.newest(8).is_some());
        assert_eq!(buffer.accept(5, writer(), true, 0), Accepted::Stored);
        buffer.programmed(programming[1].0);
        assert!(buffer.newest(8).is_none());
    }

    #[test]
    fn partial_writes_keep_the_data_being_programmed() {
        let mut buffer = buffer(4, FlushPolicy::Eager);
        let mut programming = Vec::new();
        for (lpn, whole, comes_whole) in [(1, true, true), (1, false, true), (2, false, false), (2, false, false)] {
            buffer.accept(lpn, writer(), whole, 0);
            let (slot, held) = buffer.flush_next(0).unwrap();
            assert_eq!((held.lpn, held.whole), (lpn, comes_whole));
            programming.push(slot);
        }
        // Programmed and trimmed pages leave the buffer.
        programming.iter().for_each(|&slot| buffer.programmed(slot));
        buffer.accept(1, writer(), false, 0);
        assert!(!buffer.flush_next(0).unwrap().1.whole);
        buffer.accept(3, writer(), true, 0);
        buffer.flush_next(0);
        buffer.trim(3);
        buffer.accept(3, writer(), false, 0);
        assert!(!buffer.flush_next(0).unwrap().1.whole);
    }

    #[test]
    fn a_buffer_drained_to_the_last_page_fills_up_again() {
        let mut buffer = buffer(4, FlushPolicy::Watermark { high: 0.5, low: 0.0 });
        for lpn in [1, 2, 3] {
            buffer.accept(lpn, writer(), true, 0);
            let programming = flushed(&mut buffer);
            assert_eq!(programming.len(), if lpn == 2 { 2 } else { 0 });
            programming.iter().for_each(|&(slot, _)| buffer.programmed(slot));
        }
    }

    #[test]
    fn flushing_does_not_depend_on_the_number_of_calls() {
        let mut buffer = buffer(2, FlushPolicy::Watermark { high: 0.9, low: 0.5 });
        buffer.accept(1, writer(), true, 0);
        buffer.accept(2, writer(), true, 0);
        assert_eq!(flushed(&mut buffer).len(), 2);
        assert_eq!(flushed(&mut buffer), []);
    }

    #[test]
    fn a_flush_waits_for_all_earlier_pages() {
        let mut buffer = buffer(4, FlushPolicy::Watermark { high: 1.0, low: 0.0 });
        buffer.accept(1, writer(), true, 0);
        buffer.accept(2, writer(), true, 0);
        let mark = buffer.force();
        buffer.accept(3, writer(), true, 0);
        let programming = flushed(&mut buffer);
        assert_eq!(programming.iter().map(|&(_, lpn)| lpn).collect::<Vec<_>>(), [1, 2]);
        buffer.programmed(programming[1].0);
        assert!(!buffer.is_safe(mark));
        buffer.programmed(programming[0].0);
        assert!(buffer.is_safe(mark));
        assert!(buffer.newest(3).is_some());
    }

    #[test]
    fn a_trimmed_page_is_not_programmed() {
        let mut buffer = buffer(2, FlushPolicy::Watermark { high: 1.0, low: 0.0 });
        buffer.accept(1, writer(), true, 0);
        assert!(buffer.trim(1));
        assert!(!buffer.trim(1));
        buffer.accept(2, writer(), true, 0);
        buffer.accept(3, writer(), true, 0);
        assert_eq!(flushed(&mut buffer).len(), 2);
        assert_eq!((buffer.counters.pages_trimmed, buffer.waiting()), (1, 0));
    }
}
