//! What map caches of many sizes and segments would cost on a trace, from a single pass over it.
//!
//! A map cache ([`ssdlab_ftl::map::SegmentCache`], policy `lru`) is used once for each page that a request touches: the
//! pages of a read and of a write, those wholly inside a trim, and once more each page that is written in part, which
//! is read before. Nothing else changes the order of use, garbage collection neither, so that stack distances tell hits
//! and misses of every cache exactly, if it is empty at first.
//!
//! ```text
//! page read      t_R + transfer, of the bytes asked for if reads may be partial      page programmed   t_PROG + transfer
//! miss           t_R + transfer of a segment
//! write-back     t_R + t_PROG + two transfers of a page; t_PROG + transfer where a segment is a page
//! ```
//! All of it is done by one chip, one operation after the other, so that the time of a trace is a sum. Left out, with
//! the full map as with a cached one: garbage collection, and the rewriting of map pages that it causes. A real cache
//! writes all dirty segments of a map page back at once, so that its write-backs are no more than these.
//!
//! Source: the map-cache document (slides), whose means follow from the first two lines; it has neither programs nor
//! write-backs, and charges the misses of writes to the time of the reads.

use std::ops::Range;

use ssdlab_core::{PageSize, Pages};
use ssdlab_nand::Timing;
use ssdlab_trace::{Op, Request, StackDistances, UseCounts};

use crate::host::fit::{Fitted, Fitter, runs};
use crate::run::error::SimError;
use crate::setup::{Clock, Setup};

/// Sizes to be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapSizes {
    /// Bytes of a map entry, a power of two.
    pub entry_bytes: u32,
    /// Bytes of a segment, each a power of two from an entry to a page.
    pub segment_bytes: Vec<u32>,
    /// Bytes of a cache, each a multiple of every segment.
    pub cache_bytes: Vec<u64>,
}

/// Follows one trace.
pub struct MapAdvisor {
    capacity_bytes: u64,
    page_bytes: u32,
    page: PageSize,
    timing: Timing,
    fitter: Fitter,
    host_ns: u64,
    host_read_ns: u64,
    segments: Vec<Segments>,
}

/// The map cut into segments of one size.
struct Segments {
    bytes: u32,
    /// Segments of the whole map.
    count: u32,
    /// Log2 of the entries of a segment.
    shift: u32,
    distances: StackDistances,
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

/// Caches of segments of one size; the vectors have an entry for each number of segments from 1 to that of the largest
/// cache asked for, or of the whole map.
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
    /// Segments written back, each by itself.
    pub write_backs: Vec<u64>,
    /// Time of all requests with this cache, nanoseconds.
    pub busy_ns: Vec<u64>,
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
                let why = "time: advice adds up the times of one chip, which those of \"event\" are not; set it to \"serial\"";
                return Err(SimError::Setup(why.into()));
            }
        };
        let largest = sizes.cache_bytes.iter().max().copied().unwrap_or(0);
        let cut = |&bytes: &u32| {
            let entries = bytes / sizes.entry_bytes;
            let count = setup.logical_pages.div_ceil(entries);
            let most = u32::try_from(largest / u64::from(bytes)).unwrap_or(u32::MAX);
            Segments { bytes, count, shift: entries.ilog2(), distances: StackDistances::new(count, most) }
        };
        Ok(Self {
            capacity_bytes: setup.capacity_bytes(),
            page_bytes,
            page: PageSize::new(page_bytes),
            timing,
            fitter: Fitter::new(setup),
            host_ns: 0,
            host_read_ns: 0,
            segments: sizes.segment_bytes.iter().map(cut).collect(),
        })
    }

    /// Adds requests in replay order.
    ///
    /// # Errors
    /// A request beyond the device, if the set-up refuses such.
    pub fn add(&mut self, requests: &[Request]) -> Result<(), SimError> {
        for request in requests {
            let Fitted { request, .. } = self.fitter.fit(request)?;
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
                self.look_up(first, after, false);
                let read_ns = self.read_ns(offset, end);
                self.host_read_ns += read_ns;
                self.host_ns += read_ns;
            }
            Op::Write => {
                if head {
                    self.look_up(first, first + 1, false);
                }
                if tail {
                    self.look_up(after - 1, after, false);
                }
                self.look_up(first, after, true);
                self.host_ns += u64::from(head) * self.page_read_ns() + u64::from(tail) * self.page_read_ns();
                self.host_ns += u64::from(count) * self.page_program_ns();
            }
            Op::Trim => {
                let covered = self.page.covered(offset, end);
                self.look_up(covered.start as u32, covered.end as u32, true);
            }
            Op::Flush => {}
        }
    }

    /// Looks the pages `first..after` up, if there are any.
    #[inline]
    fn look_up(&mut self, first: u32, after: u32, changes: bool) {
        for Segments { shift, distances, .. } in &mut self.segments {
            let mut from = first;
            while from < after {
                let segment = from >> *shift;
                // The pages end below 2^32, those of a segment may not.
                let until = (u64::from(segment + 1) << *shift).min(u64::from(after)) as u32;
                distances.add(segment, u64::from(until - from), changes);
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
        let write_back_ns = curves.write_backs.iter().map(|count| count * write_back_ns);
        SegmentAdvice {
            segment_bytes: segments.bytes,
            count: segments.count,
            look_ups,
            first,
            busy_ns: map_ns.iter().zip(write_back_ns).map(|(map, back)| self.host_ns + map + back).collect(),
            read_busy_ns: map_ns.iter().map(|map| self.host_read_ns + map).collect(),
            least_busy_ns: self.host_ns + (first.reads + first.changes) * load_ns,
            read_hits: curves.read_hits,
            change_hits: curves.change_hits,
            write_backs: curves.write_backs,
        }
    }
}

impl MapSizes {
    /// The sizes of the document as far as pages and entries allow: segments of 1 to 8 KiB, or of a page if that is
    /// less; caches of 8 to 512 KiB, as far as they are multiples of all segments.
    pub fn usual(page_bytes: u32, entry_bytes: u32) -> Self {
        let possible = |bytes: &u32| (entry_bytes..=page_bytes).contains(bytes);
        let segment_bytes: Vec<u32> = [1 << 10, 2 << 10, 4 << 10, 8 << 10].into_iter().filter(possible).collect();
        let segment_bytes = if segment_bytes.is_empty() { vec![page_bytes] } else { segment_bytes };
        Self { entry_bytes, cache_bytes: Self::usual_caches(&segment_bytes), segment_bytes }
    }

    /// Caches of the document that are multiples of all these segments; seven from the largest segment on if none is.
    pub fn usual_caches(segment_bytes: &[u32]) -> Vec<u64> {
        let largest = u64::from(segment_bytes.iter().max().copied().unwrap_or(1)).max(1);
        let caches: Vec<u64> = (13..20).map(|shift| 1 << shift).filter(|bytes| bytes % largest == 0).collect();
        if caches.is_empty() { (0..7).map(|shift| largest << shift).collect() } else { caches }
    }

    fn check(&self, page_bytes: u32) -> Result<(), String> {
        let entry = self.entry_bytes;
        if !entry.is_power_of_two() || entry > page_bytes {
            return Err(format!("an entry of {} is not a power of two within a page; write 4B", exact(entry.into())));
        }
        for &segment in &self.segment_bytes {
            let written = exact(segment.into());
            if !segment.is_power_of_two() {
                let above = segment.checked_next_power_of_two().unwrap_or(1 << 31);
                let (below, above) = (exact((above / 2).into()), exact(above.into()));
                return Err(format!(
                    "a segment of {written} is not a power of two; the nearest are {below} and {above}"
                ));
            }
            if segment > page_bytes {
                let page = exact(page_bytes.into());
                return Err(format!(
                    "a segment of {written} exceeds a page of {page}; lower it or raise nand.page_size"
                ));
            }
            if segment < entry {
                return Err(format!("a segment of {written} holds no entry of {}; enlarge it", exact(entry.into())));
            }
            if let Some(&cache) = self.cache_bytes.iter().find(|&&cache| cache == 0 || cache % u64::from(segment) != 0)
            {
                let (more, cache) = (cache.next_multiple_of(segment.into()).max(segment.into()), exact(cache));
                let more = exact(more);
                return Err(format!("a cache of {cache} is not a multiple of segments of {written}; write {more}"));
            }
        }
        if self.segment_bytes.is_empty() || self.cache_bytes.is_empty() {
            return Err("there is no size to compare; give at least one segment and one cache".into());
        }
        Ok(())
    }
}

/// A size as it may be written: exactly, in the largest unit that gives a whole number.
fn exact(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let step = if bytes == 0 { 0 } else { (bytes.trailing_zeros() / 10).min(4) };
    format!("{}{}", bytes >> (10 * step), UNITS[step as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(entry_bytes: u32, segment_bytes: &[u32], cache_bytes: &[u64]) -> String {
        let sizes = MapSizes { entry_bytes, segment_bytes: segment_bytes.to_vec(), cache_bytes: cache_bytes.to_vec() };
        sizes.check(8192).unwrap_err()
    }

    #[test]
    fn sizes_that_do_not_fit_are_named() {
        assert!(refused(3, &[1024], &[8192]).contains("an entry of 3B is not a power of two"));
        assert!(refused(4, &[3072], &[8192]).contains("3KiB is not a power of two; the nearest are 2KiB and 4KiB"));
        assert!(refused(4, &[16_384], &[16_384]).contains("16KiB exceeds a page of 8KiB"));
        assert!(refused(16, &[8], &[8192]).contains("8B holds no entry of 16B"));
        assert!(
            refused(4, &[2048, 4096], &[8192, 10_240])
                .contains("10KiB is not a multiple of segments of 4KiB; write 12KiB")
        );
        assert!(refused(4, &[2048], &[0]).contains("0B is not a multiple of segments of 2KiB; write 2KiB"));
        assert!(refused(4, &[0], &[8192]).contains("0B is not a power of two"));
        assert!(refused(4, &[], &[8192]).contains("no size"));
    }

    #[test]
    fn usual_sizes_fit_every_page() {
        for page_shift in 9..21 {
            for entry_bytes in [1, 4, 64] {
                let sizes = MapSizes::usual(1 << page_shift, entry_bytes);
                assert_eq!(sizes.check(1 << page_shift), Ok(()), "pages of {} bytes", 1 << page_shift);
            }
        }
        assert_eq!(MapSizes::usual(8192, 4).cache_bytes.len() * MapSizes::usual(8192, 4).segment_bytes.len(), 28);
        assert_eq!(
            MapSizes::usual_caches(&[1 << 20]),
            [1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20, 32 << 20, 64 << 20]
        );
    }
}
