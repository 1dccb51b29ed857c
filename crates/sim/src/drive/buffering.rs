//! Requests and the write buffer: writes accepted into it, pages programmed from it, reads and trims that look into it.

use ssdlab_core::{Lpn, Pages};
use ssdlab_ftl::Ftl;
use ssdlab_nand::backend::parallel::JobKind;
use ssdlab_trace::{Op, Request, flag};

use super::buffer::{Accepted, Buffer};
use super::parts::{Parts, TimedParts};
use super::stack::{Stack, context_of};
use super::{BUFFERED, TimedDrive};
use crate::check::buffer::BufferOracle;
use crate::host::issue::HostReplay;
use crate::observe::breakdown::Part;
use crate::run::error::SimError;

/// A write that waits for room in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stalled {
    flight: u32,
    pages: Pages,
    next: u32,
}

/// A request that waits until everything before a mark is safe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsafe {
    mark: u64,
    flight: u32,
    /// When it began to.
    began_ns: u64,
}

impl<P: TimedParts> TimedDrive<P> {
    /// A write into the buffer; it waits there for room.
    pub(super) fn submit_to_buffer(
        &mut self,
        index: u32,
        request: &Request,
        issuer: &mut HostReplay<'_>,
    ) -> Result<(), SimError> {
        let stalled = &mut self.stalled;
        self.stack.take(request, |stack, offset, end| {
            let pages = stack.page.split(offset, end);
            stack.host.count_written(pages);
            stalled.push_back(Stalled { flight: index, pages, next: 0 });
        });
        self.accept_pages(issuer);
        if self.stalled.iter().any(|stalled| stalled.flight == index) {
            self.wait_for_flash(index);
            let buffer = self.buffer.as_mut().expect("writes stall before a buffer");
            buffer.counters.writes_stalled += 1;
        }
        self.go_on_flushing();
        self.stack.stop_at_violation()
    }

    /// Takes pages of writes into the buffer while there is room.
    pub(super) fn accept_pages(&mut self, issuer: &mut HostReplay<'_>) {
        while let Some(&Stalled { flight, pages, next }) = self.stalled.front() {
            let buffer = self.buffer.as_mut().expect("writes stall before a buffer");
            let (request, requester) = (self.flights[flight].request, self.flights[flight].requester());
            let context = context_of(&request);
            for page in next..pages.count {
                let part = (page == 0 && pages.head) || (page + 1 == pages.count && pages.tail);
                let lpn = pages.first + page;
                let has_room = buffer.has_room_for(lpn);
                if !has_room {
                    self.stalled[0].next = page;
                    return;
                }
                let version = self.oracle.as_mut().map_or(0, |oracle| oracle.write(lpn));
                let accepted = buffer.accept(lpn, (requester, context), !part, version);
                debug_assert_ne!(accepted, Accepted::Full, "there was room for page {lpn}");
            }
            self.stalled.pop_front();
            // A request that wraps around the device has a second run of pages.
            if self.stalled.front().is_none_or(|next| next.flight != flight) {
                self.waited_for_flash(flight);
                // Work on it begins where it has found room.
                if request.flags & (flag::FUA | flag::PREFLUSH) != 0 {
                    self.make_safe(flight, issuer);
                } else {
                    self.served(flight, self.now_ns(), issuer);
                }
            }
        }
    }

    /// Completes a request when everything accepted so far has been programmed, unless the buffer is safe by itself.
    pub(super) fn make_safe(&mut self, index: u32, issuer: &mut HostReplay<'_>) {
        let began_ns = self.now_ns();
        let buffer = self.buffer.as_mut().expect("only a buffer is made safe");
        let mark = if buffer.protected { 0 } else { buffer.force() };
        if buffer.is_safe(mark) {
            self.served(index, began_ns, issuer);
        } else {
            self.unsafe_flights.push_back(Unsafe { mark, flight: index, began_ns });
        }
        self.go_on_flushing();
    }

    /// Resumes the requests that waited for a page to leave the buffer.
    pub(super) fn page_left_buffer(&mut self, issuer: &mut HostReplay<'_>) {
        while let Some(&Unsafe { mark, flight, began_ns }) = self.unsafe_flights.front() {
            if !self.buffer.as_ref().is_some_and(|buffer| buffer.is_safe(mark)) {
                break;
            }
            self.unsafe_flights.pop_front();
            self.charge(flight, Part::Flush);
            self.served(flight, began_ns, issuer);
        }
        self.accept_pages(issuer);
    }

    /// Programs pages of the buffer, if there is one, as its policy says.
    #[inline(always)]
    pub(super) fn go_on_flushing(&mut self) {
        if self.buffer.is_some() {
            self.flush_pages();
        }
    }

    fn flush_pages(&mut self) {
        let Some(buffer) = &mut self.buffer else { return };
        while self.stack.sinks.flash.under_way() < self.most_under_way
            && let Some((slot, held)) = buffer.flush_next()
        {
            if let Some(oracle) = &mut self.oracle {
                oracle.flush(held.lpn, held.version);
            }
            self.stack.sinks.flash.submit(BUFFERED | slot, held.requester, JobKind::BufferedPage);
            self.stack.write(held.context, Pages { first: held.lpn, count: 1, head: !held.whole, tail: false });
            let left = self.stack.sinks.flash.submitted();
            debug_assert!(left > 0, "a page written is a page programmed");
        }
    }
}

/// A read or trim of pages some of which may be in the buffer.
pub(super) fn access_behind<P: Parts>(
    stack: &mut Stack<P>,
    buffer: &mut Buffer,
    oracle: &mut Option<BufferOracle>,
    request: &Request,
    offset: u64,
    end: u64,
) {
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
    // Reads what is not here, in runs as long as possible.
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
    // They were written, though not to the flash: all that there is of them is in the buffer.
    stack.host.unmapped_pages_read -= only_here;
    buffer.counters.pages_read += only_here;
}
