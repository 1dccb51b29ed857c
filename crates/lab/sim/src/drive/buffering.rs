//! Operation of the write buffer: accepts pages of writes, programs them, and serves reads and trims of buffered pages.

use std::collections::VecDeque;

use ssdlab_core::{Lpn, PageSize, Pages, Slab};
use ssdlab_ftl::Ftl;
use ssdlab_nand::backend::Flash;
use ssdlab_nand::backend::parallel::{JobKind, NEVER, Requester};
use ssdlab_trace::{Op, Request, flag};

use super::buffer::{Accepted, Buffer, BufferCounters};
use super::event_loop::Owner;
use super::pace::Pacer;
use super::parts::Timed;
use super::serial::LOOKAHEAD;
use super::stack::{Stack, context_of};
use super::{InFlightRequest, TimedDrive};
use crate::check::buffer::BufferOracle;
use crate::host::fit::runs;
use crate::observe::breakdown::Part;
use crate::run::error::SimError;
use crate::setup::drive::{Pace, WriteBuffer};

/// A run of consecutive pages of a write that waits for buffer space or a token.
#[derive(Clone, Copy, Debug)]
struct StalledWrite {
    index: u32,
    pages: Pages,
    /// Number of these pages that the buffer has already accepted.
    accepted: u32,
    /// True if no further pages of the write follow.
    is_last: bool,
}

/// A request that waits until all pages accepted earlier are programmed.
#[derive(Clone, Copy, Debug)]
struct WaitingFlush {
    mark: u64,
    index: u32,
    began_ns: u64,
}

/// The write buffer and the requests that wait for it.
pub(super) struct BufferStage {
    pub buffer: Buffer,
    oracle: Option<BufferOracle>,
    /// Limit on the rate at which the buffer accepts pages, if any.
    pace: Option<Pacer>,
    /// True if the oldest waiting write waits for a token or a credit, not for buffer space.
    is_paced: bool,
    /// Writes that wait for buffer space or a token, oldest first.
    stalled: VecDeque<StalledWrite>,
    /// Requests that wait for earlier pages to be programmed, oldest first.
    flushes: VecDeque<WaitingFlush>,
    /// True if pages that the latest waiting flush covers may still be in an incomplete program unit.
    incomplete: bool,
    /// Number of pages that were waiting to be programmed when measuring began. `held_at_start` also counts the pages
    /// that were being programmed at that time.
    waiting_at_start: u32,
    held_at_start: u32,
}

/// Results of the write buffer in the measured phase.
#[derive(Default)]
pub(super) struct BufferResults {
    pub counters: Option<BufferCounters>,
    /// Number of pages that the host wrote but the drive did not program; see [`crate::observe::measurement::OfDrive`].
    pub absorbed_pages: i64,
    pub buffered_pages: i64,
}

impl BufferStage {
    pub fn new(options: WriteBuffer, pace: Option<Pace>, checks: bool) -> Self {
        Self {
            buffer: Buffer::new(options),
            oracle: checks.then(BufferOracle::default),
            pace: pace.map(Pacer::new),
            is_paced: false,
            stalled: VecDeque::new(),
            flushes: VecDeque::new(),
            incomplete: false,
            waiting_at_start: 0,
            held_at_start: 0,
        }
    }

    pub fn start_measuring(&mut self) {
        self.buffer.counters = BufferCounters::default();
        self.waiting_at_start = self.buffer.waiting();
        self.held_at_start = self.buffer.held();
    }

    pub fn measured(&self) -> BufferResults {
        let counters = self.buffer.counters;
        let unwritten = i64::from(self.buffer.waiting()) - i64::from(self.waiting_at_start);
        let absorbed = counters.pages_overwritten + counters.pages_trimmed;
        BufferResults {
            counters: Some(counters),
            absorbed_pages: absorbed as i64 + unwritten,
            buffered_pages: i64::from(self.buffer.held()) - i64::from(self.held_at_start),
        }
    }

    /// Returns the number of pages in the buffer.
    pub fn held(&self) -> u32 {
        self.buffer.held()
    }

    /// Returns the number of page runs that wait for buffer space or a token.
    pub fn stalled(&self) -> usize {
        self.stalled.len()
    }

    /// Returns the time at which the oldest waiting write gets a token, if it waits for one, or [`NEVER`].
    pub fn next_ns(&self) -> u64 {
        self.pace.as_ref().filter(|_| self.is_paced).map_or(NEVER, Pacer::next_ns)
    }

    /// Accepts pages of the oldest writes. Returns a write once all of its arrived pages are in the buffer, with a flag
    /// that is true if no further pages follow. Returns `None` if no write waits, the buffer is full or no token is
    /// left.
    fn accept_write(&mut self, requests: &Slab<InFlightRequest>, page: PageSize, now_ns: u64) -> Option<(u32, bool)> {
        self.is_paced = false;
        while let Some(&StalledWrite { index, pages, accepted, is_last }) = self.stalled.front() {
            let in_flight = &requests[index];
            let writer = (in_flight.requester(), context_of(&in_flight.request, page));
            for number in accepted..pages.count {
                let is_part = (number == 0 && pages.head) || (number + 1 == pages.count && pages.tail);
                let lpn = pages.first + number;
                if !self.buffer.has_room_for(lpn) {
                    self.stalled[0].accepted = number;
                    return None;
                }
                if self.pace.as_mut().is_some_and(|pace| !pace.take(now_ns)) {
                    self.is_paced = true;
                    self.stalled[0].accepted = number;
                    return None;
                }
                let version = self.oracle.as_mut().map_or(0, |oracle| oracle.write(lpn));
                let accepted = self.buffer.accept(lpn, writer, !is_part, version);
                debug_assert_ne!(accepted, Accepted::Full, "the buffer had room for page {lpn}");
            }
            self.stalled.pop_front();
            // The pages of a request that wraps around the device form two runs.
            if self.stalled.front().is_none_or(|next| next.index != index) {
                return Some((index, is_last));
            }
        }
        None
    }

    /// Returns the oldest flush whose pages are all programmed, if any.
    fn safe_flush(&mut self) -> Option<WaitingFlush> {
        let is_safe = self.buffer.is_safe(self.flushes.front()?.mark);
        if is_safe { self.flushes.pop_front() } else { None }
    }

    /// Reads or trims the bytes `offset..end` of the drive, some of which may be in the buffer.
    pub fn access(&mut self, stack: &mut Stack<Timed>, request: &Request, offset: u64, end: u64) {
        let Self { buffer, oracle, .. } = self;
        if request.op == Op::Trim {
            for page in stack.page.covered(offset, end) {
                buffer.trim(page as u32);
                if let Some(oracle) = oracle {
                    oracle.trim(page as u32);
                }
            }
            return stack.trim(offset, end);
        }
        stack.host.pages_read += u64::from(stack.page.split(offset, end).count);
        // Reads from flash each run of pages that the buffer does not hold completely.
        let mut from = offset;
        let mut only_here = 0;
        for (page, part) in stack.page.parts(offset, end) {
            let lpn = page as u32;
            let held = buffer.newest(lpn);
            if let Some(oracle) = oracle {
                oracle.read(lpn, held.map(|held| held.version));
            }
            if held.is_some_and(|held| held.whole) {
                if from < part.start {
                    stack.read(from, part.start);
                }
                from = part.end;
                buffer.counters.pages_read += 1;
            } else if held.is_some() && stack.ftl.lookup(Lpn(lpn)).is_none() {
                only_here += 1;
            }
        }
        if from < end {
            stack.read(from, end);
        }
        // The FTL counted these reads as reads of unwritten pages, but the data is in the buffer.
        stack.host.unmapped_pages_read -= only_here;
        buffer.counters.pages_read += only_here;
    }
}

impl TimedDrive {
    fn buffer(&mut self) -> &mut BufferStage {
        self.buffer.as_mut().expect("the drive has a buffer")
    }

    /// Accepts a part of a write that has arrived; `is_last` is true if no further parts follow.
    pub(super) fn write_to_buffer(&mut self, index: u32, part: &Request, is_last: bool) -> Result<(), SimError> {
        let stage = self.buffer.as_mut().expect("the drive has a buffer");
        for (offset, end) in runs(part, self.stack.setup.capacity_bytes()) {
            let pages = self.stack.page.split(offset, end);
            self.stack.host.count_written(pages);
            stage.stalled.push_back(StalledWrite { index, pages, accepted: 0, is_last });
        }
        self.accept_pages();
        let stage = self.buffer.as_mut().expect("the drive has a buffer");
        // If this request is still waiting, its latest part, which has just been added, is the last entry in the queue.
        if stage.stalled.back().is_some_and(|stalled| stalled.index == index) {
            let has_stalled = std::mem::replace(&mut self.requests[index].has_stalled, true);
            stage.buffer.counters.writes_stalled += u64::from(!has_stalled);
            if !stage.is_paced {
                self.wait_for_flash(index);
            }
        }
        self.flush_buffer();
        self.stack.stop_at_violation()
    }

    /// Accepts pages of waiting writes while the buffer has room, and serves the writes whose pages are all accepted.
    fn accept_pages(&mut self) {
        let now_ns = self.now_ns();
        while let Some((index, is_last)) =
            self.buffer.as_mut().and_then(|stage| stage.accept_write(&self.requests, self.stack.page, now_ns))
        {
            self.waited_for_flash(index);
            // Waiting for a token counts as controller time, because the controller paces writes.
            self.charge(index, Part::Controller);
            if !is_last {
                continue;
            }
            if self.requests[index].request.flags & (flag::FUA | flag::PREFLUSH) != 0 {
                self.make_safe(index);
            } else {
                self.served(index, now_ns, 1);
            }
        }
    }

    /// Accepts pages of writes that waited for a token.
    pub(super) fn advance_pace(&mut self) -> Result<(), SimError> {
        if self.buffer.as_ref().is_some_and(|stage| stage.next_ns() <= self.now_ns()) {
            self.accept_pages();
            self.flush_buffer();
        }
        self.stack.stop_at_violation()
    }

    /// Grants write credits for the pages that garbage collection has freed.
    pub(super) fn give_credits(&mut self, pages: i64) {
        if let Some(BufferStage { pace: Some(Pacer::Credits(credits)), .. }) = &mut self.buffer {
            credits.give(pages);
        }
    }

    /// Accepts pages of writes that waited for a credit, after collection has begun its next steps. Returns true if all
    /// pages of a write were accepted.
    pub(super) fn pace_by_collection(&mut self) -> bool {
        let is_collecting = self.collection.works_in_background();
        let Some(BufferStage { pace: Some(Pacer::Credits(credits)), is_paced, stalled, .. }) = &mut self.buffer else {
            return false;
        };
        credits.set_collecting(is_collecting);
        if !*is_paced {
            return false;
        }
        let before = stalled.len();
        self.accept_pages();
        self.flush_buffer();
        self.buffer().stalled.len() < before
    }

    /// Serves a request once all pages accepted so far are programmed. If the buffer survives a power loss, serves the
    /// request immediately.
    pub(super) fn make_safe(&mut self, index: u32) {
        let began_ns = self.now_ns();
        let BufferStage { buffer, flushes, incomplete, .. } = self.buffer();
        let mark = if buffer.protected { 0 } else { buffer.force() };
        if buffer.is_safe(mark) {
            self.served(index, began_ns, 1);
        } else {
            flushes.push_back(WaitingFlush { mark, index, began_ns });
            *incomplete = true;
        }
        self.flush_buffer();
    }

    /// Frees a slot of the write buffer after its page was programmed.
    pub(super) fn slot_programmed(&mut self, slot: u32) {
        self.buffer().buffer.programmed(slot);
        self.page_left_buffer();
    }

    /// Continues the requests that waited for a page to leave the buffer.
    pub(super) fn page_left_buffer(&mut self) {
        while let Some(WaitingFlush { index, began_ns, .. }) = self.buffer().safe_flush() {
            self.charge(index, Part::Flush);
            self.served(index, began_ns, 1);
        }
        self.accept_pages();
    }

    /// Programs pages of the buffer according to its policy.
    pub(super) fn flush_buffer(&mut self) {
        let Some(BufferStage { buffer, oracle, pace, .. }) = &mut self.buffer else { return };
        while self.stack.sinks.flash.under_way() < self.most_under_way
            && let Some((slot, held)) = buffer.flush_next(self.stack.sinks.flash.gathered_for_host())
        {
            if let Some(lpn) = buffer.ahead(LOOKAHEAD) {
                self.stack.ftl.prefetch(Lpn(lpn));
            }
            if let Some(lpn) = buffer.ahead(LOOKAHEAD / 2) {
                self.stack.ftl.prefetch_copy(Lpn(lpn));
            }
            if let Some(oracle) = oracle {
                oracle.flush(held.lpn, held.version);
            }
            self.front.page_passes_dram(self.stack.sinks.flash.now_ns());
            if let Some(cache) = &mut self.read_cache {
                cache.drop_page(held.lpn);
            }
            self.stack.sinks.flash.submit(Owner::Buffer(slot).number(), held.requester, JobKind::BufferedPage);
            let credits = if let Some(Pacer::Credits(credits)) = pace { Some(credits) } else { None };
            let before = credits.is_some().then(|| self.stack.sinks.flash.counts());
            self.stack.write(held.context, Pages { first: held.lpn, count: 1, head: !held.whole, tail: false });
            if let (Some(credits), Some(before)) = (credits, before) {
                credits.give(self.collection.freed_by(&(self.stack.sinks.flash.counts() - before)));
            }
            let left = self.stack.sinks.flash.submitted();
            debug_assert!(left > 0, "every written page was programmed");
        }
        if let Some(BufferStage { buffer, incomplete, .. }) = &mut self.buffer
            && *incomplete
            && buffer.has_forced_all()
        {
            *incomplete = false;
            if self.stack.sinks.flash.gathered_for_host() > 0 {
                self.complete_units(false);
            }
        }
    }

    /// Pads the incomplete program units that contain host pages, or all incomplete program units if `everything` is
    /// true.
    pub(super) fn complete_units(&mut self, everything: bool) {
        let kind = JobKind::BufferedPage;
        self.stack.sinks.flash.submit(Owner::Padding.number(), Requester::default(), kind);
        self.stack.ftl.complete_units(everything, &mut self.stack.sinks);
        self.stack.sinks.flash.submitted();
    }

    /// Returns an error if the oracle that checks the buffer found a violation.
    pub(super) fn check_buffer(&self) -> Result<(), SimError> {
        let oracle = self.buffer.as_ref().and_then(|stage| stage.oracle.as_ref());
        match oracle.and_then(|oracle| oracle.violation.clone()) {
            Some(violation) => Err(SimError::Check { number: self.stack.requests, violation }),
            None => Ok(()),
        }
    }
}
