//! Block requests of Filebench on ext4. Models threads that work on files, a page cache, a journal and write-back on a
//! nominal device.
//!
//! Filebench produces complete requests, while other patterns draw address, size, operation and time of a request
//! independently; [`super::Generator`] supports both. The model is in `trace` because it needs only requests and random
//! numbers.
//!
//! Events happen in time order; simultaneous events happen in the order of scheduling. A nominal device determines the
//! completion times. These times determine the order in which threads, write-back and journal work, but do not predict
//! the timing of a real device. So a closed-loop replay should keep only the order within each process.
//!
//! - **The file system has no access to threads or the device.** It returns the bios of a read, a write-back or a
//!   commit. `threads.rs` and `write_back.rs` drive it with events; `device.rs` only computes completion times.
//! - **The run first creates its files** on the same file system, unrecorded. The measured run starts with the pages
//!   that creation left in memory, so the model needs no separate rule for the initial state of the page cache.
//! - **An operation that finds too few free blocks changes nothing.** It is retried after the commit that frees blocks.
//! - **Think times are exponential.** With constant think times, threads would stay in step, and data written at the
//!   same time would later be read in the order of its blocks.
//!
//! Read-ahead requests exactly the pages that are read, because a read of 1 MiB exceeds the window of 128 KiB
//! (mm/readahead.c, `ondemand_readahead`). Metadata is always in memory. If two threads read the same page at the same
//! time, the device reads the page once.

mod allocator;
mod device;
mod directories;
mod file_set;
mod file_system;
mod journal;
mod layout;
mod page_cache;
mod personality;
mod threads;
mod write_back;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use rustc_hash::FxHashMap;
use ssdlab_core::units::write_bytes;
use ssdlab_core::{Bytes, Rng};

use super::Requests;
use super::check::{ensure, wrong};
use crate::{Filebench, Op, Request, Seeding, TraceError};
use device::Device;
use file_set::{FileSet, Members};
use file_system::{Bio, FileSystem, Full};
use layout::{BLOCK, DiskLayout};
use personality::Database;
pub use personality::{PERSONALITIES, Personality, PersonalityRules, Step, Work};
use threads::Thread;
use write_back::{Commit, Flusher, Throttle};

/// Maximum number of threads: each thread is a [`Request::stream`], and the kernel adds two streams.
const THREADS_MAX: u32 = 65_000;
/// Smallest span of a workload with a file system, in bytes.
pub const FILE_SYSTEM_MIN: u64 = DiskLayout::BYTES_MIN;
/// Maximum number of files; a run keeps about 100 bytes per file, 1 GB in total.
pub const FILES_MAX: u32 = 10_000_000;
/// Margin for the fileset size, in standard deviations above the mean. About one seed in 30,000 produces a fileset that
/// exceeds the margin and fills the file system during the run.
const DEVIATIONS: f64 = 4.0;
/// Time in ns from a transaction's first change to its commit.
const COMMIT_NS: u64 = 5_000_000_000;
/// Interval in ns between the flusher's checks for expired pages.
const FLUSH_NS: u64 = 5_000_000_000;

/// Number of events between two checks for interrupts while the fileset is created. These events take a few
/// milliseconds.
const EVENTS_AT_A_TIME: u32 = 4096;

/// Component of the simulated system that handles an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Actor {
    /// The process that creates the files.
    Creator,
    Thread(u32),
    /// The journal thread, jbd2.
    Journal,
    /// Commit timer of the transaction with this number.
    CommitTimer(u32),
    Flusher,
    FlushTimer,
    /// The device, which has finished writing back the given number of pages.
    Written(u32),
}

/// Progress of creating the fileset.
#[derive(Clone, Debug)]
struct Creation {
    unvisited: Members,
    rng: Rng,
    file: Option<u32>,
    written: u64,
    log: bool,
}

/// A run of a Filebench personality.
#[derive(Debug)]
pub(super) struct FilebenchRun {
    filebench: Filebench,
    fs: FileSystem,
    device: Device,
    set: FileSet,
    /// Number of bytes to write when a file is created or rewritten as a whole, for each file.
    sizes: Vec<u64>,
    creation: Creation,
    threads: Vec<Thread>,
    /// Random generator of Filebench's process, shared by its threads.
    rng: Rng,
    think_rng: Rng,
    database: Option<Database>,
    /// Numbers of the database threads that are waiting for other threads.
    idle: Vec<u32>,
    /// Pages (file and page number) that database threads are reading or writing, each with its completion time and
    /// operation.
    moving: FxHashMap<(u32, u32), (u64, Op)>,
    throttle: Throttle,
    commit: Commit,
    flusher: Flusher,
    events: BinaryHeap<Reverse<(u64, u64, Actor)>>,
    events_set: u64,
    /// Block I/O requests (bios) of the current event.
    bios: Vec<Bio>,
    /// Requests of the measured run that the caller has not received yet.
    out: VecDeque<Request>,
    recording: bool,
    first_ns: Option<u64>,
}

impl Requests for FilebenchRun {
    /// Returns the names of the user threads, then of the kernel threads.
    fn streams(&self) -> Vec<String> {
        let threads = self.threads.iter().enumerate().map(|(number, thread)| thread.name(number));
        threads.chain(["jbd2".into(), "flusher".into()]).collect()
    }

    /// Handles at most [`EVENTS_AT_A_TIME`] events of the fileset's creation. Returns true if the creation is
    /// unfinished.
    fn prepare(&mut self) -> Result<bool, TraceError> {
        for _ in 0..EVENTS_AT_A_TIME {
            if self.recording {
                break;
            }
            self.step()?;
        }
        Ok(!self.recording)
    }

    fn fill(&mut self, out: &mut Vec<Request>, indices: Range<u64>) -> Result<(), TraceError> {
        for _ in indices {
            out.push(self.next()?);
        }
        Ok(())
    }
}

impl FilebenchRun {
    /// Creates a run; [`check`] must have accepted the settings. The fileset is created with the first request.
    pub fn new(filebench: &Filebench, span_bytes: u64, seed: u64) -> Self {
        let Filebench { personality, files, file_bytes, threads, .. } = *filebench;
        let cache_pages = (filebench.cache_bytes / BLOCK) as u32;
        let max_bio = filebench.max_bio_bytes / BLOCK as u32;
        let all = files + u32::from(personality.role.log_bytes.is_some());
        let fs = FileSystem::new(span_bytes, cache_pages, all, personality.role.files_per_directory, max_bio);
        let mut rng = Rng::named(seed, "filebench.size");
        let size = |_| if personality.role.gamma { gamma(file_bytes, &mut rng) } else { file_bytes };
        let sizes: Vec<u64> = (0..files).map(size).collect();
        let process = |number: u32| match filebench.seeding {
            Seeding::Filebench => Rng::named(seed, "filebench.process"),
            Seeding::Independent => Rng::named(seed, &format!("filebench.process.{number}")),
        };
        let database = match personality.role.work {
            Work::Loop(_) => None,
            Work::Database => Some(Database::new(threads, files, file_bytes, process)),
        };
        Self {
            fs,
            device: Device::new(filebench.depth, filebench.service_ns, filebench.bytes_per_s),
            set: FileSet::new(files),
            sizes,
            creation: Creation {
                unvisited: Members::all(files),
                rng: Rng::named(seed, "filebench.creation"),
                file: None,
                written: 0,
                log: personality.role.log_bytes.is_some(),
            },
            threads: Thread::all(personality, threads, files),
            rng: process(0),
            think_rng: Rng::named(seed, "filebench.think"),
            database,
            idle: Vec::new(),
            moving: FxHashMap::default(),
            throttle: Throttle::new(cache_pages),
            commit: Commit::default(),
            flusher: Flusher::default(),
            events: BinaryHeap::from([Reverse((0, 0, Actor::Creator)), Reverse((FLUSH_NS, 1, Actor::FlushTimer))]),
            events_set: 2,
            bios: Vec::new(),
            out: VecDeque::new(),
            recording: false,
            first_ns: None,
            filebench: filebench.clone(),
        }
    }

    fn next(&mut self) -> Result<Request, TraceError> {
        loop {
            if let Some(request) = self.out.pop_front() {
                return Ok(request);
            }
            self.step()?;
        }
    }

    /// Handles the next event of the simulated system.
    fn step(&mut self) -> Result<(), TraceError> {
        let Some(Reverse((now_ns, _, actor))) = self.events.pop() else {
            let why = "all threads are deadlocked, which is a bug in ssdlab; report it with the settings";
            return wrong("pattern", why);
        };
        self.act(actor, now_ns).map_err(|Full| TraceError::Full)
    }

    fn act(&mut self, actor: Actor, now_ns: u64) -> Result<(), Full> {
        if self.turn(actor, now_ns).is_err() {
            self.retry_after_commit(actor, now_ns)?;
        }
        if !self.fs.journal.is_clean() && self.commit.timed != self.fs.journal.number() {
            self.commit.timed = self.fs.journal.number();
            self.at(now_ns + COMMIT_NS, Actor::CommitTimer(self.commit.timed));
        }
        if self.fs.journal.is_large() {
            self.want_commit(now_ns);
        }
        Ok(())
    }

    fn turn(&mut self, actor: Actor, now_ns: u64) -> Result<(), Full> {
        match actor {
            Actor::Thread(thread) => return self.thread(thread, now_ns),
            Actor::Flusher => return self.flush(now_ns),
            Actor::Creator => self.create_fileset(now_ns),
            Actor::Journal => self.journal(now_ns),
            Actor::CommitTimer(transaction) => {
                if transaction == self.fs.journal.number() {
                    self.want_commit(now_ns);
                }
            }
            Actor::FlushTimer => self.flush_aged(now_ns),
            Actor::Written(pages) => self.written(pages, now_ns),
        }
        Ok(())
    }

    /// Schedules an event of `actor` at the given time.
    fn at(&mut self, time_ns: u64, actor: Actor) {
        self.events.push(Reverse((time_ns, self.events_set, actor)));
        self.events_set += 1;
    }

    /// Sends the collected bios to the device; returns the completion time of the last bio.
    fn submit(&mut self, now_ns: u64, stream: u16) -> u64 {
        let mut done_ns = now_ns;
        for Bio { op, block, blocks, flags } in self.bios.drain(..) {
            let bytes = u64::from(blocks) * BLOCK;
            done_ns = done_ns.max(self.device.submit(now_ns, bytes));
            if self.recording {
                let first_ns = *self.first_ns.get_or_insert(now_ns);
                let (time_ns, offset) = (now_ns - first_ns, u64::from(block) * BLOCK);
                self.out.push_back(Request { time_ns, offset, bytes: bytes as u32, op, flags, stream });
            }
        }
        done_ns
    }

    /// Draws the time in ns until a thread's next operation. The distribution is exponential, so that threads do not
    /// run in lockstep.
    fn think_ns(&mut self) -> u64 {
        (exponential(&mut self.think_rng) * self.filebench.think_ns as f64) as u64
    }

    fn journal_stream(&self) -> u16 {
        self.threads.len() as u16 + 1
    }

    fn flusher_stream(&self) -> u16 {
        self.threads.len() as u16 + 2
    }

    /// Creates the fileset as Filebench does: visits the files in random order, and creates each file with the given
    /// probability.
    fn create_fileset(&mut self, now_ns: u64) {
        let creation = &mut self.creation;
        while creation.file.is_none() {
            if std::mem::take(&mut creation.log) {
                creation.file = Some(self.filebench.files);
                continue;
            }
            let Some(file) = creation.unvisited.next(creation.rng.below(self.filebench.files.into()) as u32) else {
                self.recording = true;
                (0..self.threads.len() as u32).for_each(|thread| self.at(now_ns, Actor::Thread(thread)));
                return;
            };
            creation.unvisited.flip(file);
            if creation.rng.unit() < self.filebench.personality.role.existing {
                self.set.flip(file);
                creation.file = Some(file);
            }
        }
        let Some(file) = creation.file else { return };
        let bytes = self.sizes.get(file as usize).copied().or(self.filebench.personality.role.log_bytes).unwrap_or(0);
        if creation.written == 0 {
            self.fs.create(file, now_ns);
        }
        let piece = (bytes - self.creation.written).min(threads::IO_BYTES);
        self.fs.write(file, self.creation.written, piece, now_ns);
        self.creation.written += piece;
        if self.creation.written == bytes {
            (self.creation.file, self.creation.written) = (None, 0);
        }
        let think_ns = self.think_ns();
        self.go_on(Actor::Creator, now_ns + think_ns, now_ns);
    }
}

/// Checks, without a simulation, that the personality can run in `span_bytes`.
pub(super) fn check(filebench: &Filebench, span_bytes: u64) -> Result<(), TraceError> {
    let Filebench { personality, files, file_bytes, threads, cache_bytes, max_bio_bytes, .. } = *filebench;
    let is_database = personality.role.work == Work::Database;
    let writers = if is_database { Database::roles(0, files).count() as u32 } else { 0 };
    let most = THREADS_MAX - writers;
    let change = if threads == 0 { "raise it to 1".into() } else { format!("lower it to {most}") };
    ensure!((1..=most).contains(&threads), "threads", "{threads} is outside the range 1 to {most}; {change}");
    let [span, least, most] = [span_bytes, DiskLayout::BYTES_MIN, DiskLayout::BYTES_MAX].map(write_bytes);
    let is_large = span_bytes >= DiskLayout::BYTES_MIN;
    ensure!(is_large, "span_bytes", "a span of {span} is too small for a file system; raise it to {least}");
    let why = format!("a span of {span} exceeds the range of ext4's 32-bit block numbers; lower it to {most}");
    ensure!(span_bytes <= DiskLayout::BYTES_MAX, "span_bytes", "{why}");
    let layout = DiskLayout::new(span_bytes);
    let logs = u32::from(personality.role.log_bytes.is_some());
    let room = |files: u32| FileSystem::room(&layout, files + logs, personality.role.files_per_directory);
    let most = || largest(FILES_MAX, |files| room(files).is_some());
    ensure!(files > 0, "files", "the number of files must not be 0; raise it to 1");
    let why = format!("the number of files {files} is too large for the span of {span}");
    ensure!(files <= FILES_MAX && room(files).is_some(), "files", "{why}; lower it to {}", most());
    if !is_database && files <= threads {
        let (why, most) =
            (format!("{threads} threads that each keep a file open need more than {files} files"), most());
        let least = threads + 1;
        ensure!(most < least, "files", "the number of files is too small: {why}; raise it to {least}");
        let why = format!("{why}, but the span of {span} has room for only {most} files; lower it to {}", most - 1);
        return wrong("threads", format!("the number of threads is too large: {why}"));
    }
    for (field, bytes) in [("file_bytes", file_bytes), ("max_bio_bytes", max_bio_bytes.into())] {
        let [size, page] = [bytes, BLOCK].map(write_bytes);
        ensure!(bytes >= BLOCK, field, "{size} is smaller than a page; raise it to {page}");
    }
    let free = room(files).unwrap_or(0) as f64 * BLOCK as f64 - personality.role.log_bytes.unwrap_or(0) as f64;
    // Rounding up to whole blocks adds less than one block per file. The standard deviation of a gamma distribution of
    // shape 1.5 is the mean divided by the square root of 1.5.
    let (count, beyond) = (f64::from(files), if personality.role.gamma { BLOCK as f64 } else { 0.0 });
    let deviations = if personality.role.gamma { DEVIATIONS * libm::sqrt(count / 1.5) } else { 0.0 };
    let whole = file_bytes.next_multiple_of(BLOCK) as f64;
    let needed = whole * (count + deviations) + beyond * count;
    let most = write_bytes(((free - beyond * count) / (count + deviations)) as u64 / BLOCK * BLOCK);
    let (size, total, left) = (write_bytes(file_bytes), Bytes(needed as u64), Bytes(free as u64));
    let why = format!(
        "the file size {size} is too large: {files} files need {total}, but the span of {span} leaves only {left}"
    );
    ensure!(needed <= free, "file_bytes", "{why}; lower it to {most}");
    let cache_min = BLOCK * 1024;
    let [size, nearest] = [cache_bytes, cache_bytes.clamp(cache_min, DiskLayout::BYTES_MAX)].map(write_bytes);
    let is_valid = (cache_min..=DiskLayout::BYTES_MAX).contains(&cache_bytes);
    ensure!(is_valid, "cache_bytes", "the cache size {size} is out of range; set it to {nearest}");
    let why = "with a think time of 0, simulated time would stop once all data is cached; raise it to 1us";
    ensure!(filebench.think_ns > 0, "think_ns", "{why}");
    ensure!(filebench.depth > 0, "depth", "a device with depth 0 serves no requests; raise it to 1");
    ensure!(filebench.bytes_per_s > 0, "bytes_per_s", "the link bandwidth must not be 0; raise it to 1 B/s");
    Ok(())
}

/// Returns the largest number up to `most` for which `holds` is true. `holds` must also be true for all smaller
/// numbers.
fn largest(most: u32, holds: impl Fn(u32) -> bool) -> u32 {
    let (mut most, mut beyond) = (0, most + 1);
    while beyond - most > 1 {
        let middle = most + (beyond - most) / 2;
        if holds(middle) { most = middle } else { beyond = middle }
    }
    most
}

/// Draws a size from a gamma distribution of shape 1.5: an exponential plus half a squared normal variate.
fn gamma(mean: u64, rng: &mut Rng) -> u64 {
    let (first, second) = (exponential(rng), exponential(rng));
    let cosine = libm::cos(std::f64::consts::TAU * rng.unit());
    ((first + second * cosine * cosine) * mean as f64 / 1.5) as u64
}

/// Draws from the exponential distribution of mean 1.
fn exponential(rng: &mut Rng) -> f64 {
    -libm::log(1.0 - rng.unit())
}

#[cfg(test)]
mod tests;
