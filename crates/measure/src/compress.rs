//! How far codecs shrink the pages of files, and how long that takes.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use ssdlab_codec::{Codec, CodecSpec};

use crate::Time;
use crate::clock::Stopwatch;
use crate::threads::{TooMany, result, together};
use crate::watch::until_ended;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// The codecs, in turns within each run.
    pub codecs: Vec<CodecSpec>,
    /// Length of a page in bytes, or none for whole files. The last page of a file may be shorter.
    pub page_bytes: Option<usize>,
    /// Threads that compress and restore at the same time, each a part of the pages with a codec of its own.
    pub threads: usize,
    /// Longest share of a page, up to 1, at which it is kept compressed; it has to be shorter than the page in any
    /// case.
    pub keep: f64,
    /// Whether each page gets new contexts, and new memory when it is compressed, as in the program of Harper 2018.
    pub fresh: bool,
    /// Runs measured, after one that is checked and not timed.
    pub runs: usize,
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The codec keeps no bytes.
    #[error("the codec {0} keeps no bytes, so that there is nothing to measure; leave it out")]
    Modelled(CodecSpec),
    /// The codec has no context.
    #[error("the codec {0} could not be set up: {1}")]
    Codec(CodecSpec, io::Error),
    /// The codec does not restore what it was given.
    #[error("the codec {0} did not restore a page of {1} bytes; its times would mean nothing")]
    Wrong(CodecSpec, usize),
    /// There are not so many threads.
    #[error(transparent)]
    Threads(#[from] TooMany),
    /// The caller wants no more.
    #[error("stopped")]
    Stopped,
}

/// What became of the pages of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Pages, the last of which may be short.
    pub pages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes to keep for them.
    pub stored_bytes: u64,
    /// Of the pages, those that did not shrink enough and are kept as they are.
    pub raw_pages: u64,
    /// Their bytes.
    pub raw_bytes: u64,
}

/// Times of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Compressing the pages of each file, summed over threads.
    pub compress: Vec<Time>,
    /// Restoring them.
    pub decompress: Vec<Time>,
    /// When all threads together compressed.
    pub compress_span: Span,
    /// When they restored.
    pub decompress_span: Span,
}

/// From the first page begun to the last page done, in nanoseconds since the measurement began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    begin_ns: u64,
    end_ns: u64,
}

impl Span {
    /// Its length, in nanoseconds.
    pub fn ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }

    /// The span of both; one of no length is none.
    fn with(self, other: Self) -> Self {
        match (self.ns(), other.ns()) {
            (0, _) => other,
            (_, 0) => self,
            _ => Self { begin_ns: self.begin_ns.min(other.begin_ns), end_ns: self.end_ns.max(other.end_ns) },
        }
    }
}

/// What was found out about one codec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// For each file.
    pub files: Vec<Stored>,
    /// For each run.
    pub runs: Vec<Run>,
}

/// A page: its file and where it lies there.
#[derive(Clone, Copy)]
struct Page {
    file: usize,
    from: usize,
    to: usize,
}

/// Measures every codec of `options` on `files`; one result for each. `go_on` is asked now and then, and told how many
/// runs of a codec are done, the one to warm up included.
///
/// A page that does not shrink enough is kept as it is, and copying it counts as restoring it.
///
/// # Errors
/// See [`Error`].
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
    // Of each thread.
    let parts_done = AtomicU64::new(0);
    let all = thread::scope(|scope| -> Result<Vec<Vec<Measured>>, TooMany> {
        let (ended, ends) = channel::<()>();
        let work = |thread: usize| {
            let part = &pages[thread * pages.len() / threads..(thread + 1) * pages.len() / threads];
            let (stop, barrier, failed, ended) = (&stop, &barrier, &failed, ended.clone());
            let parts_done = &parts_done;
            move || {
                let _ended = ended;
                Worker { files, part, stop, epoch, barrier, failed, parts_done }.work(options)
            }
        };
        let workers = together(scope, threads, work)?;
        drop(ended);
        until_ended(&ends, &stop, &mut || go_on(parts_done.load(Relaxed) / threads as u64));
        Ok(workers.into_iter().map(result).collect())
    })?;
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    if stop.into_inner() {
        return Err(Error::Stopped);
    }
    Ok((0..options.codecs.len()).map(|codec| joined(all.iter().map(|worker| &worker[codec]))).collect())
}

/// Longest result with which a page is kept compressed.
fn longest(page: &[u8], keep: f64) -> usize {
    ((page.len() as f64 * keep) as usize).min(page.len() - 1)
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

/// The results of all threads as one.
fn joined<'a>(parts: impl Iterator<Item = &'a Measured>) -> Measured {
    let mut sum = Measured::default();
    for part in parts {
        sum.files.resize(part.files.len(), Stored::default());
        for (sum, part) in sum.files.iter_mut().zip(&part.files) {
            sum.pages += part.pages;
            sum.bytes += part.bytes;
            sum.stored_bytes += part.stored_bytes;
            sum.raw_pages += part.raw_pages;
            sum.raw_bytes += part.raw_bytes;
        }
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

/// One thread with its part of the pages.
struct Worker<'a, F> {
    files: &'a [F],
    part: &'a [Page],
    stop: &'a AtomicBool,
    epoch: Instant,
    barrier: &'a Barrier,
    failed: &'a Mutex<Option<Error>>,
    parts_done: &'a AtomicU64,
}

impl<F: AsRef<[u8]>> Worker<'_, F> {
    fn work(&self, options: &Options) -> Vec<Measured> {
        let mut found = vec![Measured::default(); options.codecs.len()];
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
            for (at, measured) in found.iter_mut().enumerate() {
                // Whoever stops comes to every barrier all the same, or others would wait for ever.
                self.barrier.wait();
                let (compress, compress_span) = match codecs.get_mut(at) {
                    Some(codec) if options.fresh => self.compress_afresh(options, at, codec, &mut out, &mut lengths),
                    Some(codec) => self.compress(&mut **codec, options.keep, &mut out, &mut lengths),
                    None => Default::default(),
                };
                self.barrier.wait();
                let checked = run == 0;
                let (decompress, decompress_span) = match codecs.get_mut(at) {
                    Some(codec) => self.decompress(options, at, codec, &out, &lengths, &mut restored, checked),
                    None => Default::default(),
                };
                if checked {
                    measured.files = self.stored(&lengths);
                } else {
                    measured.runs.push(Run { compress, decompress, compress_span, decompress_span });
                }
                self.parts_done.fetch_add(1, Relaxed);
            }
        }
        found
    }

    fn fail(&self, error: Error) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Relaxed);
    }

    /// Compresses the part, each page to where it would lie raw. Clocks are read where files change.
    fn compress(
        &self,
        codec: &mut dyn Codec,
        keep: f64,
        out: &mut [u8],
        lengths: &mut [Option<usize>],
    ) -> (Vec<Time>, Span) {
        let mut place = 0;
        self.timed(|at, page| {
            let room = &mut out[place..place + page.len()];
            place += page.len();
            lengths[at] = codec.compress(page, &mut room[..longest(page, keep)]);
            if lengths[at].is_none() {
                room.copy_from_slice(page);
            }
            true
        })
    }

    /// The same with a new context and new memory for each page. What is found is kept until the end, so that no memory
    /// is used twice, and then moved to where it lies raw.
    fn compress_afresh(
        &self,
        options: &Options,
        number: usize,
        codec: &mut Box<dyn Codec>,
        out: &mut [u8],
        lengths: &mut [Option<usize>],
    ) -> (Vec<Time>, Span) {
        let mut rooms = Vec::with_capacity(self.part.len());
        let times = self.timed(|at, page| {
            if !self.renew(codec, &options.codecs[number]) {
                return false;
            }
            let mut room = vec![0; page.len()];
            lengths[at] = codec.compress(page, &mut room[..longest(page, options.keep)]);
            if lengths[at].is_none() {
                room.copy_from_slice(page);
            }
            rooms.push(room);
            true
        });
        let mut place = 0;
        for room in rooms {
            out[place..place + room.len()].copy_from_slice(&room);
            place += room.len();
        }
        times
    }

    /// Whether a new codec could be had in place of this one.
    fn renew(&self, codec: &mut Box<dyn Codec>, spec: &CodecSpec) -> bool {
        match spec.build() {
            Ok(new) => *codec = new,
            Err(error) => {
                self.fail(Error::Codec(spec.clone(), error));
                return false;
            }
        }
        true
    }

    #[expect(clippy::too_many_arguments, reason = "the state of one thread, of which each is a part")]
    fn decompress(
        &self,
        options: &Options,
        number: usize,
        codec: &mut Box<dyn Codec>,
        out: &[u8],
        lengths: &[Option<usize>],
        restored: &mut [u8],
        checked: bool,
    ) -> (Vec<Time>, Span) {
        let spec = &options.codecs[number];
        let mut place = 0;
        self.timed(|at, page| {
            if options.fresh && !self.renew(codec, spec) {
                return false;
            }
            let restored = &mut restored[..page.len()];
            let bytes = &out[place..];
            place += page.len();
            let sound = match lengths[at] {
                Some(length) => codec.decompress(&bytes[..length], restored).is_ok(),
                None => {
                    restored.copy_from_slice(&bytes[..page.len()]);
                    true
                }
            };
            if !sound || checked && restored != page {
                self.fail(Error::Wrong(spec.clone(), page.len()));
                return false;
            }
            true
        })
    }

    /// Does something with each page: the times for each file, and when that was.
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
            let stored = &mut files[page.file];
            let bytes = page.to - page.from;
            stored.pages += 1;
            stored.bytes += bytes as u64;
            stored.stored_bytes += length.unwrap_or(bytes) as u64;
            if length.is_none() {
                stored.raw_pages += 1;
                stored.raw_bytes += bytes as u64;
            }
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

    /// Ten thousand bytes of one value, as many that no codec shrinks, nothing, one byte.
    fn files() -> Vec<Vec<u8>> {
        let mut state = 1_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        vec![vec![7; 10_000], (0..10_000).map(|_| noise()).collect(), vec![], vec![1]]
    }

    #[test]
    fn every_byte_is_counted_once_whatever_the_threads() {
        let files = files();
        let of = |threads| {
            measure(&files, &options(&["lz4", "zstd:1", "none"], Some(4096), threads), &mut |_| true).unwrap()
        };
        let one = of(1);
        for threads in [1, 2, 3, 100] {
            for (codec, other) in one.iter().zip(of(threads)) {
                assert_eq!(codec.files, other.files);
                assert_eq!(other.runs.len(), 2);
            }
        }
        let lz4 = &one[0].files;
        assert_eq!(lz4.iter().map(|file| file.pages).collect::<Vec<_>>(), [3, 3, 0, 1]);
        assert_eq!(lz4.iter().map(|file| file.bytes).collect::<Vec<_>>(), [10_000, 10_000, 0, 1]);
        assert!(lz4[0].stored_bytes < 200 && lz4[0].raw_pages == 0);
        assert_eq!((lz4[1].stored_bytes, lz4[1].raw_pages), (10_000, 3), "what does not shrink is kept as it is");
        assert!(one[2].files.iter().all(|file| file.stored_bytes == file.bytes && file.raw_pages == file.pages));
    }

    #[test]
    fn lengths_are_those_of_the_codec_by_itself() {
        let files = files();
        let found = measure(&files, &options(&["zstd:3"], Some(1000), 2), &mut |_| true).unwrap();
        let mut codec = "zstd:3".parse::<CodecSpec>().unwrap().build().unwrap();
        for (file, stored) in files.iter().zip(&found[0].files) {
            let mut room = vec![0; 2000];
            let bytes = file.chunks(1000).map(|page| codec.compress(page, &mut room).unwrap().min(page.len()));
            assert_eq!(bytes.sum::<usize>() as u64, stored.stored_bytes);
        }
    }

    #[test]
    fn what_shrinks_too_little_is_kept_as_it_is() {
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
    fn new_contexts_change_no_length() {
        let of = |fresh| {
            let options = Options { fresh, ..options(&["lz4", "zstd:3"], Some(4096), 2) };
            measure(&files(), &options, &mut |_| true).unwrap().into_iter().map(|codec| codec.files).collect::<Vec<_>>()
        };
        assert_eq!(of(true), of(false));
    }

    #[test]
    fn whole_files_are_one_page_each() {
        let found = measure(&files(), &options(&["lz4"], None, 2), &mut |_| true).unwrap();
        assert_eq!(found[0].files.iter().map(|file| file.pages).collect::<Vec<_>>(), [1, 1, 0, 1]);
    }

    #[test]
    fn stops_when_asked_and_refuses_models() {
        let long = vec![files()[1].repeat(2000); 2];
        let error = measure(&long, &options(&["zlib:9"], Some(4096), 2), &mut |_| false).unwrap_err();
        assert!(matches!(error, Error::Stopped), "{error}");
        let error = measure(&long, &options(&["modelled"], None, 1), &mut |_| true).unwrap_err();
        assert!(error.to_string().contains("keeps no bytes"), "{error}");
    }
}
