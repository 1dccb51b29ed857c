//! Workload analysis for the design of caches and address maps, in one pass: positions, distances between requests,
//! sizes, working set, sequentiality, arrivals.
//!
//! Memory use is at most about 240 MiB, however long the trace is. All counts are exact, with three limits:
//!
//! - Above 1,048,576 address ranges, the ranges get wider.
//! - Distances above 65,535 ranges and sizes above 65,536 sectors are counted in steps of 1.6 %.
//! - Above 3,145,728 groups of 16 neighbouring pages, pages are sampled by hash, and their number is an estimate
//!   ([`WorkingSet`]).
//!
//! Each touched page stores the window of its last touch in two bytes. This suffices to count the distinct pages of
//! each window exactly, even though windows are later merged in pairs.

mod alignment;
mod arrivals;
mod by_kind;
mod ranges;
mod runs;
mod tally;
mod windows;
mod working_set;

use ssdlab_core::LatencyHistogram;

use crate::request::SECTOR;
use crate::{Op, Request, TraceError};
use alignment::Alignment;
pub use alignment::AlignmentCount;
use arrivals::Arrivals;
pub use arrivals::Dispersion;
pub use by_kind::ByKind;
use by_kind::KINDS;
use ranges::Ranges;
use runs::Runs;
pub use runs::SequentialRuns;
use tally::Tally;
pub use tally::{Step, steps};
pub use windows::WindowFigures;
use windows::Windows;
pub use working_set::WorkingSet;

/// Smallest and largest size of an address range, in bytes.
const RANGE_BYTES: std::ops::RangeInclusive<u64> = SECTOR..=1 << 40;
/// Distances of fewer than this many address ranges, forward or backward, are counted exactly.
const DEVIATIONS: u64 = 1 << 16;
/// Request sizes of fewer than this many sectors are counted exactly.
const SIZES: u64 = (1 << 16) + 1;

/// Prefetch distance of page states, in requests; hash slots are prefetched twice as far ahead. If the working set is
/// large, the page states do not fit into any CPU cache.
const AHEAD: usize = 8;

/// Analysis of the requests added so far.
#[derive(Clone, Debug)]
pub struct Analysis {
    requests: [u64; 4],
    bytes: [u64; 4],
    times: Option<(u64, u64)>,
    /// Lowest start address and highest end address of all requests.
    extent: Option<(u64, u64)>,
    range_bytes: u64,
    ranges: Ranges,
    /// Address range in which the previous request began.
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
    /// Creates an empty analysis that counts addresses in ranges of `range_bytes`. Fails unless this is between 512 B
    /// and 1 TiB.
    pub fn new(range_bytes: u64) -> Result<Self, TraceError> {
        if !RANGE_BYTES.contains(&range_bytes) {
            let why = format!("range size {range_bytes} bytes is invalid; use 512B to 1TiB");
            return Err(TraceError::Invalid(why));
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
            self.add_one(request);
        }
    }

    fn add_one(&mut self, request: &Request) {
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

    /// Returns the number of requests of each operation, indexed by [`Op`] number.
    pub fn requests(&self) -> [u64; 4] {
        self.requests
    }

    /// Returns the bytes requested by each operation, indexed by [`Op`] number.
    pub fn bytes(&self) -> [u64; 4] {
        self.bytes
    }

    /// Returns the time from the first to the last request, in ns.
    pub fn duration_ns(&self) -> u64 {
        self.times.map_or(0, |(first, last)| last.saturating_sub(first))
    }

    /// Returns the lowest address and the first byte after the highest; `None` if no request has an address.
    pub fn extent(&self) -> Option<(u64, u64)> {
        self.extent
    }

    /// Returns the range size that was requested, and the range size used by [`Self::ranges`], both in bytes. The
    /// latter is larger if the trace spans more than 1,048,576 ranges.
    pub fn range_bytes(&self) -> (u64, u64) {
        (self.range_bytes, self.range_bytes << self.ranges.merged)
    }

    /// Returns the address ranges in which requests begin: the number of each range and its request counts by
    /// operation.
    pub fn ranges(&self) -> Vec<(u64, ByKind)> {
        self.ranges.rows()
    }

    /// Returns a histogram of the distances between the start addresses of consecutive requests, whatever their
    /// operations. Each entry is (first distance, exclusive end, requests by operation), in address ranges.
    pub fn deviations(&self) -> Vec<(i64, i64, ByKind)> {
        let behind = self.behind.rows().into_iter().rev();
        let behind = behind.map(|step| (1 - step.upper as i64, 1 - step.lower as i64, step.requests));
        behind.chain(self.ahead.rows().into_iter().map(|s| (s.lower as i64, s.upper as i64, s.requests))).collect()
    }

    /// Returns the number of requests by size in sectors of 512 bytes, rounded up.
    pub fn sizes(&self) -> Vec<Step> {
        self.sizes.rows()
    }

    /// Returns request counts by alignment, both for the address alone and for address and size together.
    pub fn alignments(&self) -> Vec<AlignmentCount> {
        self.alignment.rows()
    }

    /// Returns statistics of sequential runs by operation.
    pub fn runs(&self) -> [SequentialRuns; KINDS] {
        self.runs.figures()
    }

    /// Returns the number of named streams that have at least one request with an address.
    pub fn streams(&self) -> u64 {
        self.runs.streams()
    }

    /// Returns histograms of the gaps between requests: one for all operations together, then one for each [`Op`].
    pub fn gaps(&self) -> [&LatencyHistogram; 5] {
        self.arrivals.gaps()
    }

    /// Returns the index of dispersion of the arrivals at several time scales.
    pub fn dispersion(&self) -> Vec<Dispersion> {
        self.arrivals.dispersion()
    }

    /// Returns the number of requests per window, and the windows. Initially each window holds one request. Whenever
    /// there are 512 windows, they are merged in pairs. The last window may be incomplete.
    pub fn windows(&self) -> (u64, Vec<WindowFigures>) {
        (self.windows.width, self.windows.figures())
    }

    /// Returns the working set: the pages that requests touched.
    pub fn working_set(&self) -> &WorkingSet {
        &self.windows.set
    }
}

#[cfg(test)]
mod tests;
