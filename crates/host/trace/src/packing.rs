//! Packs the addresses of a trace: removes the pages that are never read or written, and keeps the order of all other
//! pages.
//!
//! A first pass collects the used pages as runs of consecutive pages. Packing closes the gaps between runs; a byte
//! keeps its offset within its page. Memory grows only with the number of runs.

use std::ops::Range;

use crate::{Job, JobOutcome, Op, Progress, Request, Source, TraceError};

/// Minimum number of new ranges that are collected before they are merged into the runs.
const FRESH: usize = 1 << 16;

/// The pages that requests read or write.
#[derive(Clone, Debug)]
pub struct UsedPages {
    page_shift: u32,
    /// Runs of used pages in address order, with gaps between them.
    runs: Vec<Range<u64>>,
    /// Ranges of used pages that are not yet merged into the runs.
    fresh: Vec<Range<u64>>,
}

impl UsedPages {
    /// Creates an empty set of used pages. Panics if `page_bytes` is not a power of two.
    pub fn new(page_bytes: u32) -> Self {
        assert!(page_bytes.is_power_of_two(), "page size {page_bytes} is not a power of two");
        Self { page_shift: page_bytes.ilog2(), runs: Vec::new(), fresh: Vec::new() }
    }

    /// Adds the pages of requests, in any order.
    pub fn add(&mut self, requests: &[Request]) {
        for request in requests.iter().filter(|request| uses(request)) {
            let pages = pages(request, self.page_shift);
            match self.fresh.last_mut() {
                Some(last) if last.start <= pages.start && pages.start <= last.end => {
                    last.end = last.end.max(pages.end)
                }
                _ => self.fresh.push(pages),
            }
            if self.fresh.len() >= FRESH.max(self.runs.len()) {
                self.merge();
            }
        }
    }

    /// True if no request used a page.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.fresh.is_empty()
    }

    /// Merges the new page ranges into the sorted runs, and joins ranges that overlap or touch.
    fn merge(&mut self) {
        self.runs.append(&mut self.fresh);
        self.runs.sort_unstable_by_key(|run| run.start);
        self.runs.dedup_by(|next, run| {
            let touches = next.start <= run.end;
            if touches {
                run.end = run.end.max(next.end);
            }
            touches
        });
    }

    /// Assigns consecutive new numbers to the used pages, in address order.
    pub fn pack(mut self) -> Packing {
        self.merge();
        let mut packed = 0;
        let place = |pages: Range<u64>| {
            let run = PageRun { first: pages.start, end: pages.end, packed };
            packed += pages.end - pages.start;
            run
        };
        Packing { page_shift: self.page_shift, runs: self.runs.into_iter().map(place).collect() }
    }
}

/// True if the pages of the request count as used. A trim uses no pages, because a page that is only trimmed never
/// holds data.
fn uses(request: &Request) -> bool {
    matches!(request.op, Op::Read | Op::Write) && request.bytes > 0
}

/// Returns the pages touched by a request of at least one byte.
fn pages(request: &Request, page_shift: u32) -> Range<u64> {
    let last = request.offset.saturating_add(u64::from(request.bytes) - 1);
    request.offset >> page_shift..(last >> page_shift) + 1
}

/// A run of consecutive pages that are used.
#[derive(Clone, Copy, Debug)]
struct PageRun {
    first: u64,
    /// First page after the run of used pages.
    end: u64,
    /// Page number of `first` after packing, which removes the unused pages.
    packed: u64,
}

/// Map from the page numbers of a trace to consecutive page numbers without gaps.
#[derive(Clone, Debug)]
pub struct Packing {
    page_shift: u32,
    /// Runs of used pages, in ascending order of their page numbers in the trace. Packing keeps this order.
    runs: Vec<PageRun>,
}

impl Packing {
    /// Returns the end of the packed address space: the first byte after its last page.
    pub fn end_bytes(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.packed + (run.end - run.first)) << self.page_shift
    }

    /// Returns the number of runs of used pages.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Returns the request at its new address, after the used pages have been moved together without gaps. A trim
    /// shrinks to the used pages in its range. Returns `None` for a trim of unused pages only. Fails if the request
    /// uses a page that the first pass did not see.
    pub fn pack(&self, request: &Request) -> Result<Option<Request>, TraceError> {
        if request.bytes == 0 {
            return Ok(Some(*request));
        }
        if !uses(request) {
            return Ok(self.pack_trim(request));
        }
        let pages = pages(request, self.page_shift);
        match self.run_of(pages.start) {
            Some(run) if run.first <= pages.start && pages.end <= run.end => {
                let moved_by = (run.first - run.packed) << self.page_shift;
                Ok(Some(Request { offset: request.offset - moved_by, ..*request }))
            }
            _ => Err(TraceError::Invalid(format!(
                "the trace changed between its two passes: only the second pass accesses byte {}; wait until the files \
                 are complete",
                request.offset
            ))),
        }
    }

    fn pack_trim(&self, request: &Request) -> Option<Request> {
        let offset = self.place(request.offset);
        let end = self.place(request.end_or_last());
        // Packing never makes a trim longer, so its length still fits 32 bits.
        (offset < end).then(|| Request { offset, bytes: (end - offset) as u32, ..*request })
    }

    /// Returns the new address of a byte after packing. If the page of the byte is unused, returns the new address of
    /// the next used page.
    fn place(&self, byte: u64) -> u64 {
        let page = byte >> self.page_shift;
        let Some(run) = self.run_of(page) else { return 0 };
        if page < run.end {
            byte - ((run.first - run.packed) << self.page_shift)
        } else {
            (run.packed + (run.end - run.first)) << self.page_shift
        }
    }

    /// Returns the last run of used pages that begins at or before the page.
    fn run_of(&self, page: u64) -> Option<&PageRun> {
        let behind = self.runs.partition_point(|run| run.first <= page);
        self.runs[..behind].last()
    }
}

/// A source that packs the addresses of another source: it closes the gaps between used pages.
pub struct Packed<'a> {
    source: &'a mut (dyn Source + Send),
    packing: &'a Packing,
}

impl<'a> Packed<'a> {
    /// Packs the requests of `source`; `packing` must cover all their pages.
    pub fn new(source: &'a mut (dyn Source + Send), packing: &'a Packing) -> Self {
        Self { source, packing }
    }

    /// Takes requests from the source with `fill`, packs them and appends them to `out`. Returns the number of appended
    /// requests; 0 means the end.
    fn fill_from(
        &mut self,
        out: &mut Vec<Request>,
        mut fill: impl FnMut(&mut dyn Source, &mut Vec<Request>) -> Result<usize, TraceError>,
    ) -> Result<usize, TraceError> {
        let before = out.len();
        // If a batch contains only trims of unused pages, nothing of it remains. The next batch is then taken, because
        // a result of 0 would mean the end of the source.
        while out.len() == before && fill(self.source, out)? > 0 {
            let mut kept = before;
            for index in before..out.len() {
                if let Some(packed) = self.packing.pack(&out[index])? {
                    out[kept] = packed;
                    kept += 1;
                }
            }
            out.truncate(kept);
        }
        Ok(out.len() - before)
    }
}

impl Source for Packed<'_> {
    fn prepare(&mut self) -> Result<bool, TraceError> {
        self.source.prepare()
    }

    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        self.fill_from(out, |source, out| source.fill(out, max))
    }

    fn progress(&self) -> Progress {
        self.source.progress()
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        self.source.rewind()
    }

    fn jobs(&self) -> &[Job] {
        self.source.jobs()
    }

    fn fill_job(&mut self, job: usize, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        self.fill_from(out, |source, out| source.fill_job(job, out, max))
    }

    fn jobs_done(&mut self, outcomes: Vec<JobOutcome>) {
        self.source.jobs_done(outcomes);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::SliceSource;

    const PAGE: u64 = 4096;

    fn request(op: Op, offset: u64, bytes: u32) -> Request {
        Request { time_ns: 0, offset, bytes, op, flags: 0, stream: 0 }
    }

    fn packed(requests: &[Request], known: &[Request]) -> Result<Vec<Request>, TraceError> {
        let mut used = UsedPages::new(PAGE as u32);
        used.add(known);
        let packing = used.pack();
        let (mut source, mut out) = (SliceSource::new(requests), Vec::new());
        let mut source = Packed::new(&mut source, &packing);
        while source.fill(&mut out, 7)? > 0 {}
        Ok(out)
    }

    /// Reference implementation: the new number of a page is the number of used pages before it.
    fn twin(requests: &[Request]) -> Vec<Request> {
        let touched = |request: &Request| request.offset / PAGE..=(request.end() - 1) / PAGE;
        let used: BTreeSet<u64> =
            requests.iter().filter(|request| matches!(request.op, Op::Read | Op::Write)).flat_map(touched).collect();
        let place = |byte: u64| -> u64 {
            let before = used.range(..byte / PAGE).count() as u64 * PAGE;
            if used.contains(&(byte / PAGE)) { before + byte % PAGE } else { before }
        };
        let pack = |request: &Request| match request.op {
            Op::Flush => Some(*request),
            _ => {
                let (offset, end) = (place(request.offset), place(request.end()));
                (offset < end).then(|| Request { offset, bytes: (end - offset) as u32, ..*request })
            }
        };
        requests.iter().filter_map(pack).collect()
    }

    fn requests() -> impl Strategy<Value = Vec<Request>> {
        let op = prop_oneof![4 => Just(Op::Write), 3 => Just(Op::Read), 2 => Just(Op::Trim), 1 => Just(Op::Flush)];
        let offset = prop_oneof![0_u64..200, 0_u64..5_000].prop_map(|units| units * 512);
        let request = (op, offset, 1_u32..60).prop_map(|(op, offset, sectors)| match op {
            Op::Flush => request(op, 0, 0),
            _ => request(op, offset, sectors * 512),
        });
        prop::collection::vec(request, 0..120)
    }

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        #[test]
        fn packing_matches_the_reference(requests in requests()) {
            prop_assert_eq!(packed(&requests, &requests).unwrap(), twin(&requests));
        }

        /// The used pages do not depend on when new ranges are merged into the runs.
        #[test]
        fn runs_do_not_depend_on_when_they_are_merged(requests in requests()) {
            let mut used = UsedPages::new(PAGE as u32);
            for chunk in requests.chunks(3) {
                used.add(chunk);
                used.merge();
            }
            let packing = used.pack();
            prop_assert!(packing.runs.windows(2).all(|pair| pair[0].end < pair[1].first));
            let all: Vec<Request> =
                requests.iter().filter_map(|request| packing.pack(request).expect("known")).collect();
            prop_assert_eq!(all, twin(&requests));
        }
    }

    #[test]
    fn page_offsets_are_kept_and_no_request_passes_the_end() {
        let requests = [request(Op::Write, (1 << 40) + 512, 8192), request(Op::Read, 100 * PAGE, 4096)];
        assert_eq!(
            packed(&requests, &requests).unwrap(),
            [request(Op::Write, PAGE + 512, 8192), request(Op::Read, 0, 4096)]
        );
        let mut used = UsedPages::new(PAGE as u32);
        used.add(&requests);
        let packing = used.pack();
        assert_eq!((packing.end_bytes(), packing.runs()), (4 * PAGE, 2));
    }

    #[test]
    fn a_trim_of_the_whole_device_shrinks_to_the_used_pages() {
        let write = request(Op::Write, 50 * PAGE, 4096);
        let trims = [request(Op::Trim, 0, 1 << 31), request(Op::Trim, 0, 4096)];
        let known = [trims[0], write, trims[1]];
        assert_eq!(packed(&known, &known).unwrap(), [request(Op::Trim, 0, 4096), request(Op::Write, 0, 4096)]);
    }

    #[test]
    fn the_last_addressable_byte_is_packed() {
        let last = request(Op::Write, u64::MAX - 4095, 4096);
        assert_eq!(packed(&[last], &[last]).unwrap(), [request(Op::Write, 0, 4096)]);
    }

    #[test]
    fn a_page_unknown_to_the_first_pass_is_an_error() {
        let error = packed(&[request(Op::Read, PAGE, 4096)], &[request(Op::Read, 0, 4096)]).unwrap_err();
        assert!(error.to_string().contains("only the second pass accesses byte 4096"), "{error}");
    }

    #[test]
    fn nothing_packs_to_nothing() {
        assert_eq!(UsedPages::new(512).pack().end_bytes(), 0);
        assert_eq!(packed(&[request(Op::Trim, 0, 4096)], &[]).unwrap(), []);
    }
}
