//! Measures sequentiality: requests that continue the previous request of their operation, the previous request of
//! their stream, or any open sequential run.

use ssdlab_core::LatencyHistogram;

use super::by_kind::KINDS;
use crate::Request;

/// Maximum number of open runs per operation.
const OPEN: usize = 32;
/// End address that marks an unused entry; no request begins at this address.
const NOWHERE: u64 = u64::MAX;

/// A sequential run: each request begins where the previous request of the run ended.
#[derive(Clone, Copy, Debug, Default)]
struct OpenRun {
    requests: u64,
    /// Sequence number of the run's first request among all requests.
    first: u64,
    last: u64,
}

/// Open runs of one operation, replaced by the CLOCK algorithm: a run that was continued since the hand last passed
/// gets a second chance.
#[derive(Clone, Debug)]
struct OpenRuns {
    /// End address of each open sequential run.
    ends: [u64; OPEN],
    runs: [OpenRun; OPEN],
    used: usize,
    hand: usize,
    /// Bit mask of the runs that were continued since the CLOCK hand last passed them.
    continued: u32,
    /// Index of the run that contains the latest request.
    latest: usize,
}

/// Sequentiality of the requests of one operation.
#[derive(Clone, Debug, Default)]
pub struct SequentialRuns {
    /// Number of requests that begin where the previous request of their operation ended.
    pub after_kind: u64,
    /// Number of requests that begin where the previous request of their operation and stream ended; requests without a
    /// stream count as one stream.
    pub after_stream: u64,
    /// Number of requests that continue any open sequential run.
    pub continuing: u64,
    /// Mean number of runs in progress. A run is in progress from its first to its last request. Its span is counted in
    /// requests of any operation, and the sum of all spans is divided by the total number of requests.
    pub concurrent: f64,
    /// Histogram of run lengths, in requests. A request that is not continued is a run of length 1.
    pub lengths: LatencyHistogram,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    kinds: [Kind; KINDS],
    /// Number of requests so far.
    position: u64,
    /// For each stream: the end address of its last request of each operation, and whether the stream has made any
    /// request.
    streams: Vec<([u64; KINDS], bool)>,
}

#[derive(Clone, Debug, Default)]
struct Kind {
    /// Address at which the latest request of the operation ended.
    end: Option<u64>,
    /// Statistics of the requests and of the closed runs, except for the mean number of runs in progress.
    figures: SequentialRuns,
    /// Sum of the spans of the closed runs. A span is the difference between the sequence numbers of the last and the
    /// first request.
    spans: u64,
    open: OpenRuns,
}

impl Default for OpenRuns {
    fn default() -> Self {
        Self { ends: [NOWHERE; OPEN], runs: [OpenRun::default(); OPEN], used: 0, hand: 0, continued: 0, latest: 0 }
    }
}

impl OpenRuns {
    fn find(&self, offset: u64) -> Option<usize> {
        if self.ends[self.latest] == offset {
            return Some(self.latest);
        }
        self.ends.iter().position(|&end| end == offset)
    }

    /// Returns the index of the entry to use for a new sequential run. If the entry is in use, the caller must first
    /// close the run in it.
    fn place(&mut self) -> usize {
        if self.used < OPEN {
            self.used += 1;
            return self.used - 1;
        }
        while self.continued & 1 << self.hand != 0 {
            self.continued &= !(1 << self.hand);
            self.hand = (self.hand + 1) % OPEN;
        }
        let place = self.hand;
        self.hand = (self.hand + 1) % OPEN;
        place
    }
}

impl Kind {
    fn close(&mut self, run: OpenRun) {
        if run.requests > 0 {
            self.figures.lengths.record(run.requests);
            self.spans += run.last - run.first;
        }
    }

    fn add(&mut self, offset: u64, end: u64, position: u64) {
        self.figures.after_kind += u64::from(self.end.replace(end) == Some(offset));
        let place = if let Some(place) = self.open.find(offset) {
            self.figures.continuing += 1;
            self.open.continued |= 1 << place;
            self.open.runs[place].requests += 1;
            self.open.runs[place].last = position;
            place
        } else {
            let place = self.open.place();
            self.close(self.open.runs[place]);
            self.open.runs[place] = OpenRun { requests: 1, first: position, last: position };
            place
        };
        self.open.ends[place] = end;
        self.open.latest = place;
    }
}

impl Runs {
    pub fn add(&mut self, request: &Request) {
        let (kind, stream, end) = (request.op as usize, usize::from(request.stream), request.end_or_last());
        if self.streams.len() <= stream {
            self.streams.resize(stream + 1, ([NOWHERE; KINDS], false));
        }
        let (ends, seen) = &mut self.streams[stream];
        let own = &mut self.kinds[kind];
        own.figures.after_stream += u64::from(ends[kind] == request.offset);
        (ends[kind], *seen) = (end, true);
        own.add(request.offset, end, self.position);
        self.position += 1;
    }

    /// Returns the number of named streams with requests; stream 0 (no stream) is not counted.
    pub fn streams(&self) -> u64 {
        self.streams.iter().skip(1).filter(|(_, seen)| *seen).count() as u64
    }

    /// Returns the run statistics of each operation. Open runs count at their current length.
    pub fn figures(&self) -> [SequentialRuns; KINDS] {
        self.kinds.each_ref().map(|kind| {
            let mut kind = kind.clone();
            for run in kind.open.runs {
                kind.close(run);
            }
            SequentialRuns { concurrent: kind.spans as f64 / self.position.max(1) as f64, ..kind.figures }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use crate::testing::request;

    fn runs(offsets: impl IntoIterator<Item = u64>) -> SequentialRuns {
        let mut runs = Runs::default();
        offsets.into_iter().for_each(|offset| runs.add(&request(0, Op::Write, offset, 100)));
        runs.figures()[Op::Write as usize].clone()
    }

    #[test]
    fn interleaved_streams_are_separate_runs() {
        let figures = runs((0..3000).map(|n| (n % 3) * 1_000_000 + n / 3 * 100));
        assert_eq!((figures.after_kind, figures.continuing), (0, 2997));
        assert_eq!(figures.lengths.buckets(), [(1000, 1008, 3)]);
        assert!((figures.concurrent - 3.0).abs() < 0.01, "{}", figures.concurrent);
    }

    #[test]
    fn a_run_stays_open_while_31_others_begin() {
        for (others, continuing) in [(31, 1), (32, 0)] {
            let others = (0..others).map(|n| 10_000 + n * 1000);
            assert_eq!(runs([0].into_iter().chain(others).chain([100])).continuing, continuing);
        }
        // The run at address 0 is continued once, which gives it a second chance: other runs are evicted first.
        let others = (0..50).map(|n| 10_000 + n * 1000);
        assert_eq!(runs([0, 100].into_iter().chain(others).chain([200])).continuing, 2);
    }
}
