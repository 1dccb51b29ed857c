//! Reads the requests of a replay in batches and reports the progress to the monitor.

use ssdlab_nand::backend::parallel::MOST_EVENTS;
use ssdlab_trace::{JobOutcome, Request, Source};

use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase, SoFar, Status, prepare_source};

/// Number of requests read from a source in one batch.
pub(crate) const BATCH: usize = 4096;
/// Number of bytes replayed between two progress reports. Reports once per batch would be too rare for large requests.
const REPORT_BYTES: u64 = BATCH as u64 * 4096;

/// A request, and the time when the host issued it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issued {
    pub request: Request,
    pub time_ns: u64,
}

/// The next action of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// The host issues a request.
    Issue(Issued),
    /// The host waits until this time, or for a completion.
    Wait(u64),
    /// The host has no more requests to issue.
    End,
}

/// Reads requests in the order of the trace.
pub(crate) struct TraceReader<'s> {
    source: &'s mut dyn Source,
    monitor: &'s mut dyn Monitor,
    phase: Phase,
    /// Number of requests that may still be read from the source.
    left: u64,
    batch: Vec<Request>,
    /// Position of the next request in the batch.
    next: usize,
    /// Arrival times of the first request that was read, and of the last request of the previous batch.
    earlier_arrivals_ns: Option<(u64, u64)>,
    bytes_since_report: u64,
    /// Number of flash events since the last report.
    events_since_report: u32,
    pub control: Control,
    /// Number of requests issued, in all phases.
    pub issued: u64,
}

impl<'s> TraceReader<'s> {
    /// Creates a reader of up to `limit` requests; `issued` is the number of requests issued before this replay.
    pub fn new(
        source: &'s mut dyn Source,
        monitor: &'s mut dyn Monitor,
        phase: Phase,
        limit: u64,
        issued: u64,
    ) -> Self {
        Self {
            source,
            monitor,
            phase,
            left: limit,
            batch: Vec::new(),
            next: 0,
            earlier_arrivals_ns: None,
            bytes_since_report: 0,
            events_since_report: 0,
            control: Control::Continue,
            issued,
        }
    }

    /// Returns the request that is `ahead` positions after the next request, if it has already been read.
    #[inline]
    pub fn ahead(&self, ahead: usize) -> Option<&Request> {
        self.batch.get(self.next + ahead)
    }

    /// Returns true if a progress report is due before the next request.
    #[inline]
    pub fn reports_next(&self) -> bool {
        let at_end = self.next >= self.batch.len() && !self.batch.is_empty();
        (at_end || self.bytes_since_report > REPORT_BYTES) && self.control == Control::Continue
    }

    /// If [`Monitor::watches`] is true, calls `results` with the number of issued requests and passes the result to the
    /// monitor.
    #[cold]
    pub fn watch(&mut self, results: impl FnOnce(u64) -> SoFar) {
        if self.monitor.watches() {
            self.monitor.watch(&results(self.issued));
        }
    }

    /// Returns the next request without taking it; `None` at the end.
    #[inline(always)]
    pub fn peek(&mut self) -> Result<Option<&Request>, SimError> {
        let is_read = self.next < self.batch.len();
        let goes_on = is_read && self.bytes_since_report <= REPORT_BYTES && self.control == Control::Continue;
        let has_next = goes_on || self.report_and_read(is_read)?;
        Ok(if has_next { self.batch.get(self.next) } else { None })
    }

    #[cold]
    fn report_and_read(&mut self, is_read: bool) -> Result<bool, SimError> {
        if self.control == Control::Continue && !self.batch.is_empty() {
            self.report();
        }
        if is_read || self.control == Control::Stop {
            return Ok(self.control == Control::Continue);
        }
        self.earlier_arrivals_ns = self.arrivals_ns();
        self.batch.clear();
        self.next = 0;
        let count = BATCH.min(usize::try_from(self.left).unwrap_or(BATCH));
        if count == 0 {
            return Ok(false);
        }
        self.control = prepare_source(self.source, self.monitor, self.issued)?;
        if self.control == Control::Stop {
            return Ok(false);
        }
        let count = self.source.fill(&mut self.batch, count)?;
        self.left = if count == 0 { 0 } else { self.left - count as u64 };
        Ok(count > 0)
    }

    /// Takes the next request of the trace and returns it.
    #[inline]
    pub fn take(&mut self) -> Request {
        let request = self.batch[self.next];
        self.next += 1;
        self.bytes_since_report += u64::from(request.bytes);
        request
    }

    /// Appends further requests of a job to `out`; appends nothing once the job has no more requests.
    pub fn read_job(&mut self, job: usize, out: &mut Vec<Request>) -> Result<(), SimError> {
        self.source.fill_job(job, out, BATCH)?;
        Ok(())
    }

    /// Counts a request that a job issued, and reports progress if that is due.
    pub fn job_issued(&mut self, request: &Request) {
        self.issued += 1;
        self.bytes_since_report += u64::from(request.bytes);
        if self.bytes_since_report > REPORT_BYTES {
            self.report();
        }
    }

    pub fn jobs_done(&mut self, outcomes: Vec<JobOutcome>) {
        self.source.jobs_done(outcomes);
    }

    /// Returns the trace times of the first and the last request that were taken from the source; `None` before the
    /// first request.
    pub fn arrivals_ns(&self) -> Option<(u64, u64)> {
        let taken = &self.batch[..self.next];
        let Some((first, last)) = taken.first().zip(taken.last()) else { return self.earlier_arrivals_ns };
        Some((self.earlier_arrivals_ns.map_or(first.time_ns, |(first_ns, _)| first_ns), last.time_ns))
    }

    fn report(&mut self) {
        let status = Status::replaying(self.phase, self.source.progress(), self.issued);
        if self.monitor.report(&status) == Control::Stop {
            self.control = Control::Stop;
        }
        (self.bytes_since_report, self.events_since_report) = (0, 0);
    }

    /// Counts flash events and returns true if a report is due. Flash events trigger reports too, because long requests
    /// may keep the flash busy for a long time while no other request is issued.
    #[inline(always)]
    pub fn worked(&mut self, events: u32) -> bool {
        self.events_since_report += events;
        self.events_since_report >= MOST_EVENTS
    }

    /// Reports progress to the monitor while requests are in flight.
    ///
    /// # Errors
    /// Fails if the monitor abandons the run.
    #[cold]
    pub fn report_in_flight(&mut self) -> Result<(), SimError> {
        self.report();
        if self.monitor.abandons() { Err(SimError::Abandoned) } else { Ok(()) }
    }
}
