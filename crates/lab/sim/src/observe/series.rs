//! The measured phase as a series of epochs with equal numbers of requests.
//!
//! The length of a run is not known in advance. So epochs start short. Whenever there are [`MAX_EPOCHS`], epochs are
//! merged in pairs and double in length. Memory is bounded, and identical runs give identical epochs.

use ssdlab_core::{Counters, counters};
use ssdlab_trace::Op;

use crate::run::steady::Written;

const MAX_EPOCHS: usize = 512;
const FIRST_EPOCH_REQUESTS: u64 = 16;

counters! {
    /// Work done and time spent: totals so far, or the amounts of one epoch.
    pub struct Tally {
        host_pages_written: "pages", "Pages the host wrote.";
        flash_pages_programmed: "pages", "All pages programmed, including copies and map pages.";
        pages_copied: "pages", "Pages programmed without a host request: copies and map pages.";
        blocks_erased: "blocks", "Blocks erased.";
        read_requests: "requests", "Read requests completed.";
        read_latency_sum_ns: "ns", "Sum of the response times of read requests.";
        write_requests: "requests", "Write requests completed.";
        write_latency_sum_ns: "ns", "Sum of the response times of write requests.";
    }
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    end_request: u64,
    end_time_ns: u64,
    tally: Tally,
    longest: Longest,
}

/// Longest response times of reads and writes, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Longest {
    read_ns: u64,
    write_ns: u64,
}

/// Time series of the measured phase: totals for each of at most 512 epochs.
#[derive(Clone, Debug)]
pub struct Series {
    epochs: Vec<Epoch>,
    epoch_requests: u64,
    /// Number of requests until the current epoch ends. Counts down, because comparing with 0 is fast.
    left: u64,
    requests: u64,
    last: Tally,
    longest: Longest,
}

impl Series {
    /// Creates an empty series whose totals begin with `start`.
    pub(crate) fn new(start: Tally) -> Self {
        Self {
            epochs: Vec::with_capacity(MAX_EPOCHS),
            epoch_requests: FIRST_EPOCH_REQUESTS,
            left: FIRST_EPOCH_REQUESTS,
            requests: 0,
            last: start,
            longest: Longest::default(),
        }
    }

    /// Records the response time of a request. Must be called before [`Self::request_done`].
    #[inline]
    pub(crate) fn request_took(&mut self, op: Op, latency_ns: u64) {
        match op {
            Op::Read => self.longest.read_ns = self.longest.read_ns.max(latency_ns),
            Op::Write => self.longest.write_ns = self.longest.write_ns.max(latency_ns),
            Op::Trim | Op::Flush => {}
        }
    }

    /// Counts a completed request. If this request ends an epoch, calls `totals`.
    #[inline]
    pub(crate) fn request_done(&mut self, totals: impl FnOnce() -> (u64, Tally)) {
        self.left -= 1;
        if self.left == 0 {
            self.requests += self.epoch_requests;
            self.end_epoch(totals());
            self.left = self.epoch_requests;
        }
    }

    fn end_epoch(&mut self, (end_time_ns, total): (u64, Tally)) {
        let longest = std::mem::take(&mut self.longest);
        self.epochs.push(Epoch { end_request: self.requests, end_time_ns, tally: total - self.last, longest });
        self.last = total;
        if self.epochs.len() == MAX_EPOCHS {
            self.epochs = self
                .epochs
                .chunks_exact(2)
                .map(|pair| {
                    let mut tally = pair[0].tally;
                    tally += pair[1].tally;
                    let (first, second) = (pair[0].longest, pair[1].longest);
                    let longest = Longest {
                        read_ns: first.read_ns.max(second.read_ns),
                        write_ns: first.write_ns.max(second.write_ns),
                    };
                    Epoch { tally, longest, ..pair[1] }
                })
                .collect();
            self.epoch_requests *= 2;
        }
    }

    /// Ends the current epoch. Work after the last request, such as programming buffered pages, counts towards the last
    /// epoch.
    pub(crate) fn finish(&mut self, totals: (u64, Tally)) {
        if self.left < self.epoch_requests {
            self.requests += self.epoch_requests - self.left;
            self.end_epoch(totals);
        } else if let Some(epoch) = self.epochs.last_mut() {
            epoch.tally += totals.1 - self.last;
            epoch.end_time_ns = totals.0;
            self.last = totals.1;
        }
    }

    /// Returns the number of pages that the host wrote, and the number of pages programmed, in the last epochs of the
    /// run: as few epochs as contain at least `host_pages` host writes together. `None` if the host wrote fewer pages
    /// in the whole run.
    pub(crate) fn latest(&self, host_pages: u64) -> Option<Written> {
        let mut latest = Written::default();
        self.epochs.iter().rev().find_map(|Epoch { tally, .. }| {
            latest.host_pages += tally.host_pages_written;
            latest.programmed += tally.flash_pages_programmed;
            (latest.host_pages >= host_pages).then_some(latest)
        })
    }

    /// Returns the number of requests completed by `time_ns` after the start of measuring, to within an epoch.
    pub(crate) fn requests_by(&self, time_ns: u64) -> u64 {
        let next = self.epochs.partition_point(|epoch| epoch.end_time_ns <= time_ns);
        let (requests, from_ns) =
            next.checked_sub(1).map_or((0, 0), |last| (self.epochs[last].end_request, self.epochs[last].end_time_ns));
        let Some(epoch) = self.epochs.get(next) else { return requests };
        let share = (time_ns - from_ns) as f64 / (epoch.end_time_ns - from_ns) as f64;
        requests + ((epoch.end_request - requests) as f64 * share) as u64
    }

    /// Returns the series as named columns of equal length. `requests` and `time_ns` give the end of each epoch,
    /// counted from the start of measuring. `_max_ns` columns hold the longest response times of the epoch. All other
    /// columns are increments.
    pub fn columns(&self) -> Vec<(&'static str, Vec<u64>)> {
        let mut columns = vec![
            ("requests", self.epochs.iter().map(|epoch| epoch.end_request).collect()),
            ("time_ns", self.epochs.iter().map(|epoch| epoch.end_time_ns).collect()),
        ];
        columns.extend(
            Tally::columns(self.epochs.iter().map(|epoch| epoch.tally)).map(|(counter, column)| (counter.name, column)),
        );
        columns.push(("read_latency_max_ns", self.epochs.iter().map(|epoch| epoch.longest.read_ns).collect()));
        columns.push(("write_latency_max_ns", self.epochs.iter().map(|epoch| epoch.longest.write_ns).collect()));
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_stay_bounded_and_lose_nothing() {
        for requests in [0_u64, 1, 15, 16, 17, 8_191, 8_192, 100_003] {
            let mut series = Series::new(Tally::default());
            let total = |n: u64| (n * 10, Tally { host_pages_written: n * 3, ..Tally::default() });
            for n in 1..=requests {
                series.request_done(|| total(n));
            }
            // The last epoch also counts the work done after the last request.
            let more = u64::from(requests > 0);
            let (time_ns, tally) = total(requests);
            series.finish((time_ns, Tally { flash_pages_programmed: more, ..tally }));
            assert_eq!(series.epochs.iter().map(|epoch| epoch.tally.flash_pages_programmed).sum::<u64>(), more);
            let columns = series.columns();
            assert!(columns[0].1.len() <= MAX_EPOCHS);
            assert_eq!(columns[0].1.last().copied().unwrap_or(0), requests);
            assert_eq!(columns[2].1.iter().sum::<u64>(), requests * 3, "{requests} requests");
        }
    }
}
