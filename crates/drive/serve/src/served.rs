//! A drive as an export of the NBD server.
//!
//! A lock guards the drive. A long request is executed in slices, and waiting clients get a turn after each slice.
//! Slices end at page boundaries, so that each page is written, trimmed or read in one piece. The recorded trace and
//! the simulated drive receive one request per slice, in the order of execution.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use ssdlab_core::{LatencyHistogram, PageSize};
use ssdlab_device::{Backend, Drive, DriveError, Zeroed};
use ssdlab_nand::Counts;
use ssdlab_nbd::{BlockSizes, DeferredReply, Errno, Export, ExportResult, Extent, Lag, ReplyTime, Zeroing, latest};
use ssdlab_sim::{FlashSummary, HostCounters, LatencyByOp};
use ssdlab_trace::{Op, Request, flag};

use crate::clock::{Clock, Pace};
use crate::fair_mutex::{FairGuard, FairMutex};
use crate::report::{ClientCounters, Report, Start, TimingReport, Zeroes};

/// Maximum size in bytes of a slice of a read or write.
const MOST_MOVED: u64 = 1 << 20;

/// Slice size of trims and of allocation look-ups in bytes.
const MOST_TRIMMED: u64 = 64 << 20;

/// Maximum number of buffered pages that one slice of a flush programs.
const MOST_FLUSHED: u32 = 256;

/// Number of programmed bytes after which the file is synced, without waiting for a flush or checkpoint. Otherwise, a
/// flush or checkpoint might have to sync a large amount while all clients wait.
const MOST_UNSYNCED: u64 = 16 << 20;

/// Maximum number of unfinished slices that a request may have in the simulated drive: enough to keep all dies busy,
/// but so few that other requests do not wait long.
const MOST_AHEAD: usize = 8;

type StoredDrive = Drive<Box<dyn Backend>>;

/// A drive that is exported to NBD clients.
pub struct Served {
    size_bytes: u64,
    page: PageSize,
    description: String,
    pace: Pace,
    clock: Option<Clock>,
    start: Start,
    /// Flash operations of the mount, before the first client connects; includes programs of pages from a protected
    /// buffer.
    before: Counts,
    /// File that stores the drive, if any.
    file: Option<File>,
    state: FairMutex<ServedState>,
}

struct ServedState {
    drive: StoredDrive,
    /// Number of programmed pages at the time of the latest sync of the file.
    synced_pages: u64,
    /// Error of the final flush, if any.
    fault: Option<DriveError>,
    host: HostCounters,
    zeroes: Zeroes,
    /// Recorded requests; `None` if requests are not recorded.
    record: Option<Vec<Request>>,
    /// Arrival time of the latest request in ns; unique for each request.
    came_ns: u64,
    /// Time at which the simulated drive received the latest request, in ns; unique for each request.
    given_ns: u64,
}

impl Served {
    /// Creates an export of a mounted drive; `file` is the file that stores the drive, if any. Replies wait for
    /// `clock`, which runs at `pace`.
    pub(crate) fn new(
        drive: StoredDrive,
        file: Option<File>,
        description: String,
        start: Start,
        pace: Pace,
        clock: Option<Clock>,
        record: bool,
    ) -> Self {
        Self {
            size_bytes: drive.capacity_bytes(),
            page: PageSize::new(drive.geometry().page_bytes),
            description,
            pace,
            clock,
            start,
            before: *drive.counts(),
            file,
            state: FairMutex::new(ServedState {
                synced_pages: drive.counts().programmed(),
                fault: None,
                drive,
                host: HostCounters::default(),
                zeroes: Zeroes::default(),
                record: record.then(Vec::new),
                came_ns: 0,
                given_ns: 0,
            }),
        }
    }

    /// Returns a report on the drive. `lag` contains the measured lag of the server's replies.
    pub fn report(&self, lag: &Lag) -> Report {
        let state = self.lock();
        let ServedState { drive, host, zeroes, .. } = &**state;
        let measured = self.clock.as_ref().map(Clock::measured);
        // Takes the flash operations and the write amplification from the simulated drive if there is one and it has
        // not failed, otherwise from the stored drive.
        let simulated = measured.as_ref().filter(|measured| measured.failed.is_none());
        let stored = *drive.counts() - self.before;
        let flash = simulated.map_or(stored, |measured| measured.flash);
        let times = measured.map(|measured| {
            let replies = lag.replies();
            TimingReport {
                pages_stored: stored.programmed(),
                buffered_pages: measured.buffered_pages,
                latency: LatencyByOp::of(&measured.latency),
                replies,
                lag_mean_ns: if replies == 0 { 0.0 } else { lag.total().as_nanos() as f64 / replies as f64 },
                lag_max_ns: lag.most().as_nanos() as u64,
                failed: measured.failed.map(|error| error.to_string()),
            }
        });
        Report {
            capacity_bytes: self.size_bytes,
            host: ClientCounters {
                host: HostCounters { unmapped_pages_read: drive.unmapped_pages_read(), ..*host },
                zeroes: *zeroes,
            },
            flash: FlashSummary(flash),
            write_amplification: (host.pages_written > 0)
                .then(|| flash.programmed() as f64 / host.pages_written as f64),
            buffered_pages: drive.buffered_pages(),
            health: drive.health(),
            start: self.start,
            times,
        }
    }

    /// True if writes may wait in volatile RAM.
    pub fn is_volatile(&self) -> bool {
        self.lock().drive.is_volatile()
    }

    /// Returns the simulated response times by [`Op`]; `None` if replies are sent immediately.
    pub fn latency(&self) -> Option<[LatencyHistogram; 4]> {
        self.clock.as_ref().map(|clock| clock.measured().latency)
    }

    /// Returns the requests recorded since the last call, sorted by time.
    pub fn take_record(&self) -> Vec<Request> {
        self.lock().record.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Makes all data durable, writes a checkpoint and switches the drive off.
    pub fn shut_down(&self) -> Result<(), DriveError> {
        self.lock().drive.shut_down()
    }

    /// Returns the error of the final flush as text, if any.
    pub fn fault(&self) -> Option<String> {
        self.lock().fault.as_ref().map(ToString::to_string)
    }

    fn lock(&self) -> FairGuard<'_, ServedState> {
        self.state.lock()
    }

    /// Splits a request into slices, calls `operation` for each slice, and then counts the request.
    fn perform(
        &self,
        request: &ClientRequest,
        mut operation: impl FnMut(&mut StoredDrive, Op, Range<u64>) -> Result<(), DriveError>,
    ) -> ExportResult {
        let mut came = Instant::now();
        let mut replies = VecDeque::new();
        let mut state = self.lock();
        for (number, (op, slice)) in request.slices(self.page).enumerate() {
            if number > 0 {
                state = self.state.let_others(state);
            }
            if replies.len() == MOST_AHEAD {
                drop(state);
                wait(replies.pop_front());
                // Gives the remaining slices the current time as their arrival time, as if they had only just arrived.
                came = Instant::now();
                state = self.lock();
            }
            let done = state.powered().and_then(|drive| operation(drive, op, slice.clone()));
            done.map_err(|error| number_of(&error))?;
            replies.extend(self.note(&mut state, op, slice, request.flags(), came));
            state = self.sync_ahead(state);
        }
        if request.fua {
            state = self.make_safe(state)?;
        }
        state.count(self.page, request);
        Ok(if replies.is_empty() { ReplyTime::Now } else { ReplyTime::Deferred(latest(replies.into())) })
    }

    /// Records a slice and submits it to the simulated drive, in the order of execution.
    fn note(
        &self,
        state: &mut ServedState,
        op: Op,
        slice: Range<u64>,
        flags: u8,
        came: Instant,
    ) -> Option<DeferredReply> {
        state.came_ns = self.pace.at(came).max(state.came_ns + 1);
        let bytes = (slice.end - slice.start) as u32;
        let request = Request { time_ns: state.came_ns, offset: slice.start, bytes, op, flags, stream: 0 };
        state.record.iter_mut().for_each(|record| record.push(request));
        let clock = self.clock.as_ref()?;
        state.given_ns = self.pace.at(Instant::now()).max(state.given_ns + 1);
        Some(clock.submit(Request { time_ns: state.given_ns, ..request }, came))
    }

    /// Makes all earlier writes to the stored drive durable.
    fn make_safe<'a>(&'a self, mut state: FairGuard<'a, ServedState>) -> Result<FairGuard<'a, ServedState>, Errno> {
        let mut slices = None;
        loop {
            let left = state.powered().and_then(|drive| drive.program_oldest(MOST_FLUSHED));
            let left = left.map_err(|error| number_of(&error))?;
            // Pages written after the start of the flush need not be programmed by this flush, so the number of slices
            // is fixed at the start.
            let slices = slices.get_or_insert_with(|| left.div_ceil(MOST_FLUSHED));
            if *slices == 0 {
                break;
            }
            *slices -= 1;
            state = self.state.let_others(self.sync_ahead(state));
        }
        state.powered().and_then(StoredDrive::make_safe).map_err(|error| number_of(&error))?;
        state.synced_pages = state.drive.counts().programmed();
        Ok(state)
    }

    /// If many bytes are not yet synced, syncs the file without holding the lock.
    fn sync_ahead<'a>(&'a self, mut state: FairGuard<'a, ServedState>) -> FairGuard<'a, ServedState> {
        let programmed = state.drive.counts().programmed();
        match &self.file {
            Some(file) if (programmed - state.synced_pages) * self.page.bytes() > MOST_UNSYNCED => {
                state.synced_pages = programmed;
                drop(state);
                // Ignores an error, because the drive syncs again later and reports the error then.
                let _ = file.sync_data();
                self.lock()
            }
            _ => state,
        }
    }
}

/// Waits until the reply may be sent.
fn wait(reply: Option<DeferredReply>) {
    let (sender, due) = mpsc::channel();
    if let Some(reply) = reply {
        // This send cannot fail: the receiver exists until `recv` below returns.
        reply.then(move |at| sender.send(at).unwrap_or_default());
    }
    if let Ok(due) = due.recv() {
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

/// A client's request as a list of trace operations, each with its byte range.
struct ClientRequest {
    parts: Vec<(Op, Range<u64>)>,
    fua: bool,
    /// True for a write-zeroes request.
    zeroes: bool,
}

impl ClientRequest {
    fn new(op: Op, offset: u64, bytes: u64, fua: bool) -> Self {
        Self { parts: vec![(op, offset..offset + bytes)], fua, zeroes: false }
    }

    fn flags(&self) -> u8 {
        if self.fua { flag::FUA } else { 0 }
    }

    fn slices(&self, page: PageSize) -> impl Iterator<Item = (Op, Range<u64>)> {
        self.parts.iter().flat_map(move |(op, bytes)| {
            let most = if *op == Op::Trim { MOST_TRIMMED } else { MOST_MOVED }.max(page.bytes());
            slices(bytes.clone(), most).map(|slice| (*op, slice))
        })
    }
}

/// Splits a range into slices of at most `most` bytes. All slices but the last end at multiples of `most`, which are
/// page boundaries. If two slices shared a page, neither of them would trim it.
fn slices(bytes: Range<u64>, most: u64) -> impl Iterator<Item = Range<u64>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let left = rest.end - rest.start;
        let slice = rest.start..if left > most { rest.start + most - rest.start % most } else { rest.end };
        rest.start = slice.end;
        (!slice.is_empty()).then_some(slice)
    })
}

impl ServedState {
    /// Returns the stored drive. If a storage error has switched it off, first switches it on again, unless its write
    /// buffer is volatile and has lost data.
    fn powered(&mut self) -> Result<&mut StoredDrive, DriveError> {
        if !self.drive.is_on() && !self.drive.is_volatile() {
            self.drive.mount()?;
        }
        Ok(&mut self.drive)
    }

    fn count(&mut self, page: PageSize, request: &ClientRequest) {
        self.zeroes.write_zeroes_requests += u64::from(request.zeroes);
        for (op, Range { start, end }) in request.parts.iter().cloned() {
            if request.zeroes {
                self.zeroes.bytes_zeroed += end - start;
            } else {
                self.host.count(op, end - start);
            }
            match op {
                Op::Read => self.host.pages_read += u64::from(page.split(start, end).count),
                Op::Write => self.host.count_written(page.split(start, end)),
                Op::Trim => {
                    let covered = page.covered(start, end);
                    self.host.pages_trimmed += covered.end - covered.start;
                }
                Op::Flush => {}
            }
        }
    }
}

/// Returns the NBD error number for an error of the drive.
fn number_of(error: &DriveError) -> Errno {
    match error {
        DriveError::OutOfRange { .. } | DriveError::Options(_) => Errno::Inval,
        DriveError::ReadOnly { .. } | DriveError::TooManyBad { .. } => Errno::Perm,
        DriveError::Medium { error, .. } if error.kind() == std::io::ErrorKind::StorageFull => Errno::NoSpc,
        DriveError::Off
        | DriveError::Unreadable(_)
        | DriveError::Unmountable(_)
        | DriveError::Deleted
        | DriveError::Medium { .. } => Errno::Io,
    }
}

impl Export for Served {
    fn size(&self) -> u64 {
        self.size_bytes
    }

    fn block_sizes(&self) -> BlockSizes {
        BlockSizes { preferred: (self.page.bytes() as u32).max(512), ..BlockSizes::default() }
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> ExportResult {
        let request = ClientRequest::new(Op::Read, offset, buffer.len() as u64, false);
        self.perform(&request, |drive, _, slice| drive.read(slice.start, &mut buffer[within(&slice, offset)]))
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> ExportResult {
        let request = ClientRequest::new(Op::Write, offset, data.len() as u64, fua);
        self.perform(&request, |drive, _, slice| drive.write(slice.start, &data[within(&slice, offset)], false))
    }

    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> ExportResult {
        let request = ClientRequest::new(Op::Trim, offset, bytes, fua);
        self.perform(&request, |drive, _, slice| drive.trim(slice.start, slice.end - slice.start, false))
    }

    fn write_zeroes(&self, offset: u64, bytes: u64, how: Zeroing) -> ExportResult {
        let end = offset + bytes;
        let parts = if how.no_hole {
            // Writes the zeroes as data, so that the range stays allocated.
            if how.fast {
                return Err(Errno::NotSup);
            }
            vec![(Op::Write, offset..end)]
        } else {
            let Zeroed { written: [head, tail], trimmed } = Zeroed::of(self.page, offset..end);
            let parts = [(Op::Write, head), (Op::Write, tail), (Op::Trim, trimmed)];
            parts.into_iter().filter(|(_, part)| !part.is_empty()).collect()
        };
        let request = ClientRequest { parts, fua: how.fua, zeroes: true };
        self.perform(&request, |drive, op, slice| {
            let bytes = slice.end - slice.start;
            match op {
                Op::Trim => drive.trim(slice.start, bytes, false),
                _ => drive.program_zeroes(slice.start, bytes, false),
            }
        })
    }

    fn flush(&self) -> ExportResult {
        let came = Instant::now();
        let mut state = self.make_safe(self.lock())?;
        let reply = self.note(&mut state, Op::Flush, 0..0, 0, came);
        state.count(self.page, &ClientRequest::new(Op::Flush, 0, 0, false));
        Ok(reply.map_or(ReplyTime::Now, ReplyTime::Deferred))
    }

    /// Flushes the drive without counting or recording the flush, because no client requested it.
    fn finish(&self) -> Result<(), Errno> {
        let mut state = self.lock();
        let flushed = state.powered().and_then(StoredDrive::flush);
        flushed.map_err(|error| {
            let number = number_of(&error);
            state.fault = Some(error);
            number
        })
    }

    /// Does nothing, because ssdlab drives do not read ahead.
    fn cache(&self, _offset: u64, _bytes: u64) -> ExportResult {
        Ok(ReplyTime::Now)
    }

    fn extent(&self, offset: u64, bytes: u64) -> Result<Extent, Errno> {
        let mut state = self.lock();
        let drive = state.powered().map_err(|error| number_of(&error))?;
        let (end, written) = drive.first_run(offset, bytes.min(MOST_TRIMMED)).map_err(|error| number_of(&error))?;
        Ok(Extent { bytes: end - offset, hole: !written, zero: !written })
    }
}

/// Converts the byte range `slice` to indexes into a buffer whose first byte has the given offset.
fn within(slice: &Range<u64>, offset: u64) -> Range<usize> {
    (slice.start - offset) as usize..(slice.end - offset) as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ssdlab_sim::Setup;
    use ssdlab_testkit::small_setup;

    use ssdlab_device::{MemoryBackend, WriteBuffer};

    use super::*;
    use crate::open::{ServeOptions, drive_options, open};

    /// Creates a drive in memory that records the calls it receives.
    fn served(setup: &Setup) -> Arc<Served> {
        let options = ServeOptions { file: None, start: None, scale: None, record: true };
        open(setup, &[], options, &mut ()).expect("a sound drive")
    }

    /// Goal: after a fault, a client's first request switches the drive on again, even if it is a status query. Method:
    /// cuts the power, then queries which ranges are written.
    #[test]
    fn a_status_query_switches_a_failed_drive_on() {
        let served = served(&small_setup(8, 16, 1));
        served.write(4096, &[1; 4096], false).expect("it can be written");
        served.lock().drive.cut_power();
        let runs = [0, 4096, 8192].map(|offset| served.extent(offset, 8192).expect("nothing was lost"));
        assert_eq!(runs.map(|run| (run.bytes, run.hole)), [(4096, true), (4096, false), (8192, true)]);
    }

    /// Goal: the recorded slices of a long trim cover the same pages as the whole trim. Method: trims 1.25 GiB from the
    /// middle of a page. It is cut into 20 slices of 64 MiB and a slice of 512 bytes; the first slice is 512 bytes
    /// shorter than 64 MiB.
    #[test]
    fn slices_of_a_long_trim_cover_the_same_pages() {
        let mut setup = small_setup(50, 64, 1);
        setup.geometry.page_bytes = 1 << 20;
        let served = served(&setup);
        served.trim(512, 5 << 28, false).expect("it can be trimmed");
        served.write(MOST_MOVED - 1, &[0; 2], false).expect("it can be written");
        let record = served.take_record();
        let covered =
            |request: &Request| served.page.covered(request.offset, request.offset + u64::from(request.bytes));
        let (trims, writes) = record.split_at(21);
        assert_eq!(writes.len(), 1, "short requests are whole, wherever they lie");
        let trimmed: u64 = trims.iter().map(covered).map(|pages| pages.end - pages.start).sum();
        assert_eq!(trimmed, served.lock().host.pages_trimmed);
    }

    type Long = dyn Fn(&Served) -> ExportResult + Sync;

    fn zeroes(no_hole: bool) -> Zeroing {
        Zeroing { no_hole, ..Zeroing::default() }
    }

    /// Goal: waiting clients get the lock between two slices of a long request. Method: a long request and reads of one
    /// byte wait for the lock. Whichever gets it first, at most one slice runs before all reads.
    #[test]
    fn waiting_clients_get_a_turn_between_slices() {
        const READS: usize = 3;
        let long: [(&str, &Long, usize); 6] = [
            ("read", &|served| served.read(0, &mut vec![0; 3 << 20]), 3),
            ("write", &|served| served.write(0, &vec![1; 3 << 20], false), 3),
            ("trim", &|served| served.trim(0, 3 * MOST_TRIMMED, false), 3),
            ("zeroes trimmed", &|served| served.write_zeroes(0, 3 * MOST_TRIMMED, zeroes(false)), 3),
            ("zeroes written", &|served| served.write_zeroes(0, 3 << 20, zeroes(true)), 3),
            ("flush", &Served::flush, 1),
        ];
        for (name, request, slices) in long {
            let served = buffered(1000);
            let guard = served.lock();
            let waiting = |threads| {
                while served.state.requested() < threads {
                    thread::yield_now()
                }
            };
            let before = served.state.requested();
            thread::scope(|scope| {
                scope.spawn(|| request(&served).expect("it can be done"));
                for _ in 0..READS {
                    scope.spawn(|| served.read(512, &mut [0]).expect("it can be read"));
                }
                waiting(before + 1 + READS as u64);
                drop(guard);
            });
            let record = served.take_record();
            assert_eq!(record.len(), slices + READS, "{name}");
            let is_read = |request: &Request| request.op == Op::Read && request.bytes == 1;
            let last_read = record.iter().rposition(is_read).expect("they are recorded");
            // A flush is recorded when its last slice is done.
            assert!(last_read <= if name == "flush" { READS - 1 } else { READS }, "{name}: {record:?}");
        }
    }

    /// Returns a drive of about 290 MiB with `pages` pages in a volatile write buffer.
    fn buffered(pages: u64) -> Arc<Served> {
        let setup = small_setup(1200, 64, 8);
        let mut options = drive_options(&setup).expect("nothing lies above it");
        options.buffer = Some(WriteBuffer { pages: 4096, high: 4096, low: 0, protected: false });
        let flash: Box<dyn Backend> = Box::new(MemoryBackend::new(setup.geometry));
        let drive = Drive::create(flash, options).expect("a sound drive");
        let served = Served::new(drive, None, String::new(), Start::default(), Pace::new(1.0), None, true);
        for page in 0..pages {
            served.write(page * 4096, &[1; 4096], false).expect("it can be written");
        }
        served.take_record();
        Arc::new(served)
    }
}
