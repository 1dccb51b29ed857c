//! The write buffer: written pages wait in RAM until they are programmed. A power loss loses the waiting pages.
//!
//! ```text
//! write:  a waiting page is overwritten in place; other pages take a free slot; if none is free, pages are programmed
//! drain:  from `high` pages on, the oldest pages are programmed until `low` are left; a flush programs all pages
//! ```
//! With power-loss protection, a flush does not program pages; see `protected.rs`.
//!
//! The rules are the same as for the write buffer of drives with event timing, with one exception. Programming takes no
//! time here; with event timing, a page keeps its slot while it is programmed.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use ssdlab_ftl::WriteContext;

/// Options of the write buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteBuffer {
    /// Capacity of the buffer in pages.
    pub pages: u32,
    /// Number of waiting pages at which programming starts, from 1 to `pages`. With `high` = 1 and `low` = 0, every
    /// page is programmed immediately.
    pub high: u32,
    /// Number of waiting pages at which programming stops again; less than `high`.
    pub low: u32,
    /// True if the contents survive a power loss, so that a flush need not wait.
    pub protected: bool,
}

impl WriteBuffer {
    /// True if a power loss may lose pages waiting in the buffer; false if every page is programmed immediately.
    pub fn forgets(&self) -> bool {
        self.high > 1 && !self.protected
    }
}

#[derive(Debug)]
pub(crate) struct BufferedPage {
    pub context: WriteContext,
    pub page: Box<[u8]>,
    /// Bytes written by the host: disjoint ranges in ascending order.
    pub written: Vec<Range<usize>>,
    /// True if a single write covered the whole page. If false, the rest of the page is read before the page is
    /// programmed, as in the timed drive.
    pub whole: bool,
    /// For a page written in part: version of the copy on flash that supplies the rest of the page. Only set for a
    /// protected buffer.
    pub base: Option<u64>,
    /// Serial number of the page: the number of pages that the buffer accepted before it.
    pub number: u64,
}

impl BufferedPage {
    /// Copies the bytes written by the host over an older version of the page.
    pub fn overlay(&self, page: &mut [u8]) {
        for part in &self.written {
            page[part.clone()].copy_from_slice(&self.page[part.clone()]);
        }
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.page[at..at + bytes.len()].copy_from_slice(bytes);
        let mut new = at..at + bytes.len();
        self.written.retain(|part| {
            let touches = part.start <= new.end && new.start <= part.end;
            if touches {
                new = part.start.min(new.start)..part.end.max(new.end);
            }
            !touches
        });
        let place = self.written.partition_point(|part| part.start < new.start);
        self.written.insert(place, new);
        self.whole |= bytes.len() == self.page.len();
    }
}

#[derive(Debug)]
pub(crate) struct Buffer {
    options: WriteBuffer,
    pages: BTreeMap<u32, BufferedPage>,
    /// Logical pages in the order in which the buffer accepted them, each with its [`BufferedPage::number`]. An entry
    /// is stale if its page was trimmed.
    order: VecDeque<(u32, u64)>,
    accepted: u64,
    draining: bool,
}

impl Buffer {
    pub fn new(options: WriteBuffer) -> Self {
        Self { options, pages: BTreeMap::new(), order: VecDeque::new(), accepted: 0, draining: false }
    }

    /// Creates a buffer with the pages of an earlier buffer, oldest first. All of them are due to be programmed.
    pub fn of(options: WriteBuffer, pages: Vec<(u32, BufferedPage)>) -> Self {
        let mut buffer = Self::new(options);
        for (lpn, held) in pages {
            buffer.order.push_back((lpn, buffer.accepted));
            buffer.pages.insert(lpn, BufferedPage { number: buffer.accepted, ..held });
            buffer.accepted += 1;
        }
        buffer
    }

    pub fn is_protected(&self) -> bool {
        self.options.protected
    }

    /// True if every page is programmed before its write request ends, so that a power loss loses nothing.
    pub fn passes_on(&self) -> bool {
        self.options.high == 1 && !self.options.protected && self.pages.is_empty()
    }

    pub fn held(&self, lpn: u32) -> Option<&BufferedPage> {
        self.pages.get(&lpn)
    }

    pub fn waiting(&self) -> impl Iterator<Item = (u32, &BufferedPage)> {
        self.pages.iter().map(|(&lpn, held)| (lpn, held))
    }

    pub fn len(&self) -> u32 {
        self.pages.len() as u32
    }

    pub fn has_room_for(&self, lpn: u32) -> bool {
        self.len() < self.options.pages || self.pages.contains_key(&lpn)
    }

    /// Stores the bytes that the host writes to a page. The buffer must already hold the page or have a free slot for
    /// it. See [`BufferedPage::base`] for `base`.
    pub fn accept(
        &mut self,
        (lpn, base): (u32, Option<u64>),
        context: WriteContext,
        at: usize,
        bytes: &[u8],
        page_bytes: usize,
    ) {
        let held = self.pages.entry(lpn).or_insert_with(|| {
            self.order.push_back((lpn, self.accepted));
            self.accepted += 1;
            let page = vec![0; page_bytes].into_boxed_slice();
            BufferedPage { context, page, written: Vec::new(), whole: false, base, number: self.accepted - 1 }
        });
        held.context = context;
        held.write(at, bytes);
    }

    /// Returns the page to program next, or None if no page is due. If `all` is true, every page is due. The page stays
    /// in the buffer until [`Self::forget`].
    pub fn next_due(&mut self, all: bool) -> Option<u32> {
        let filled = self.len();
        self.draining = if self.draining { filled > self.options.low } else { filled >= self.options.high };
        if !self.draining && !all {
            return None;
        }
        loop {
            let &(lpn, number) = self.order.front()?;
            if self.pages.get(&lpn).is_some_and(|held| held.number == number) {
                return Some(lpn);
            }
            self.order.pop_front();
        }
    }

    /// Removes a page that has been programmed or trimmed.
    pub fn forget(&mut self, lpn: u32) {
        self.pages.remove(&lpn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(pages: u32, high: u32, low: u32) -> Buffer {
        Buffer::new(WriteBuffer { pages, high, low, protected: false })
    }

    fn drain(buffer: &mut Buffer, all: bool) -> Vec<u32> {
        let mut drained = Vec::new();
        while let Some(lpn) = buffer.next_due(all) {
            buffer.forget(lpn);
            drained.push(lpn);
        }
        drained
    }

    #[test]
    fn pages_wait_between_the_marks_and_are_overwritten_there() {
        let mut buffer = buffer(4, 3, 1);
        for lpn in [7, 8, 7] {
            buffer.accept((lpn, None), WriteContext::default(), 0, &[lpn as u8; 8], 8);
            assert_eq!(drain(&mut buffer, false), []);
        }
        buffer.accept((9, None), WriteContext::default(), 0, &[9; 8], 8);
        assert_eq!(drain(&mut buffer, false), [7, 8]);
        assert_eq!(drain(&mut buffer, true), [9]);
    }

    #[test]
    fn a_page_trimmed_and_written_again_is_as_old_as_its_last_write() {
        let mut buffer = buffer(4, 4, 0);
        for lpn in [1, 2] {
            buffer.accept((lpn, None), WriteContext::default(), 0, &[0; 8], 8);
        }
        buffer.forget(1);
        buffer.accept((1, None), WriteContext::default(), 0, &[0; 8], 8);
        assert_eq!(drain(&mut buffer, true), [2, 1]);
    }

    /// Goal: the buffer knows which bytes of a page were written, for any order of writes. Method: writes random byte
    /// ranges, and compares the page with an array that records each byte.
    #[test]
    fn parts_of_a_page_add_up() {
        let mut rng = ssdlab_core::Rng::named(3, "parts");
        for _ in 0..500 {
            let mut buffer = buffer(1, 1, 0);
            let mut known = [None; 16];
            for number in 1..6_u8 {
                let at = rng.below(15) as usize;
                let end = at + 1 + rng.below(16 - at as u64) as usize;
                buffer.accept((0, None), WriteContext::default(), at, &vec![number; end - at], 16);
                known[at..end].fill(Some(number));
            }
            let mut page = [0; 16];
            buffer.held(0).expect("it was accepted").overlay(&mut page);
            assert_eq!(page, known.map(Option::unwrap_or_default));
        }
    }
}
