//! What a workload is like, for whoever designs a cache or a map for it: where, how far from one request to the next,
//! how large, how much at a time, in which order, when. One pass, in at most some 240 MiB however long the trace.
//!
//! Everything is counted exactly but for three bounds. Addresses beyond 1,048,576 ranges make the ranges of the table
//! wider. Deviations beyond 65,535 ranges and sizes beyond 65,536 sectors are counted in steps 1.6 % wide. Pages beyond
//! 3,145,728 groups of 16 neighbours are sampled by hash, and their number is then an estimate ([`WorkingSet`]).
//!
//! Two bytes for each page touched hold the window of its last touch. That is enough to count the distinct pages of
//! each window exactly while windows are still joined by twos.

mod alignment;
mod arrivals;
mod ranges;
mod runs;
mod tally;
mod windows;
mod working_set;

use ssdlab_core::LatencyHistogram;

use crate::{Op, Request, TraceError};
use alignment::Alignment;
pub use alignment::AlignmentCount;
use arrivals::Arrivals;
pub use arrivals::Dispersion;
use ranges::Ranges;
use runs::Runs;
pub use runs::SequentialRuns;
use tally::Tally;
pub use tally::{Step, steps};
pub use windows::WindowFigures;
use windows::Windows;
pub use working_set::WorkingSet;

/// Operations that address something: read, write, trim.
const KINDS: usize = 3;
/// Requests by operation: read, write, trim.
pub type ByKind = [u64; KINDS];

const SECTOR: u64 = 512;
/// Smallest and largest range, bytes.
const RANGE_BYTES: std::ops::RangeInclusive<u64> = SECTOR..=1 << 40;
/// Deviations told apart exactly, in ranges either way.
const DEVIATIONS: u64 = 1 << 16;
/// Sizes told apart exactly, in sectors.
const SIZES: u64 = (1 << 16) + 1;

/// Requests from the look at where a page's state is to the load of that state, and from there to its use: the states
/// of a large working set are in no cache.
const AHEAD: usize = 8;

/// Analysis of the requests added so far.
#[derive(Clone, Debug)]
pub struct Analysis {
    requests: [u64; 4],
    bytes: [u64; 4],
    times: Option<(u64, u64)>,
    /// Lowest first byte and highest end.
    extent: Option<(u64, u64)>,
    range_bytes: u64,
    ranges: Ranges,
    /// Range in which the previous request began.
    previous_range: Option<u64>,
    ahead: Tally,
    behind: Tally,
    sizes: Tally,
    alignment: Alignment,
    runs: Runs,
    arrivals: Arrivals,
    windows: Windows,
}

impl Analysis {
    /// Nothing yet; addresses are counted in ranges of so many bytes.
    ///
    /// # Errors
    ///
    /// Ranges below 512 bytes or above 1 TiB.
    pub fn new(range_bytes: u64) -> Result<Self, TraceError> {
        if !RANGE_BYTES.contains(&range_bytes) {
            let why = format!("a range of {range_bytes} bytes is out of range: 512B to 1TiB");
            return Err(TraceError::Analysis(why));
        }
        Ok(Self {
            requests: [0; 4],
            bytes: [0; 4],
            times: None,
            extent: None,
            range_bytes,
            ranges: Ranges::default(),
            previous_range: None,
            ahead: Tally::new(DEVIATIONS),
            behind: Tally::new(DEVIATIONS),
            sizes: Tally::new(SIZES),
            alignment: Alignment::default(),
            runs: Runs::default(),
            arrivals: Arrivals::default(),
            windows: Windows::new(),
        })
    }

    /// Adds requests in replay order.
    pub fn add(&mut self, requests: &[Request]) {
        for (index, request) in requests.iter().enumerate() {
            self.windows.look_ahead([2 * AHEAD, AHEAD].map(|ahead| requests.get(index + ahead)));
            self.one(request);
        }
    }

    fn one(&mut self, request: &Request) {
        let kind = request.op as usize;
        self.times = Some((self.times.map_or(request.time_ns, |(first, _)| first), request.time_ns));
        self.requests[kind] += 1;
        self.bytes[kind] += u64::from(request.bytes);
        self.arrivals.add(request);
        self.windows.add(request);
        if request.op == Op::Flush {
            return;
        }
        let (offset, end) = (request.offset, request.end_or_last());
        self.extent = Some(self.extent.map_or((offset, end), |(low, high)| (low.min(offset), high.max(end))));
        let range = offset / self.range_bytes;
        self.ranges.add(range, kind);
        if let Some(previous) = self.previous_range {
            if range >= previous {
                self.ahead.add(range - previous, kind);
            } else {
                self.behind.add(previous - range, kind);
            }
        }
        self.previous_range = Some(range);
        self.sizes.add(u64::from(request.bytes).div_ceil(SECTOR), kind);
        self.alignment.add(request);
        self.runs.add(request);
    }

    /// Requests by [`Op`] number.
    pub fn requests(&self) -> [u64; 4] {
        self.requests
    }

    /// Bytes by [`Op`] number.
    pub fn bytes(&self) -> [u64; 4] {
        self.bytes
    }

    /// From the first to the last request, in ns.
    pub fn duration_ns(&self) -> u64 {
        self.times.map_or(0, |(first, last)| last.saturating_sub(first))
    }

    /// Lowest first byte addressed, and the first byte after the highest; none if nothing is addressed.
    pub fn extent(&self) -> Option<(u64, u64)> {
        self.extent
    }

    /// Bytes of a range as asked, and as [`Self::ranges`] counts: more where the trace has more than 1,048,576 of them.
    pub fn range_bytes(&self) -> (u64, u64) {
        (self.range_bytes, self.range_bytes << self.ranges.merged())
    }

    /// Requests that begin in each range, by its number; ranges without any are left out.
    pub fn ranges(&self) -> Vec<(u64, ByKind)> {
        self.ranges.rows()
    }

    /// How far requests begin from where the one before began: ranges from the first up to but without the second,
    /// with the requests by their own kind. The request before is that of any kind; the first has none.
    pub fn deviations(&self) -> Vec<(i64, i64, ByKind)> {
        let behind = self.behind.rows().into_iter().rev();
        let behind = behind.map(|step| (1 - step.upper as i64, 1 - step.lower as i64, step.requests));
        behind.chain(self.ahead.rows().into_iter().map(|s| (s.lower as i64, s.upper as i64, s.requests))).collect()
    }

    /// Requests by size in sectors of 512 bytes, a sector in part counting whole.
    pub fn sizes(&self) -> Vec<Step> {
        self.sizes.rows()
    }

    /// Requests by the largest power of two that their address, and both address and size, are multiples of.
    pub fn alignments(&self) -> Vec<AlignmentCount> {
        self.alignment.rows()
    }

    /// How requests follow one another, by kind.
    pub fn runs(&self) -> [SequentialRuns; KINDS] {
        self.runs.figures()
    }

    /// Named streams that made requests with an address.
    pub fn streams(&self) -> u64 {
        self.runs.streams()
    }

    /// Times between requests: of any kind, then of each [`Op`] to the one before of the same operation.
    pub fn gaps(&self) -> [&LatencyHistogram; 5] {
        self.arrivals.gaps()
    }

    /// Index of dispersion of the arrivals at several scales of time.
    pub fn dispersion(&self) -> Vec<Dispersion> {
        self.arrivals.dispersion()
    }

    /// The trace in windows of equal numbers of requests, the last one shorter: a request each while there are at most
    /// 512, and from then on twice as many whenever there are 512 windows.
    pub fn windows(&self) -> (u64, Vec<WindowFigures>) {
        (self.windows.width(), self.windows.figures())
    }

    /// Pages touched.
    pub fn working_set(&self) -> &WorkingSet {
        self.windows.working_set()
    }
}

impl Request {
    /// First byte after the request, or the last address there is.
    fn end_or_last(&self) -> u64 {
        self.offset.saturating_add(self.bytes.into())
    }
}

#[cfg(test)]
mod tests;
