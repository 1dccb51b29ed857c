//! The write buffer of a drive: pages wait in RAM until they are programmed.
//!
//! ```text
//! write:  page is waiting here -> overwritten in place; else takes a free slot, or the request waits for one
//! flush:  eager: at once; watermark: oldest first, from `high` down to `low`
//! ```
//! A slot is free again when its page has been programmed. A page overwritten while it is being programmed takes
//! another slot, which needs nothing from the flash if the one before was whole; reads find the newest.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use ssdlab_core::counters;
use ssdlab_ftl::WriteContext;
use ssdlab_nand::backend::parallel::Requester;

use crate::setup::drive::{FlushPolicy, WriteBuffer};

counters! {
    /// What the write buffer did during the measured phase.
    pub struct BufferCounters {
        pages_accepted: "pages", "Pages that took a slot.";
        pages_overwritten: "pages", "Pages written that were still waiting in the buffer: never programmed.";
        pages_trimmed: "pages", "Pages trimmed while they were waiting in the buffer: never programmed.";
        pages_read: "pages", "Pages read from the buffer alone.";
        writes_stalled: "requests", "Writes that waited for a free slot.";
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Free,
    /// Not yet being programmed.
    Waiting,
    Programming,
}

/// A page in the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub lpn: u32,
    /// The request that wrote it last.
    pub requester: Requester,
    pub context: WriteContext,
    /// Whether all of it is here; otherwise the rest must be read before it is programmed.
    pub whole: bool,
    /// Which write of the host it holds, counted over all pages.
    pub version: u64,
    state: State,
    /// Pages accepted before.
    number: u64,
}

/// What became of a page offered.
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
    /// The newest slot of each page that has one.
    newest: FxHashMap<u32, u32>,
    /// Waiting slots with their numbers, oldest first; those that were trimmed are stale.
    order: VecDeque<(u32, u64)>,
    waiting: u32,
    accepted: u64,
    /// Whether each page accepted last is gone, programmed or trimmed, from the oldest on that is not.
    gone: VecDeque<bool>,
    /// Pages with a lower number are flushed under any policy.
    forced: u64,
    /// Whether a watermark policy is draining the buffer.
    draining: bool,
    /// Slots filled at which programming starts and ends.
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
            state: State::Free,
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
                    // Between equal marks, as those of a small buffer may be in whole pages, it would depend on how
                    // often somebody asks what is flushed.
                    Some((high, share(low).min(high - 1)))
                }
            },
            protected: options.protected,
            counters: BufferCounters::default(),
        }
    }

    /// Pages waiting to be programmed: what the flash does not know of yet.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Pages in the buffer, waiting or being programmed.
    pub fn held(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    /// What waits to be programmed, oldest first.
    pub fn unprogrammed(&self) -> impl Iterator<Item = &Held> {
        let waits = |held: &&Held, number| held.state == State::Waiting && held.number == number;
        self.order
            .iter()
            .map(|&(slot, number)| (&self.slots[slot as usize], number))
            .filter(move |(held, number)| waits(held, *number))
            .map(|(held, _)| held)
    }

    /// The newest data of a page, if it is here.
    #[inline]
    pub fn newest(&self, lpn: u32) -> Option<&Held> {
        self.newest.get(&lpn).map(|&slot| &self.slots[slot as usize])
    }

    /// Whether a page can be taken now.
    pub fn has_room_for(&self, lpn: u32) -> bool {
        !self.free.is_empty() || self.newest(lpn).is_some_and(|held| held.state == State::Waiting)
    }

    /// Takes a page of the host.
    pub fn accept(
        &mut self,
        lpn: u32,
        (requester, context): (Requester, WriteContext),
        mut whole: bool,
        version: u64,
    ) -> Accepted {
        if let Some(&slot) = self.newest.get(&lpn) {
            let held = &mut self.slots[slot as usize];
            if held.state == State::Waiting {
                held.whole |= whole;
                held.requester = requester;
                held.context = context;
                held.version = version;
                self.counters.pages_overwritten += 1;
                return Accepted::Overwritten;
            }
            // What is being programmed is still here: a part is laid over it, and nothing read back from flash.
            whole |= held.whole;
        }
        let Some(slot) = self.free.pop() else { return Accepted::Full };
        self.slots[slot as usize] =
            Held { lpn, requester, context, whole, version, state: State::Waiting, number: self.accepted };
        self.order.push_back((slot, self.accepted));
        self.newest.insert(lpn, slot);
        self.waiting += 1;
        self.accepted += 1;
        self.gone.push_back(false);
        self.counters.pages_accepted += 1;
        Accepted::Stored
    }

    /// The next slot to be programmed now, if there is one.
    pub fn flush_next(&mut self) -> Option<(u32, &Held)> {
        if let Some((high, low)) = self.marks {
            let filled = self.waiting;
            self.draining = if self.draining { filled > low } else { filled >= high };
        }
        while let Some(&(slot, number)) = self.order.front() {
            let held = &self.slots[slot as usize];
            if held.state != State::Waiting || held.number != number {
                self.order.pop_front();
                continue;
            }
            if self.marks.is_some() && !self.draining && number >= self.forced {
                return None;
            }
            self.order.pop_front();
            self.waiting -= 1;
            let held = &mut self.slots[slot as usize];
            held.state = State::Programming;
            return Some((slot, held));
        }
        None
    }

    /// A slot has been programmed.
    pub fn programmed(&mut self, slot: u32) {
        let Held { lpn, number, .. } = self.slots[slot as usize];
        self.release(slot, lpn, number);
    }

    /// Drops a page that is waiting; true if there was one.
    pub fn trim(&mut self, lpn: u32) -> bool {
        let Some(&slot) = self.newest.get(&lpn) else { return false };
        let Held { state, number, .. } = self.slots[slot as usize];
        if state == State::Waiting {
            self.waiting -= 1;
            self.counters.pages_trimmed += 1;
            self.release(slot, lpn, number);
            return true;
        }
        // It is being programmed. Reads now go to flash, where the page is trimmed.
        self.newest.remove(&lpn);
        false
    }

    fn release(&mut self, slot: u32, lpn: u32, number: u64) {
        self.slots[slot as usize].state = State::Free;
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

    /// Starts to make everything accepted so far safe; returns the mark to ask [`Self::is_safe`] for.
    pub fn force(&mut self) -> u64 {
        self.forced = self.accepted;
        self.accepted
    }

    /// Whether every page accepted before `mark` has been programmed.
    pub fn is_safe(&self, mark: u64) -> bool {
        self.oldest() >= mark
    }

    /// Number of the oldest page that is not gone, or of the next to come.
    fn oldest(&self) -> u64 {
        self.accepted - self.gone.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_somebody() -> (Requester, WriteContext) {
        Default::default()
    }

    fn buffer(pages: u32, flush: FlushPolicy) -> Buffer {
        Buffer::new(WriteBuffer { pages, flush, protected: false })
    }

    fn flushed(buffer: &mut Buffer) -> Vec<(u32, u32)> {
        std::iter::from_fn(|| buffer.flush_next().map(|(slot, held)| (slot, held.lpn))).collect()
    }

    #[test]
    fn pages_wait_between_the_watermarks_and_are_overwritten_there() {
        let mut buffer = buffer(4, FlushPolicy::Watermark { high: 0.75, low: 0.25 });
        assert_eq!(buffer.accept(7, by_somebody(), true, 0), Accepted::Stored);
        assert_eq!(buffer.accept(8, by_somebody(), true, 0), Accepted::Stored);
        assert_eq!(buffer.accept(7, by_somebody(), true, 0), Accepted::Overwritten);
        assert_eq!(flushed(&mut buffer), []);
        assert_eq!(buffer.accept(9, by_somebody(), true, 0), Accepted::Stored);
        // Three of four are waiting: down to one, oldest first.
        let programming = flushed(&mut buffer);
        assert_eq!(programming.iter().map(|&(_, lpn)| lpn).collect::<Vec<_>>(), [7, 8]);
        // A page being programmed is not overwritten in place.
        assert_eq!(buffer.accept(7, by_somebody(), true, 0), Accepted::Stored);
        assert_eq!(buffer.accept(5, by_somebody(), true, 0), Accepted::Full);
        buffer.programmed(programming[0].0);
        assert!(buffer.newest(7).is_some() && buffer.newest(8).is_some());
        assert_eq!(buffer.accept(5, by_somebody(), true, 0), Accepted::Stored);
        buffer.programmed(programming[1].0);
        assert!(buffer.newest(8).is_none());
    }

    #[test]
    fn a_part_is_laid_over_the_page_that_is_being_programmed() {
        let mut buffer = buffer(4, FlushPolicy::Eager);
        let mut programming = Vec::new();
        for (lpn, whole, comes_whole) in [(1, true, true), (1, false, true), (2, false, false), (2, false, false)] {
            buffer.accept(lpn, by_somebody(), whole, 0);
            let (slot, held) = buffer.flush_next().unwrap();
            assert_eq!((held.lpn, held.whole), (lpn, comes_whole));
            programming.push(slot);
        }
        // What has been programmed, or trimmed, is no longer here.
        programming.iter().for_each(|&slot| buffer.programmed(slot));
        buffer.accept(1, by_somebody(), false, 0);
        assert!(!buffer.flush_next().unwrap().1.whole);
        buffer.accept(3, by_somebody(), true, 0);
        buffer.flush_next();
        buffer.trim(3);
        buffer.accept(3, by_somebody(), false, 0);
        assert!(!buffer.flush_next().unwrap().1.whole);
    }

    #[test]
    fn a_buffer_drained_to_the_last_page_fills_up_again() {
        let mut buffer = buffer(4, FlushPolicy::Watermark { high: 0.5, low: 0.0 });
        for lpn in [1, 2, 3] {
            buffer.accept(lpn, by_somebody(), true, 0);
            let programming = flushed(&mut buffer);
            assert_eq!(programming.len(), if lpn == 2 { 2 } else { 0 });
            programming.iter().for_each(|&(slot, _)| buffer.programmed(slot));
        }
    }

    #[test]
    fn what_is_flushed_does_not_depend_on_how_often_that_is_asked() {
        let mut buffer = buffer(2, FlushPolicy::Watermark { high: 0.9, low: 0.5 });
        buffer.accept(1, by_somebody(), true, 0);
        buffer.accept(2, by_somebody(), true, 0);
        assert_eq!(flushed(&mut buffer).len(), 2);
        assert_eq!(flushed(&mut buffer), []);
    }

    #[test]
    fn a_flush_is_over_when_all_that_came_before_is_programmed() {
        let mut buffer = buffer(4, FlushPolicy::Watermark { high: 1.0, low: 0.0 });
        buffer.accept(1, by_somebody(), true, 0);
        buffer.accept(2, by_somebody(), true, 0);
        let mark = buffer.force();
        buffer.accept(3, by_somebody(), true, 0);
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
        buffer.accept(1, by_somebody(), true, 0);
        assert!(buffer.trim(1));
        assert!(!buffer.trim(1));
        buffer.accept(2, by_somebody(), true, 0);
        buffer.accept(3, by_somebody(), true, 0);
        assert_eq!(flushed(&mut buffer).len(), 2);
        assert_eq!((buffer.counters.pages_trimmed, buffer.waiting()), (1, 0));
    }
}
