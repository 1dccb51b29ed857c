//! Write intervals: how soon pages are rewritten, and how many rewrites a log of a given size absorbs.
//!
//! The *write interval* of a page write is the number of page writes since the previous write of the same page. The
//! page write itself is included, so the interval is 1 if a page is written twice in a row. For a FIFO log of W pages,
//! the FASTer slides define three classes:
//!
//! | class | interval |
//! |---|---|
//! | hot | at most W |
//! | warm | at most 2 W (a second chance doubles the stay in the log) |
//! | cold | longer |
//!
//! A page is invalidated in the log before eviction if and only if it is rewritten within W page writes. So the share
//! of hot writes is the share of log pages that are invalidated before their eviction.
//!
//! Two passes are made: [`WrittenPages`] counts the pages written, then [`Intervals`] counts intervals exactly. The
//! first pass is needed to resolve log sizes given as shares, and to divide time and addresses into equal steps. A
//! single exact pass would need memory for each write instead of for each page.

mod log_size;
mod written;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use ssdlab_core::LatencyHistogram;

use crate::{Request, TraceError};
pub use log_size::LogSize;
pub use written::WrittenPages;
use written::{no_memory, pages_of};

/// Number of pages per group. The states of the pages of a group are adjacent, so a long write looks up each group only
/// once.
const GROUP: u64 = 64;
/// Maximum number of time steps, and of address steps, in the write map.
const TIME_STEPS: u64 = 256;
const ADDRESS_STEPS: u64 = 128;

/// Write intervals of a trace. Uses 24 bytes for each page in every group of 64 pages that has at least one write.
#[derive(Clone, Debug)]
pub struct Intervals {
    page_bytes: u64,
    page_writes: u64,
    /// Counts of hot and warm writes; [`Self::windows`] computes the other counts.
    windows: Vec<LogWindow>,
    /// Histogram of write intervals, measured in page writes instead of nanoseconds.
    histogram: LatencyHistogram,
    /// Index in `groups` of each page group, keyed by group number.
    index: HashMap<u64, usize>,
    groups: Vec<[Page; GROUP as usize]>,
    write_map: WriteMap,
}

/// Write history of a page; times are measured in page writes.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    first: u64,
    last: u64,
    writes: u64,
}

/// Write map: page-write counts in a grid of equal time steps (measured in page writes) and equal address steps.
#[derive(Clone, Debug)]
struct WriteMap {
    counts: Vec<u64>,
    steps: (u64, u64),
    writes: u64,
    first_page: u64,
    pages: u64,
}

impl WriteMap {
    fn new(written: &WrittenPages) -> Self {
        let (writes, extent) = (written.page_writes(), written.extent());
        let pages = extent.end - extent.start;
        let steps = (writes.min(TIME_STEPS), pages.min(ADDRESS_STEPS));
        Self { counts: vec![0; (steps.0 * steps.1) as usize], steps, writes, first_page: extent.start, pages }
    }

    /// Counts a page write in the map. A write outside the range found by the first pass is assigned to the nearest
    /// step.
    fn add(&mut self, position: u64, page: u64) {
        let step = |value: u64, whole: u64, steps: u64| {
            let step = u128::from(value) * u128::from(steps) / u128::from(whole.max(1));
            (step as u64).min(steps - 1)
        };
        if self.counts.is_empty() {
            return;
        }
        let (time, address) = self.steps;
        let row = step(position, self.writes, time);
        let column = step(page.saturating_sub(self.first_page), self.pages, address);
        self.counts[(row * address + column) as usize] += 1;
    }
}

/// Numbers of page writes and pages per class (hot, warm, cold) for one log size. Writes are classified by their
/// interval, pages by their mean interval. First writes, and pages written once, are cold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogWindow {
    /// Size of the log in pages.
    pub log_pages: u64,
    /// Number of page writes whose write interval is at most the log size.
    pub hot_writes: u64,
    /// Number of page writes with an interval above the log size and at most twice the log size.
    pub warm_writes: u64,
    /// Number of page writes that are neither hot nor warm.
    pub cold_writes: u64,
    /// Number of pages with a mean interval of at most the log size.
    pub hot_pages: u64,
    /// Number of pages with a mean interval above the log size and at most twice the log size.
    pub warm_pages: u64,
    /// Number of pages that are neither hot nor warm.
    pub cold_pages: u64,
}

impl Intervals {
    /// Creates counters for logs of `log_pages` pages; `written` must cover the whole trace.
    pub fn new(written: &WrittenPages, log_pages: &[u64]) -> Self {
        Self {
            page_bytes: written.page_bytes(),
            page_writes: 0,
            windows: log_pages.iter().map(|&log_pages| LogWindow { log_pages, ..LogWindow::default() }).collect(),
            histogram: LatencyHistogram::default(),
            index: HashMap::default(),
            groups: Vec::new(),
            write_map: WriteMap::new(written),
        }
    }

    /// Adds requests in replay order. Fails if memory runs out.
    pub fn add(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        for request in requests {
            let pages = pages_of(request, self.page_bytes);
            let mut from = pages.start;
            while from < pages.end {
                let until = pages.end.min((from / GROUP + 1) * GROUP);
                self.index.try_reserve(1).map_err(no_memory)?;
                let group = match self.index.entry(from / GROUP) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(new) => {
                        self.groups.try_reserve(1).map_err(no_memory)?;
                        self.groups.push([Page::default(); GROUP as usize]);
                        *new.insert(self.groups.len() - 1)
                    }
                };
                for page in from..until {
                    self.write(group, page);
                }
                from = until;
            }
        }
        Ok(())
    }

    fn write(&mut self, group: usize, number: u64) {
        let position = self.page_writes;
        self.page_writes += 1;
        self.write_map.add(position, number);
        let page = &mut self.groups[group][(number % GROUP) as usize];
        page.writes += 1;
        if page.writes == 1 {
            page.first = position;
        } else {
            let interval = position - page.last;
            self.histogram.record(interval);
            for window in &mut self.windows {
                if interval <= window.log_pages {
                    window.hot_writes += 1;
                } else if interval <= window.log_pages.saturating_mul(2) {
                    window.warm_writes += 1;
                }
            }
        }
        page.last = position;
    }

    /// Returns all written pages, ordered by the first write of their group.
    fn pages(&self) -> impl Iterator<Item = &Page> {
        self.groups.iter().flatten().filter(|page| page.writes > 0)
    }

    /// Returns the number of page writes so far.
    pub fn page_writes(&self) -> u64 {
        self.page_writes
    }

    /// Returns the counts for each log size, in the order given to [`Self::new`].
    pub fn windows(&self) -> Vec<LogWindow> {
        let mut windows = self.windows.clone();
        for window in &mut windows {
            window.cold_writes = self.page_writes - window.hot_writes - window.warm_writes;
        }
        for page in self.pages() {
            let (whole, intervals) = (u128::from(page.last - page.first), u128::from(page.writes - 1));
            for window in &mut windows {
                // Compares sums of intervals rather than means, because sums are exact.
                let limit = u128::from(window.log_pages) * intervals;
                let class = if intervals > 0 && whole <= limit {
                    &mut window.hot_pages
                } else if intervals > 0 && whole <= 2 * limit {
                    &mut window.warm_pages
                } else {
                    &mut window.cold_pages
                };
                *class += 1;
            }
        }
        windows
    }

    /// Returns the non-empty buckets of the histogram as (shortest interval, start of the next bucket, page writes).
    /// Below 128, each bucket holds one interval; above, buckets are 1.6 % wide.
    pub fn histogram(&self) -> Vec<(u64, u64, u64)> {
        self.histogram.buckets()
    }

    /// Returns the histogram of writes per page: the number of pages for each number of writes.
    pub fn pages_by_writes(&self) -> BTreeMap<u64, u64> {
        let mut pages = BTreeMap::new();
        for page in self.pages() {
            *pages.entry(page.writes).or_default() += 1;
        }
        pages
    }

    /// Returns the number of page writes by time step and, within a time step, by address step. Also returns the
    /// numbers of time steps and of address steps. Time is counted in page writes. Addresses range from the lowest to
    /// the highest page written.
    pub fn time_address(&self) -> (&[u64], (u64, u64)) {
        (&self.write_map.counts, self.write_map.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use crate::Workload;
    use crate::testing::{generate, request, workload};
    use proptest::prelude::*;

    const PAGE: u64 = 4096;

    fn analyse(requests: &[Request], log_pages: &[u64]) -> (WrittenPages, Intervals) {
        let mut written = WrittenPages::new(PAGE).unwrap();
        requests.chunks(7).for_each(|batch| written.add(batch).unwrap());
        let mut intervals = Intervals::new(&written, log_pages);
        requests.chunks(5).for_each(|batch| intervals.add(batch).unwrap());
        (written, intervals)
    }

    /// Creates writes from pairs `(first page, pages)`; every fifth request is a read instead.
    fn requests(runs: &[(u64, u64)]) -> Vec<Request> {
        let op = |index: usize| if index % 5 == 4 { Op::Read } else { Op::Write };
        // Requests begin and end inside pages, because partially written pages count like whole pages.
        let request = |(index, &(page, count)): (usize, &(u64, u64))| {
            request(0, op(index), page * PAGE + 512, (count * PAGE - 1000) as u32)
        };
        runs.iter().enumerate().map(request).collect()
    }

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        /// Goal: hot, warm and cold writes are counted as defined. Method: compares the counts with a search through
        /// all pairs of page writes.
        #[test]
        fn counts_follow_the_definition(
            runs in prop::collection::vec((0_u64..150, 1_u64..70), 0..30),
            logs in prop::collection::vec(1_u64..400, 0..4),
        ) {
            let requests = requests(&runs);
            let (written, intervals) = analyse(&requests, &logs);
            let writes: Vec<u64> = requests.iter().flat_map(|request| pages_of(request, PAGE)).collect();
            let previous = |at: usize| (0..at).rev().find(|&before| writes[before] == writes[at]);
            let spans: Vec<Option<u64>> =
                (0..writes.len()).map(|at| previous(at).map(|before| (at - before) as u64)).collect();
            let mut pages = writes.clone();
            pages.sort_unstable();
            pages.dedup();

            prop_assert_eq!((written.page_writes(), written.pages()), (writes.len() as u64, pages.len() as u64));
            prop_assert_eq!(intervals.page_writes(), writes.len() as u64);
            let extent = pages.first().copied().unwrap_or(0)..pages.last().map_or(0, |last| last + 1);
            prop_assert_eq!(written.extent(), extent.clone());

            for (window, &log) in intervals.windows().iter().zip(&logs) {
                let count = |low: u64, high: u64| {
                    spans.iter().flatten().filter(|&&span| span > low && span <= high).count() as u64
                };
                let mean = |page: u64| {
                    let own: Vec<u64> =
                        writes.iter().zip(&spans).filter(|(other, _)| **other == page).filter_map(|(_, s)| *s).collect();
                    (!own.is_empty()).then(|| own.iter().sum::<u64>() as f64 / own.len() as f64)
                };
                let means = |low: u64, high: u64| {
                    let within = |mean: &f64| *mean > low as f64 && *mean <= high as f64;
                    pages.iter().filter_map(|&page| mean(page)).filter(within).count() as u64
                };
                let hot_and_warm = [count(0, log), count(log, 2 * log), means(0, log), means(log, 2 * log)];
                prop_assert_eq!([window.hot_writes, window.warm_writes, window.hot_pages, window.warm_pages], hot_and_warm);
                prop_assert_eq!(window.hot_writes + window.warm_writes + window.cold_writes, writes.len() as u64);
                prop_assert_eq!(window.hot_pages + window.warm_pages + window.cold_pages, pages.len() as u64);
                // The log invalidates a page before eviction if the host rewrites the page soon. This finds the same
                // pairs of writes as `hot_writes`, but searches forward from the first write of each pair.
                let next = |at: usize| (at + 1..writes.len()).find(|&after| writes[after] == writes[at]);
                let in_time = |at: &usize| next(*at).is_some_and(|after| (after - at) as u64 <= log);
                prop_assert_eq!((0..writes.len()).filter(in_time).count() as u64, window.hot_writes);
            }
            for (low, next, count) in intervals.histogram() {
                let inside = spans.iter().flatten().filter(|&&span| span >= low && span < next).count();
                prop_assert_eq!(count, inside as u64);
            }
            for (times, count) in intervals.pages_by_writes() {
                let written = |page: &&u64| writes.iter().filter(|other| other == page).count() as u64 == times;
                prop_assert_eq!(pages.iter().filter(written).count() as u64, count);
            }
            let (counts, (rows, columns)) = intervals.time_address();
            let mut expected = vec![0; counts.len()];
            for (at, page) in writes.iter().enumerate() {
                let row = at as u64 * rows / writes.len() as u64;
                let column = (page - extent.start) * columns / (extent.end - extent.start);
                expected[(row * columns + column) as usize] += 1;
            }
            prop_assert_eq!(counts, expected);
        }
    }

    /// Uniform writes to N pages: one of the next W writes hits a page with probability `1 - (1 - 1/N)^W`.
    #[test]
    fn uniform_writes_follow_the_closed_form() {
        let pages = 1000_u64;
        let uniform = Workload {
            requests: 400_000,
            reads: 0.0,
            sizes: vec![(PAGE as u32, 1.0)],
            span_bytes: pages * PAGE,
            ..workload("uniform", &[])
        };
        let logs = [30, 100, 500, 1000, 2500];
        let (_, intervals) = analyse(&generate(&uniform), &logs);
        for window in intervals.windows() {
            let share = |writes: u64| writes as f64 / intervals.page_writes() as f64;
            let expected = |log: u64| 1.0 - (1.0 - 1.0 / pages as f64).powi(log as i32);
            // The first write of each page (1 in 400 writes) has no write interval. The standard deviations of the
            // measured shares are below 0.0008.
            let (once, twice) = (share(window.hot_writes), share(window.hot_writes + window.warm_writes));
            assert!((once - expected(window.log_pages)).abs() < 0.006, "{once} of {}", window.log_pages);
            assert!((twice - expected(2 * window.log_pages)).abs() < 0.006, "{twice} of {}", window.log_pages);
        }
    }

    #[test]
    fn page_sizes_out_of_range_are_rejected() {
        for bytes in [0, 511, (1 << 30) + 1] {
            assert!(WrittenPages::new(bytes).unwrap_err().to_string().contains("512B to 1GiB"));
        }
    }

    #[test]
    fn writes_at_the_end_of_the_address_space_are_counted() {
        let end = [request(0, Op::Write, u64::MAX - 100, 100), request(0, Op::Write, u64::MAX - 9000, 9000)];
        let (written, intervals) = analyse(&end, &[1]);
        assert_eq!((written.pages(), intervals.page_writes()), (3, 4));
    }
}
