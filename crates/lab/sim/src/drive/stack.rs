//! The stack of FTL and flash; it converts host requests to page operations.

use ssdlab_core::{Lpn, PageSize, Pages};
use ssdlab_ftl::{Ftl, WriteContext};
use ssdlab_nand::backend::Flash;
use ssdlab_nand::{Cause, Timing};
use ssdlab_trace::{Op, Request, flag};

use crate::check::data_checker::Checker;
use crate::drive::parts::{Parts, WithFlash};
use crate::drive::sinks::Sinks;
use crate::host::fit::runs;
use crate::observe::concentration::Concentration;
use crate::observe::meter::Meter;
use crate::observe::requests::HostCounters;
use crate::run::error::SimError;
use crate::setup::{Clock, Setup};

/// An FTL on its flash, with the host counters.
pub(crate) struct Stack<P: Parts> {
    pub setup: Setup,
    pub page: PageSize,
    /// True if page reads transfer only the bytes that the host requested.
    partial_read: bool,
    pub ftl: P::Ftl,
    pub sinks: Sinks<P::Flash, P::Checker, P::Meter>,
    /// Number of requests served, in all phases.
    pub requests: u64,
    pub host: HostCounters,
    /// Meter for the concentration of writes on few pages; `None` if it is not measured.
    pub concentration: Option<Box<Concentration>>,
}

impl<P: Parts> Stack<P> {
    pub fn new(setup: &Setup, ftl: P::Ftl, sinks: Sinks<P::Flash, P::Checker, P::Meter>) -> Self {
        let page = PageSize::new(setup.geometry.page_bytes);
        let partial_read = match setup.clock {
            Clock::Count => false,
            Clock::Serial(Timing { partial_read, .. }) | Clock::Event(Timing { partial_read, .. }, _) => partial_read,
        };
        Self {
            setup: setup.clone(),
            page,
            partial_read,
            ftl,
            sinks,
            requests: 0,
            host: HostCounters::default(),
            concentration: None,
        }
    }

    /// Replaces parts of the drive by others that continue from the same state.
    pub fn with_parts<F, D, C, M>(
        self,
        replace: impl FnOnce(P::Ftl, Sinks<P::Flash, P::Checker, P::Meter>) -> (F, Sinks<D, C, M>),
    ) -> Stack<(F, D, C, M)>
    where
        (F, D, C, M): Parts<Ftl = F, Flash = D, Checker = C, Meter = M>,
    {
        let Self { setup, page, partial_read, ftl, sinks, requests, host, concentration } = self;
        let (ftl, sinks) = replace(ftl, sinks);
        Stack { setup, page, partial_read, ftl, sinks, requests, host, concentration }
    }

    /// Replaces the flash model of the drive by another that continues from the same state.
    pub fn with_flash<D: Flash + Send + 'static>(
        self,
        flash: impl FnOnce(&P::Ftl, P::Flash) -> D,
    ) -> Stack<WithFlash<P, D>> {
        self.with_parts(|ftl, sinks| {
            let flash = flash(&ftl, sinks.flash);
            (ftl, Sinks::new(flash, sinks.checker, sinks.meter))
        })
    }

    /// Prefetches the map entry of an upcoming request.
    #[inline(always)]
    pub fn prefetch(&mut self, request: &Request) {
        self.ftl.prefetch(Lpn(self.page.page_of(request.offset) as u32));
    }

    /// Counts a request and calls `serve` for each contiguous range of bytes that the request covers.
    #[inline]
    pub fn take(&mut self, request: &Request, mut serve: impl FnMut(&mut Self, u64, u64)) {
        self.host.count(request.op, request.bytes.into());
        if request.op != Op::Flush {
            runs(request, self.setup.capacity_bytes()).for_each(|(offset, end)| serve(self, offset, end));
        }
    }

    /// Serves a request that may wrap around the device. This function is not inlined, because such requests are rare.
    #[inline(never)]
    pub fn take_all(&mut self, request: &Request) {
        self.take(request, |stack, offset, end| stack.access(request, offset, end));
    }

    /// Serves the bytes `offset..end` of a request.
    #[inline(always)]
    pub fn access(&mut self, request: &Request, offset: u64, end: u64) {
        match request.op {
            Op::Read => {
                let pages = self.page.split(offset, end);
                self.host.pages_read += u64::from(pages.count);
                self.read(offset, end);
            }
            Op::Write => {
                let pages = self.page.split(offset, end);
                self.host.count_written(pages);
                self.write(context_of(request, self.page), pages);
            }
            Op::Trim => self.trim(offset, end),
            Op::Flush => {}
        }
    }

    /// Reads the bytes `offset..end` from flash.
    #[inline]
    pub fn read(&mut self, offset: u64, end: u64) {
        let Pages { first, count, .. } = self.page.split(offset, end);
        let unmapped = if self.partial_read {
            self.read_parts(offset, end)
        } else {
            self.ftl.read(Lpn(first), count, Cause::Host, &mut self.sinks)
        };
        self.host.unmapped_pages_read += u64::from(unmapped);
        self.verify_read(Lpn(first), count);
    }

    /// Writes pages to flash. If only a part of a page is written, the rest of the page is read first.
    #[inline(always)]
    pub fn write(&mut self, context: WriteContext, pages: Pages) {
        let Pages { first, count, head, tail } = pages;
        if head {
            self.read_rest(Lpn(first));
        }
        if tail {
            self.read_rest(Lpn(first + count - 1));
        }
        if let Some(concentration) = &mut self.concentration {
            concentration.written(first, count);
        }
        if let Some(checker) = self.sinks.checker.get_mut() {
            checker.expect_write(Lpn(first), count);
        }
        self.sinks.meter.begin_write(context.stream, Lpn(first), count);
        self.ftl.write(Lpn(first), count, context, &mut self.sinks);
        self.sinks.meter.end_write();
    }

    /// Trims the pages fully inside the range; partly covered pages keep their data.
    pub fn trim(&mut self, offset: u64, end: u64) {
        let covered = self.page.covered(offset, end);
        let (first, count) = (covered.start as u32, (covered.end - covered.start) as u32);
        self.host.pages_trimmed += u64::from(count);
        if let Some(checker) = self.sinks.checker.get_mut() {
            checker.expect_trim(Lpn(first), count);
        }
        self.ftl.trim(Lpn(first), count, &mut self.sinks);
    }

    /// Reads the bytes `offset..end` page by page, and transfers only these bytes.
    fn read_parts(&mut self, offset: u64, end: u64) -> u32 {
        let mut unmapped = 0;
        for (page, part) in self.page.parts(offset, end) {
            self.sinks.read_bytes = Some((part.end - part.start) as u32);
            unmapped += self.ftl.read(Lpn(page as u32), 1, Cause::Host, &mut self.sinks);
        }
        self.sinks.read_bytes = None;
        unmapped
    }

    /// Reads a page before the host overwrites a part of it.
    fn read_rest(&mut self, lpn: Lpn) {
        self.ftl.read(lpn, 1, Cause::ReadModifyWrite, &mut self.sinks);
        self.verify_read(lpn, 1);
    }

    #[inline(always)]
    fn verify_read(&mut self, lpn: Lpn, count: u32) {
        if let Some(checker) = self.sinks.checker.get_mut() {
            checker.verify_read(&self.ftl, lpn, count);
        }
    }

    #[inline(always)]
    pub fn stop_at_violation(&self) -> Result<(), SimError> {
        let Some(checker) = self.sinks.checker.get() else { return Ok(()) };
        let violation = checker.violation().or_else(|| self.sinks.flash.violation()).map(str::to_owned);
        match violation.or_else(|| checker.check_parity(&self.sinks.flash.counts())) {
            Some(violation) => Err(SimError::Check { number: self.requests, violation }),
            None => Ok(()),
        }
    }
}

/// Returns the hints that the FTL receives with a write request. Stream numbers serve as placement identifiers, because
/// traces have no such identifiers.
#[inline(always)]
pub(crate) fn context_of(request: &Request, page: PageSize) -> WriteContext {
    let sync = request.flags & (flag::SYNC | flag::FUA) != 0;
    let request_pages = page.split(request.offset, request.end()).count;
    WriteContext { stream: request.stream, placement: request.stream, sync, request_pages }
}
