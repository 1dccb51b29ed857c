//! What map caches of many sizes and segments would cost on a trace, from a single pass over it.
//!
//! A map cache (`ssdlab_ftl::map::SegmentCache`, policy `lru`) is used once for each page that a request touches: the
//! pages of a read and of a write, those wholly inside a trim, and once more each page that is written in part, which
//! is read before. Nothing else changes the order of use, garbage collection neither, so that stack distances tell hits
//! and misses of every cache exactly, if it is empty at first.
//!
//! ```text
//! page read         t_R + transfer, of the bytes asked for if reads may be partial
//! page programmed   t_PROG + transfer
//! miss              t_R + transfer of a segment
//! write-back        t_R + t_PROG + two transfers of a page; t_PROG + transfer where a segment is a page
//! ```
//! All of it is done by one chip, one operation after the other, so that the time of a trace is a sum. Left out, with
//! the full map as with a cached one: garbage collection, and the rewriting of map pages that it causes. A cache writes
//! all dirty segments of a map page back at once: how often is counted for the caches asked for ([`WriteBacks`]), and
//! known for every other to be no more than if each segment were written back by itself and trims of pages that hold
//! nothing changed entries too.
//!
//! Source: the map-cache document (slides), whose means follow from the first two lines; it has neither programs nor
//! write-backs, and charges the misses of writes to the time of the reads.

use std::ops::Range;

use ssdlab_core::{PageSize, Pages};
use ssdlab_nand::Timing;
use ssdlab_sim::{CacheOptions, Clock, Fitter, Setup, SimError, runs};
use ssdlab_trace::{Op, Request, StackDistances, UseCounts};

use crate::sizes::MapSizes;
use crate::write_backs::WriteBacks;

/// Follows one trace.
pub struct MapAdvisor {
    capacity_bytes: u64,
    page_bytes: u32,
    page: PageSize,
    timing: Timing,
    fitter: Fitter,
    host_ns: u64,
    host_read_ns: u64,
    holds_data: PageSet,
    segments: Vec<Segments>,
}

/// A bit for each page.
struct PageSet(Vec<u64>);

impl PageSet {
    /// Of so many pages, the first `held`.
    fn of_first(held: u32, pages: u32) -> Self {
        let mut words = vec![u64::MAX; held as usize / 64];
        words.resize(pages.div_ceil(64) as usize, 0);
        let mut set = Self(words);
        set.set(held - held % 64..held, true);
        set
    }

    fn has(&self, page: u32) -> bool {
        self.0[page as usize / 64] >> (page % 64) & 1 == 1
    }

    fn set(&mut self, pages: Range<u32>, to: bool) {
        for page in pages {
            let bit = 1 << (page % 64);
            let word = &mut self.0[page as usize / 64];
            *word = if to { *word | bit } else { *word & !bit };
        }
    }
}

/// The map cut into segments of one size.
struct Segments {
    bytes: u32,
    /// Segments of the whole map.
    count: u32,
    /// Log2 of the entries of a segment.
    shift: u32,
    distances: StackDistances,
    write_backs: WriteBacks,
}

/// What caches of every number of segments would have cost.
#[derive(Clone, PartialEq, Debug)]
pub struct MapAdvice {
    /// Requests of every kind.
    pub requests: u64,
    /// Time of all requests with the whole map in RAM, nanoseconds.
    pub host_ns: u64,
    /// That of the read requests.
    pub host_read_ns: u64,
    /// One for each segment size, in the order asked.
    pub segments: Vec<SegmentAdvice>,
}

/// Caches of segments of one size; where nothing else is said, vectors have an entry for each number of segments from 1
/// to that of the largest cache asked for, or of the whole map.
#[derive(Clone, PartialEq, Debug)]
pub struct SegmentAdvice {
    /// Bytes of a segment.
    pub segment_bytes: u32,
    /// Segments of the whole map.
    pub count: u32,
    /// Look-ups, one for each page touched.
    pub look_ups: UseCounts,
    /// First look-ups of a segment, which miss in every cache.
    pub first: UseCounts,
    /// Look-ups for pages read that hit.
    pub read_hits: Vec<u64>,
    /// Look-ups for pages written or trimmed that hit.
    pub change_hits: Vec<u64>,
    /// Map pages written back, for each cache asked for.
    pub write_backs: Vec<u64>,
    /// Time of all requests, nanoseconds, for each cache asked for.
    pub busy_ns: Vec<u64>,
    /// What the time of all requests does not exceed with any cache: that with each segment written back by itself.
    pub most_busy_ns: Vec<u64>,
    /// Time of the read requests and, as the document counts, of all misses.
    pub read_busy_ns: Vec<u64>,
    /// Time of all requests if first look-ups alone missed and nothing was written back: that of the best cache.
    pub least_busy_ns: u64,
}

impl MapAdvisor {
    /// Advice on a device like that of `setup`, whatever its FTL.
    ///
    /// # Errors
    /// If the set-up has no times or the sizes do not fit together.
    pub fn new(setup: &Setup, sizes: &MapSizes) -> Result<Self, SimError> {
        let page_bytes = setup.geometry.page_bytes;
        sizes.check(page_bytes).map_err(SimError::Setup)?;
        let timing = match setup.clock {
            Clock::Serial(timing) => timing,
            Clock::Count => {
                let why = "time: \"count\" takes no time, and advice compares times; set it to \"serial\"";
                return Err(SimError::Setup(why.into()));
            }
            Clock::Event(..) => {
                let mut why =
                    String::from("time: advice adds up the times of one chip, which those of \"event\" are not; ");
                why.push_str("set it to \"serial\"");
                // With that time these would be refused.
                if setup.block.is_some() {
                    why.push_str(", and block.scheduler to \"direct\"");
                }
                if setup.gantt.is_some() {
                    why.push_str(", and gantt to \"none\"");
                }
                let usual_percent = CacheOptions::USUAL_BACKGROUND_PERCENT;
                if setup.cache.is_some_and(|cache| cache.background_percent != usual_percent) {
                    why.push_str(&format!(", and cache.dirty_background to {usual_percent}%"));
                }
                return Err(SimError::Setup(why));
            }
        };
        let cut = |&bytes: &u32| {
            let entries = bytes / sizes.entry_bytes;
            let count = setup.logical_pages.div_ceil(entries);
            // Segments that each cache holds of all there are.
            let held = |&cache: &u64| u32::try_from(cache / u64::from(bytes)).map_or(count, |held| held.min(count));
            let most = sizes.cache_bytes.last().map_or(0, held);
            Segments {
                bytes,
                count,
                shift: entries.ilog2(),
                distances: StackDistances::new(count, most),
                write_backs: WriteBacks::new(count, (page_bytes / bytes).ilog2(), sizes.cache_bytes.iter().map(held)),
            }
        };
        Ok(Self {
            capacity_bytes: setup.capacity_bytes(),
            page_bytes,
            page: PageSize::new(page_bytes),
            timing,
            fitter: Fitter::new(setup),
            host_ns: 0,
            host_read_ns: 0,
            holds_data: PageSet::of_first(setup.filled_pages() as u32, setup.logical_pages),
            segments: sizes.segment_bytes.iter().map(cut).collect(),
        })
    }

    /// Adds requests in replay order.
    ///
    /// # Errors
    /// A request beyond the device, if the set-up refuses such.
    pub fn add(&mut self, requests: &[Request]) -> Result<(), SimError> {
        for request in requests {
            let request = self.fitter.fit(request)?.request;
            for (offset, end) in runs(&request, self.capacity_bytes) {
                self.access(request.op, offset, end);
            }
        }
        Ok(())
    }

    /// Bytes `offset..end`, looked up in the order of a simulation.
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
                self.holds_data.set(first..after, true);
                self.host_ns += u64::from(head) * self.page_read_ns() + u64::from(tail) * self.page_read_ns();
                self.host_ns += u64::from(count) * self.page_program_ns();
            }
            Op::Trim => {
                let covered = self.page.covered(offset, end);
                let (first, after) = (covered.start as u32, covered.end as u32);
                self.look_up(first, after, op);
                self.holds_data.set(first..after, false);
            }
            Op::Flush => {}
        }
    }

    /// Looks the pages `first..after` up, if there are any.
    #[inline]
    fn look_up(&mut self, first: u32, after: u32, op: Op) {
        let Self { segments, holds_data, .. } = self;
        for Segments { shift, distances, write_backs, .. } in segments {
            let mut from = first;
            while from < after {
                let segment = from >> *shift;
                // The pages end below 2^32, those of a segment may not.
                let until = (u64::from(segment + 1) << *shift).min(u64::from(after)) as u32;
                distances.add(segment, u64::from(until - from), op != Op::Read);
                // A trim changes the entries of pages that hold data.
                let changes = op == Op::Write || (op == Op::Trim && (from..until).any(|page| holds_data.has(page)));
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

    /// What the requests so far come to.
    pub fn advice(&self) -> MapAdvice {
        MapAdvice {
            requests: self.fitter.requests(),
            host_ns: self.host_ns,
            host_read_ns: self.host_read_ns,
            segments: self.segments.iter().map(|segments| self.of(segments)).collect(),
        }
    }

    fn of(&self, segments: &Segments) -> SegmentAdvice {
        let load_ns = self.timing.read.mean().0 + self.timing.transfer(segments.bytes).0;
        let rest_ns = if segments.bytes == self.page_bytes { 0 } else { self.page_read_ns() };
        let write_back_ns = rest_ns + self.page_program_ns();
        let (look_ups, first) = (segments.distances.uses(), segments.distances.first_uses());
        let curves = segments.distances.curves();
        let total = look_ups.reads + look_ups.changes;
        let hits = curves.read_hits.iter().zip(&curves.change_hits);
        let map_ns: Vec<u64> = hits.map(|(reads, changes)| (total - reads - changes) * load_ns).collect();
        let busy_ns = |map_ns: u64, write_backs: u64| self.host_ns + map_ns + write_backs * write_back_ns;
        let asked = segments.write_backs.counts();
        let most_ns = map_ns.iter().zip(curves.write_backs);
        SegmentAdvice {
            segment_bytes: segments.bytes,
            count: segments.count,
            look_ups,
            first,
            busy_ns: asked.map(|(held, count)| busy_ns(map_ns[held as usize - 1], count)).collect(),
            most_busy_ns: most_ns.map(|(&map_ns, count)| busy_ns(map_ns, count)).collect(),
            read_busy_ns: map_ns.iter().map(|map| self.host_read_ns + map).collect(),
            least_busy_ns: self.host_ns + (first.reads + first.changes) * load_ns,
            read_hits: curves.read_hits,
            change_hits: curves.change_hits,
            write_backs: segments.write_backs.counts().map(|(_, count)| count).collect(),
        }
    }
}
