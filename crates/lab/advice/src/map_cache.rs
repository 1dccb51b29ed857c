//! Cost of map caches on a trace, for many cache and segment sizes, computed in a single pass over the trace.
//!
//! A request looks up the map cache (`ssdlab_ftl::map::SegmentCache`, policy `lru`) once for each page that it reads,
//! writes or trims completely. A partially written page is read first, which adds a look-up. Nothing else, not even
//! garbage collection, changes the LRU order. So stack distances give the exact hits and misses of every cache that
//! starts empty.
//!
//! ```text
//! page read         t_R + transfer, of the requested bytes only if partial reads are enabled
//! page programmed   t_PROG + transfer
//! miss              t_R + transfer of a segment
//! write-back        t_R + t_PROG + two transfers of a page; t_PROG + transfer if a segment is a page
//! ```
//! One chip executes all operations serially, so the time of a trace is a sum. The sum excludes garbage collection and
//! the map-page writes caused by it, for a full map as well as for a cached map.
//!
//! A write-back writes all dirty segments of a map page. [`WriteBacks`] counts write-backs exactly for the requested
//! caches. For other cache sizes there is an upper bound: one write-back per segment made dirty. This bound also
//! counts segments in which only empty pages are trimmed.
//!
//! Source: the map-cache slides. They count only page reads and misses (the first and third line of the table above).
//! They ignore page programs and write-backs, and add the time of write misses to the read time.

use std::ops::Range;

use ssdlab_core::{PageBits, PageSize, Pages};
use ssdlab_nand::Timing;
use ssdlab_sim::{AddressMapper, CacheOptions, Clock, Setup, SimError, runs};
use ssdlab_trace::{Op, Request, StackDistances, UseCounts};

use crate::sizes::MapSizes;
use crate::write_backs::WriteBacks;

/// Collects the map look-ups of a trace and computes the cost of map caches of many sizes.
pub struct MapAdvisor {
    capacity_bytes: u64,
    page_bytes: u32,
    page: PageSize,
    timing: Timing,
    mapper: AddressMapper,
    host_ns: u64,
    host_read_ns: u64,
    holds_data: PageBits,
    segments: Vec<Segments>,
}

/// The device's map, divided into segments of one size.
struct Segments {
    bytes: u32,
    /// Number of segments in the map.
    count: u32,
    /// Log2 of the number of map entries per segment.
    shift: u32,
    distances: StackDistances,
    write_backs: WriteBacks,
}

/// Results for all cache sizes, from the requests added so far.
#[derive(Clone, PartialEq, Debug)]
pub struct MapAdvice {
    /// Number of requests so far, of all operations.
    pub requests: u64,
    /// Total time of all requests in nanoseconds if the whole map were in RAM.
    pub host_ns: u64,
    /// Total time of the read requests in nanoseconds if the whole map were in RAM.
    pub host_read_ns: u64,
    /// Results per segment size, in the order of [`MapSizes::segment_bytes`].
    pub segments: Vec<SegmentAdvice>,
}

/// Results for one segment size and several cache sizes.
///
/// Unless stated otherwise, entry `i` of a vector is for a cache of `i + 1` segments. The last entry is for the largest
/// requested cache, or for the whole map.
#[derive(Clone, PartialEq, Debug)]
pub struct SegmentAdvice {
    /// Size of a segment, in bytes.
    pub segment_bytes: u32,
    /// Number of segments in the map.
    pub count: u32,
    /// Number of look-ups, one for each page touched.
    pub look_ups: UseCounts,
    /// Number of first look-ups of segments. A segment's first look-up misses in every cache.
    pub first: UseCounts,
    /// Number of hits among the look-ups for page reads, by cache size.
    pub read_hits: Vec<u64>,
    /// Number of hits among the look-ups for page writes and trims, by cache size.
    pub change_hits: Vec<u64>,
    /// Number of map pages written back, for each requested cache size.
    pub write_backs: Vec<u64>,
    /// Total time of all requests in nanoseconds, for each requested cache size.
    pub busy_ns: Vec<u64>,
    /// Upper bound on the total time of all requests in nanoseconds: counts one write-back for each segment that was
    /// made dirty.
    pub most_busy_ns: Vec<u64>,
    /// Total time in nanoseconds of the read requests and of all misses, as the map-cache slides count it.
    pub read_busy_ns: Vec<u64>,
    /// Lower bound on the total time of all requests in nanoseconds: only first look-ups miss, and there are no
    /// write-backs.
    pub least_busy_ns: u64,
}

impl MapAdvisor {
    /// Creates an advisor for the device of `setup`; ignores the FTL of `setup`.
    ///
    /// # Errors
    /// Fails if the set-up does not use serial timing, or if the sizes are inconsistent.
    pub fn new(setup: &Setup, sizes: &MapSizes) -> Result<Self, SimError> {
        let page_bytes = setup.geometry.page_bytes;
        sizes.check(page_bytes).map_err(SimError::Setup)?;
        let timing = match setup.clock {
            Clock::Serial(timing) => timing,
            Clock::Count => {
                let why = "time: the advice needs simulated time, but \"count\" only counts operations; set it to \
                           \"serial\"";
                return Err(SimError::Setup(why.into()));
            }
            Clock::Event(..) => {
                let mut why = String::from(
                    "time: the estimate adds up the service times of one chip and does not support \"event\"; set it \
                     to \"serial\"",
                );
                // With serial timing, the settings below would be invalid, so the remedy changes them too.
                if setup.block.is_some() {
                    why.push_str(", and block.scheduler to \"direct\"");
                }
                if setup.gantt.is_some() {
                    why.push_str(", and gantt to \"none\"");
                }
                let usual_percent = CacheOptions::USUAL_BACKGROUND_PERCENT;
                if setup.cache.as_ref().is_some_and(|cache| cache.background_percent != usual_percent) {
                    why.push_str(&format!(", and cache.dirty_background to {usual_percent}%"));
                }
                return Err(SimError::Setup(why));
            }
        };
        let mut holds_data = PageBits::new(setup.logical_pages);
        holds_data.fill(0..setup.filled_pages() as u32, true);
        let segments = |&bytes: &u32| {
            let entries = bytes / sizes.entry_bytes;
            let count = setup.logical_pages.div_ceil(entries);
            // Returns the number of segments that a cache of the given size holds: at most all segments of the map.
            let capacity = |&cache: &u64| u32::try_from(cache / u64::from(bytes)).map_or(count, |held| held.min(count));
            let largest = sizes.cache_bytes.last().map_or(0, capacity);
            let capacities = sizes.cache_bytes.iter().map(capacity);
            Segments {
                bytes,
                count,
                shift: entries.ilog2(),
                distances: StackDistances::new(count, largest),
                write_backs: WriteBacks::new(count, (page_bytes / bytes).ilog2(), capacities),
            }
        };
        Ok(Self {
            capacity_bytes: setup.capacity_bytes(),
            page_bytes,
            page: PageSize::new(page_bytes),
            timing,
            mapper: AddressMapper::new(setup),
            host_ns: 0,
            host_read_ns: 0,
            holds_data,
            segments: sizes.segment_bytes.iter().map(segments).collect(),
        })
    }

    /// Adds requests of the trace in replay order.
    ///
    /// # Errors
    /// Fails if a request exceeds the device and `host.fit` of the set-up rejects such requests.
    pub fn add(&mut self, requests: &[Request]) -> Result<(), SimError> {
        for request in requests {
            let request = self.mapper.fit(request)?.request;
            for (offset, end) in runs(&request, self.capacity_bytes) {
                self.access(request.op, offset, end);
            }
        }
        Ok(())
    }

    /// Records an access to the bytes `offset..end`, with map look-ups in the same order as in the simulation.
    #[inline]
    fn access(&mut self, op: Op, offset: u64, end: u64) {
        let Pages { first, count, head, tail } = self.page.split(offset, end);
        let after = first + count;
        match op {
            Op::Read => {
                self.look_up(first, after, Op::Read);
                let read_ns = self.read_ns(offset, end);
                self.host_read_ns += read_ns;
                self.host_ns += read_ns;
            }
            Op::Write => {
                if head {
                    self.look_up(first, first + 1, Op::Read);
                }
                if tail {
                    self.look_up(after - 1, after, Op::Read);
                }
                self.look_up(first, after, op);
                self.holds_data.fill(first..after, true);
                self.host_ns += u64::from(head) * self.page_read_ns() + u64::from(tail) * self.page_read_ns();
                self.host_ns += u64::from(count) * self.page_program_ns();
            }
            Op::Trim => {
                let covered = self.page.covered(offset, end);
                let (first, after) = (covered.start as u32, covered.end as u32);
                self.look_up(first, after, op);
                self.holds_data.fill(first..after, false);
            }
            Op::Flush => {}
        }
    }

    /// Looks up the map entries of pages `first..after`; the range may be empty.
    #[inline]
    fn look_up(&mut self, first: u32, after: u32, op: Op) {
        let Self { segments, holds_data, .. } = self;
        for Segments { shift, distances, write_backs, .. } in segments {
            let mut from = first;
            while from < after {
                let segment = from >> *shift;
                // The end of the last segment may exceed 2^32 pages, so it needs 64 bits.
                let until = (u64::from(segment + 1) << *shift).min(u64::from(after)) as u32;
                distances.add(segment, u64::from(until - from), op != Op::Read);
                // A trim changes only the entries of pages that hold data.
                let changes = op == Op::Write || (op == Op::Trim && holds_data.count(from..until) > 0);
                write_backs.add(segment, changes);
                from = until;
            }
        }
    }

    fn page_read_ns(&self) -> u64 {
        self.timing.read.mean().0 + self.timing.transfer(self.page_bytes).0
    }

    fn page_program_ns(&self) -> u64 {
        self.timing.program.mean().0 + self.timing.transfer(self.page_bytes).0
    }

    fn read_ns(&self, offset: u64, end: u64) -> u64 {
        if !self.timing.partial_read {
            return u64::from(self.page.split(offset, end).count) * self.page_read_ns();
        }
        let part_ns =
            |part: Range<u64>| self.timing.read.mean().0 + self.timing.transfer((part.end - part.start) as u32).0;
        self.page.parts(offset, end).map(|(_, part)| part_ns(part)).sum()
    }

    /// Returns the results for the requests added so far.
    pub fn advice(&self) -> MapAdvice {
        MapAdvice {
            requests: self.mapper.requests(),
            host_ns: self.host_ns,
            host_read_ns: self.host_read_ns,
            segments: self.segments.iter().map(|segments| self.segment_advice(segments)).collect(),
        }
    }

    fn segment_advice(&self, segments: &Segments) -> SegmentAdvice {
        let load_ns = self.timing.read.mean().0 + self.timing.transfer(segments.bytes).0;
        let merge_read_ns = if segments.bytes == self.page_bytes { 0 } else { self.page_read_ns() };
        let write_back_ns = merge_read_ns + self.page_program_ns();
        let (look_ups, first) = (segments.distances.uses(), segments.distances.first_uses());
        let curves = segments.distances.curves();
        let total = look_ups.reads + look_ups.changes;
        let hits = curves.read_hits.iter().zip(&curves.change_hits);
        let map_ns: Vec<u64> = hits.map(|(reads, changes)| (total - reads - changes) * load_ns).collect();
        let busy_ns = |map_ns: u64, write_backs: u64| self.host_ns + map_ns + write_backs * write_back_ns;
        let requested = segments.write_backs.counts();
        let upper_bounds = map_ns.iter().zip(curves.write_backs);
        SegmentAdvice {
            segment_bytes: segments.bytes,
            count: segments.count,
            look_ups,
            first,
            busy_ns: requested.map(|(capacity, count)| busy_ns(map_ns[capacity as usize - 1], count)).collect(),
            most_busy_ns: upper_bounds.map(|(&map_ns, count)| busy_ns(map_ns, count)).collect(),
            read_busy_ns: map_ns.iter().map(|map| self.host_read_ns + map).collect(),
            least_busy_ns: self.host_ns + (first.reads + first.changes) * load_ns,
            read_hits: curves.read_hits,
            change_hits: curves.change_hits,
            write_backs: segments.write_backs.counts().map(|(_, count)| count).collect(),
        }
    }
}
