//! Measures the compression ratios and times of codecs on the pages of files.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Instant;

use ssdlab_codec::{Codec, CodecSpec};
use ssdlab_core::counters;

use crate::Time;
use crate::clock::Stopwatch;
use crate::threads::{TooMany, run};

/// Options for measuring codecs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Codecs to measure. Each run measures all codecs, one after the other.
    pub codecs: Vec<CodecSpec>,
    /// Page length in bytes; `None` treats each file as one page. The last page of a file may be shorter.
    pub page_bytes: Option<usize>,
    /// Number of concurrent threads. Each thread has its own codec and its share of the pages.
    pub threads: usize,
    /// Maximum compressed size, as a fraction of the page size, at which a page is kept compressed. Even at 1, a page
    /// that does not shrink is kept uncompressed.
    pub keep: f64,
    /// True if each page gets a new codec and a new output buffer, as in Harper's program (2018).
    pub fresh: bool,
    /// Number of timed runs, after one untimed run that checks the restored pages.
    pub runs: usize,
}

/// Reasons why measuring codecs can fail.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The codec only models compression, so it cannot be measured.
    #[error("codec {0} only models compression, so it cannot be measured; remove it")]
    Modelled(CodecSpec),
    /// The codec could not allocate its context.
    #[error("codec {0} could not be set up: {1}")]
    Codec(CodecSpec, io::Error),
    /// The codec did not correctly restore a page of the given length in bytes.
    #[error("codec {0} did not restore a page of {1} bytes correctly, so its times are meaningless")]
    Wrong(CodecSpec, usize),
    /// The system could not start all threads.
    #[error(transparent)]
    Threads(#[from] TooMany),
    /// The caller cancelled the measurement.
    #[error("stopped")]
    Stopped,
}

counters! {
    /// Number of pages of a file, and the file's size before and after compression.
    pub struct Stored {
        pages: "pages", "Pages, including a short last page.";
        bytes: "bytes", "Total length of the pages of the file.";
        stored_bytes: "bytes", "Total length of the pages after compression, including pages kept uncompressed.";
        raw_pages: "pages", "Pages kept uncompressed because they did not shrink enough.";
        raw_bytes: "bytes", "Total length of the pages kept uncompressed.";
    }
}

/// Compression and decompression times of one timed run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Compression time of each file, summed over threads.
    pub compress: Vec<Time>,
    /// Decompression time of each file, summed over threads.
    pub decompress: Vec<Time>,
    /// Period in which threads compressed pages: from the first thread's start to the last thread's end.
    pub compress_span: Span,
    /// Period in which threads decompressed pages: from the first thread's start to the last thread's end.
    pub decompress_span: Span,
}

/// Period from the start of work on the first page to the end of work on the last page, in nanoseconds since the
/// measurement began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    begin_ns: u64,
    end_ns: u64,
}

impl Span {
    /// Returns the length of the period, in nanoseconds.
    pub fn ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }

    /// Returns the shortest period that covers both periods. An empty period is ignored.
    fn with(self, other: Self) -> Self {
        match (self.ns(), other.ns()) {
            (0, _) => other,
            (_, 0) => self,
            _ => Self { begin_ns: self.begin_ns.min(other.begin_ns), end_ns: self.end_ns.max(other.end_ns) },
        }
    }
}

/// Results of measuring one codec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Sizes of each file before and after compression.
    pub files: Vec<Stored>,
    /// Compression and decompression times of each timed run.
    pub runs: Vec<Run>,
}

/// Position of a page in the corpus: index of its file, and byte range within the file.
#[derive(Clone, Copy)]
struct Page {
    file: usize,
    from: usize,
    to: usize,
}

/// Measures every codec of `options` on `files` and returns one result per codec.
///
/// The callback `go_on` is called periodically with the number of completed runs of a codec, including warm-up runs; if
/// it returns false, the measurement is cancelled. A page that does not shrink enough is kept uncompressed; copying it
/// counts as decompression.
pub fn measure<F: AsRef<[u8]> + Sync>(
    files: &[F],
    options: &Options,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<Measured>, Error> {
    for spec in &options.codecs {
        let codec = spec.build().map_err(|error| Error::Codec(spec.clone(), error))?;
        if codec.modelled().is_some() {
            return Err(Error::Modelled(spec.clone()));
        }
    }
    let pages = pages(files, options.page_bytes);
    let threads = options.threads.clamp(1, pages.len().max(1));
    let epoch = Instant::now();
    let (stop, barrier, failed) = (AtomicBool::new(false), Barrier::new(threads), Mutex::new(None));
    // Number of completed runs of a codec, summed over the threads.
    let parts_done = AtomicU64::new(0);
    let work = |thread: usize| {
        let part = &pages[thread * pages.len() / threads..(thread + 1) * pages.len() / threads];
        let (stop, barrier, failed, parts_done) = (&stop, &barrier, &failed, &parts_done);
        let worker = Worker { options, files, part, stop, epoch, barrier, failed, parts_done };
        move || worker.work()
    };
    let go_on = &mut || go_on(parts_done.load(Relaxed) / threads as u64);
    let by_thread = run(threads, work, || (), &stop, go_on)?;
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    if stop.into_inner() {
        return Err(Error::Stopped);
    }
    Ok((0..options.codecs.len()).map(|codec| sum(by_thread.iter().map(|worker| &worker[codec]))).collect())
}

/// Compresses a page to `room`, which is as long as the page. If the page does not shrink to the fraction `keep` of its
/// size, copies it and returns None.
fn compress_page(codec: &mut dyn Codec, page: &[u8], keep: f64, room: &mut [u8]) -> Option<usize> {
    let longest = ((page.len() as f64 * keep) as usize).min(page.len() - 1);
    let length = codec.compress(page, &mut room[..longest]);
    if length.is_none() {
        room.copy_from_slice(page);
    }
    length
}

fn pages<F: AsRef<[u8]>>(files: &[F], page_bytes: Option<usize>) -> Vec<Page> {
    let mut pages = Vec::new();
    for (file, bytes) in files.iter().enumerate() {
        let length = bytes.as_ref().len();
        let step = page_bytes.unwrap_or(length).max(1);
        pages.extend((0..length).step_by(step).map(|from| Page { file, from, to: length.min(from + step) }));
    }
    pages
}

/// Sums the results of one codec over all threads.
fn sum<'a>(parts: impl Iterator<Item = &'a Measured>) -> Measured {
    let mut sum = Measured::default();
    for part in parts {
        sum.files.resize(part.files.len(), Stored::default());
        sum.files.iter_mut().zip(&part.files).for_each(|(sum, part)| *sum += *part);
        sum.runs.resize(part.runs.len(), Run::default());
        for (sum, part) in sum.runs.iter_mut().zip(&part.runs) {
            for (sum, part) in [(&mut sum.compress, &part.compress), (&mut sum.decompress, &part.decompress)] {
                sum.resize(part.len(), Time::default());
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += *part);
            }
            sum.compress_span = sum.compress_span.with(part.compress_span);
            sum.decompress_span = sum.decompress_span.with(part.decompress_span);
        }
    }
    sum
}

/// One thread of the measurement, with its share of the pages.
struct Worker<'a, F> {
    options: &'a Options,
    files: &'a [F],
    part: &'a [Page],
    stop: &'a AtomicBool,
    epoch: Instant,
    barrier: &'a Barrier,
    failed: &'a Mutex<Option<Error>>,
    parts_done: &'a AtomicU64,
}

impl<F: AsRef<[u8]>> Worker<'_, F> {
    fn work(&self) -> Vec<Measured> {
        let options = self.options;
        let mut results = vec![Measured::default(); options.codecs.len()];
        let mut codecs = Vec::new();
        for spec in &options.codecs {
            match spec.build() {
                Ok(codec) => codecs.push(codec),
                Err(error) => self.fail(Error::Codec(spec.clone(), error)),
            }
        }
        let longest = self.part.iter().map(|page| page.to - page.from).max().unwrap_or(0);
        let mut out = vec![0; self.part.iter().map(|page| page.to - page.from).sum()];
        let mut lengths = vec![None; self.part.len()];
        let mut restored = vec![0; longest];
        for run in 0..=options.runs {
            for (at, measured) in results.iter_mut().enumerate() {
                // Even a failed thread must reach every barrier; otherwise the other threads would wait forever.
                self.barrier.wait();
                let compressed = codecs.get_mut(at).map(|codec| self.compress(at, codec, &mut out, &mut lengths));
                let (compress, compress_span) = compressed.unwrap_or_default();
                self.barrier.wait();
                let checked = run == 0;
                let decompressed =
                    codecs.get_mut(at).map(|codec| self.decompress(at, codec, &out, &lengths, &mut restored, checked));
                let (decompress, decompress_span) = decompressed.unwrap_or_default();
                if checked {
                    measured.files = self.stored(&lengths);
                } else {
                    measured.runs.push(Run { compress, decompress, compress_span, decompress_span });
                }
                self.parts_done.fetch_add(1, Relaxed);
            }
        }
        results
    }

    fn fail(&self, error: Error) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Relaxed);
    }

    /// Compresses the pages of this thread. Writes each compressed page to `out`, at the offset of the uncompressed
    /// page.
    fn compress(
        &self,
        number: usize,
        codec: &mut Box<dyn Codec>,
        out: &mut [u8],
        lengths: &mut [Option<usize>],
    ) -> (Vec<Time>, Span) {
        let mut place = 0;
        if !self.options.fresh {
            return self.timed(|at, page| {
                lengths[at] = compress_page(&mut **codec, page, self.options.keep, &mut out[place..place + page.len()]);
                place += page.len();
                true
            });
        }
        // All new buffers are freed only at the end, so that the allocator does not reuse them.
        let mut buffers = Vec::with_capacity(self.part.len());
        let times = self.timed(|at, page| {
            if !self.renew(codec, &self.options.codecs[number]) {
                return false;
            }
            let mut buffer = vec![0; page.len()];
            lengths[at] = compress_page(&mut **codec, page, self.options.keep, &mut buffer);
            buffers.push(buffer);
            true
        });
        for buffer in &buffers {
            out[place..place + buffer.len()].copy_from_slice(buffer);
            place += buffer.len();
        }
        times
    }

    /// Replaces `codec` with a new codec with the same parameters; returns false if creating it failed.
    fn renew(&self, codec: &mut Box<dyn Codec>, spec: &CodecSpec) -> bool {
        let renewed = spec.build().map(|new| *codec = new);
        renewed.map_err(|error| self.fail(Error::Codec(spec.clone(), error))).is_ok()
    }

    fn decompress(
        &self,
        number: usize,
        codec: &mut Box<dyn Codec>,
        out: &[u8],
        lengths: &[Option<usize>],
        restored: &mut [u8],
        checked: bool,
    ) -> (Vec<Time>, Span) {
        let spec = &self.options.codecs[number];
        let mut place = 0;
        self.timed(|at, page| {
            if self.options.fresh && !self.renew(codec, spec) {
                return false;
            }
            let restored = &mut restored[..page.len()];
            let bytes = &out[place..];
            place += page.len();
            let decoded = match lengths[at] {
                Some(length) => codec.decompress(&bytes[..length], restored).is_ok(),
                None => {
                    restored.copy_from_slice(&bytes[..page.len()]);
                    true
                }
            };
            if !decoded || checked && restored != page {
                self.fail(Error::Wrong(spec.clone(), page.len()));
                return false;
            }
            true
        })
    }

    /// Calls `work` for each page until `work` returns false. Returns the time spent on each file, and the period from
    /// the start of the first call to the end of the last call.
    fn timed(&self, mut work: impl FnMut(usize, &[u8]) -> bool) -> (Vec<Time>, Span) {
        let mut times = vec![Time::default(); self.files.len()];
        let begin_ns = self.epoch.elapsed().as_nanos() as u64;
        let mut watch = Stopwatch::start();
        for (at, page) in self.part.iter().enumerate() {
            if self.stop.load(Relaxed) || !work(at, &self.files[page.file].as_ref()[page.from..page.to]) {
                break;
            }
            if self.part.get(at + 1).is_none_or(|next| next.file != page.file) {
                let time = watch.lap();
                times[page.file] += time;
            }
        }
        (times, Span { begin_ns, end_ns: self.epoch.elapsed().as_nanos() as u64 })
    }

    fn stored(&self, lengths: &[Option<usize>]) -> Vec<Stored> {
        let mut files = vec![Stored::default(); self.files.len()];
        for (page, length) in self.part.iter().zip(lengths) {
            let bytes = (page.to - page.from) as u64;
            let stored_bytes = length.map_or(bytes, |length| length as u64);
            let (raw_pages, raw_bytes) = if length.is_none() { (1, bytes) } else { (0, 0) };
            files[page.file] += Stored { pages: 1, bytes, stored_bytes, raw_pages, raw_bytes };
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(codecs: &[&str], page_bytes: Option<usize>, threads: usize) -> Options {
        let codecs = codecs.iter().map(|text| text.parse().unwrap()).collect();
        Options { codecs, page_bytes, threads, keep: 1.0, fresh: false, runs: 2 }
    }

    /// Returns 10,000 equal bytes, 10,000 incompressible bytes, an empty file and a file of one byte.
    fn files() -> Vec<Vec<u8>> {
        let mut state = 1_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        vec![vec![7; 10_000], (0..10_000).map(|_| noise()).collect(), vec![], vec![1]]
    }

    #[test]
    fn every_byte_is_counted_once_for_any_number_of_threads() {
        let files = files();
        let measure_with = |threads| {
            measure(&files, &options(&["lz4", "zstd:1", "none"], Some(4096), threads), &mut |_| true).unwrap()
        };
        let single = measure_with(1);
        for threads in [1, 2, 3, 100] {
            for (codec, other) in single.iter().zip(measure_with(threads)) {
                assert_eq!(codec.files, other.files);
                assert_eq!(other.runs.len(), 2);
            }
        }
        let lz4 = &single[0].files;
        assert_eq!(lz4.iter().map(|file| file.pages).collect::<Vec<_>>(), [3, 3, 0, 1]);
        assert_eq!(lz4.iter().map(|file| file.bytes).collect::<Vec<_>>(), [10_000, 10_000, 0, 1]);
        assert!(lz4[0].stored_bytes < 200 && lz4[0].raw_pages == 0);
        assert_eq!((lz4[1].stored_bytes, lz4[1].raw_pages), (10_000, 3), "incompressible pages are kept raw");
        assert!(single[2].files.iter().all(|file| file.stored_bytes == file.bytes && file.raw_pages == file.pages));
    }

    #[test]
    fn lengths_match_direct_calls_of_the_codec() {
        let files = files();
        let measured = measure(&files, &options(&["zstd:3"], Some(1000), 2), &mut |_| true).unwrap();
        let mut codec = "zstd:3".parse::<CodecSpec>().unwrap().build().unwrap();
        for (file, stored) in files.iter().zip(&measured[0].files) {
            let mut out = vec![0; 2000];
            let bytes = file.chunks(1000).map(|page| codec.compress(page, &mut out).unwrap().min(page.len()));
            assert_eq!(bytes.sum::<usize>() as u64, stored.stored_bytes);
        }
    }

    #[test]
    fn pages_that_shrink_too_little_are_kept_raw() {
        let mut half = files().swap_remove(1);
        half[5_000..].fill(7);
        let kept = |keep| {
            let options = Options { keep, ..options(&["lz4"], None, 1) };
            measure(&[&half], &options, &mut |_| true).unwrap()[0].files[0]
        };
        assert!((5_000..5_200).contains(&kept(0.52).stored_bytes) && kept(0.52).raw_pages == 0);
        let raw = kept(0.5);
        assert_eq!((raw.stored_bytes, raw.raw_pages, raw.raw_bytes), (10_000, 1, 10_000));
    }

    #[test]
    fn fresh_contexts_do_not_change_lengths() {
        let measure_with = |fresh| {
            let options = Options { fresh, ..options(&["lz4", "zstd:3"], Some(4096), 2) };
            measure(&files(), &options, &mut |_| true).unwrap().into_iter().map(|codec| codec.files).collect::<Vec<_>>()
        };
        assert_eq!(measure_with(true), measure_with(false));
    }

    #[test]
    fn whole_files_are_one_page_each() {
        let measured = measure(&files(), &options(&["lz4"], None, 2), &mut |_| true).unwrap();
        assert_eq!(measured[0].files.iter().map(|file| file.pages).collect::<Vec<_>>(), [1, 1, 0, 1]);
    }

    #[test]
    fn stops_when_cancelled_and_rejects_modelled_codecs() {
        let long = vec![files()[1].repeat(2000); 2];
        let error = measure(&long, &options(&["zlib:9"], Some(4096), 2), &mut |_| false).unwrap_err();
        assert!(matches!(error, Error::Stopped), "{error}");
        let error = measure(&long, &options(&["modelled"], None, 1), &mut |_| true).unwrap_err();
        assert!(error.to_string().contains("only models compression"), "{error}");
    }
}
