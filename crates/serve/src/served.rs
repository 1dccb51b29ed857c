//! A drive as an export of the NBD server.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ssdlab_core::{LatencyHistogram, PageSize};
use ssdlab_device::{Backend, Drive, DriveError, Zeroed, zeros_written};
use ssdlab_nand::Counts;
use ssdlab_nbd::{BlockSizes, Done, Errno, Export, Extent, Lag, Leave, Zeroing};
use ssdlab_sim::{FlashSummary, HostCounters, LatencyByOp};
use ssdlab_trace::{Op, Request, flag};

use crate::clock::{Clock, Pace};
use crate::report::{Clients, Mount, Report, Times, Zeroes};

/// Allocation is looked up for so many bytes at a time, as others wait meanwhile.
const MOST_LOOKED_UP: u64 = 64 << 20;

/// Bytes of a request of a trace at most: trims may be larger.
const MOST_REQUESTED: u64 = 1 << 30;

/// A drive in memory or in a file.
type Bytes = Drive<Box<dyn Backend>>;

/// A drive that clients use.
pub struct Served {
    size_bytes: u64,
    page: PageSize,
    description: String,
    pace: Pace,
    clock: Option<Clock>,
    mount: Option<Mount>,
    /// Flash operations before clients came: the mount's, with what a protected buffer held.
    before: Counts,
    state: Mutex<State>,
}

struct State {
    drive: Bytes,
    host: HostCounters,
    zeroes: Zeroes,
    /// None unless requests are recorded.
    record: Option<Vec<Request>>,
    /// When the latest request came, and when the drive in time was given it. No two have one time.
    came_ns: u64,
    given_ns: u64,
}

impl Served {
    /// Serves a drive that is on. `mount` is how it came on; replies wait for `clock`, whose time is that of `pace`.
    pub fn new(
        drive: Bytes,
        description: String,
        mount: Option<Mount>,
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
            mount,
            before: *drive.counts(),
            state: Mutex::new(State {
                drive,
                host: HostCounters::default(),
                zeroes: Zeroes::default(),
                record: record.then(Vec::new),
                came_ns: 0,
                given_ns: 0,
            }),
        }
    }

    /// What it has done. `lag` is that of the server.
    pub fn report(&self, lag: &Lag) -> Report {
        let state = self.lock();
        let State { drive, host, zeroes, .. } = &*state;
        let measured = self.clock.as_ref().map(Clock::measured);
        // All figures are of one drive: that in time, while it runs.
        let in_time = measured.as_ref().filter(|measured| measured.failed.is_none());
        let stored = *drive.counts() - self.before;
        let flash = in_time.map_or(stored, |measured| measured.flash);
        let times = measured.map(|measured| {
            let replies = lag.replies();
            Times {
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
            host: Clients {
                host: HostCounters { unmapped_pages_read: drive.unmapped_pages_read(), ..*host },
                zeroes: *zeroes,
            },
            flash: FlashSummary(flash),
            write_amplification: (host.pages_written > 0)
                .then(|| flash.programmed() as f64 / host.pages_written as f64),
            buffered_pages: drive.buffered_pages(),
            health: drive.health(),
            mount: self.mount,
            times,
        }
    }

    /// Whether writes wait in RAM that forgets them without power.
    pub fn is_volatile(&self) -> bool {
        self.lock().is_volatile()
    }

    /// Response times by [`Op`], as simulated; none where replies leave at once.
    pub fn latency(&self) -> Option<[LatencyHistogram; 4]> {
        self.clock.as_ref().map(|clock| clock.measured().latency)
    }

    /// Takes the requests recorded since this was called last, in order of time.
    pub fn take_record(&self) -> Vec<Request> {
        self.lock().record.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Makes everything safe, writes a checkpoint and switches the drive off.
    ///
    /// # Errors
    /// As of [`Drive::shut_down`].
    pub fn shut_down(&self) -> Result<(), DriveError> {
        self.lock().drive.shut_down()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does an operation on the drive; then counts, records and times it as `requests`.
    fn perform(
        &self,
        requests: &[Asked],
        operation: impl FnOnce(&mut Bytes) -> Result<(), DriveError>,
    ) -> Result<Leave, Errno> {
        let came = Instant::now();
        let mut state = self.lock();
        operation(state.powered()?).map_err(|error| number(&error))?;
        state.zeroes.write_zeroes_requests += u64::from(requests.iter().any(|asked| asked.zeroes));
        let mut timed = Vec::new();
        for asked in requests {
            state.count(self.page, asked);
            let Range { mut start, end } = asked.bytes.clone();
            loop {
                // Parts end where pages do: a page in two of them would be trimmed by neither.
                let left = end - start;
                let bytes = if left > MOST_REQUESTED { MOST_REQUESTED - start % MOST_REQUESTED } else { left };
                state.came_ns = self.pace.at(came).max(state.came_ns + 1);
                let (time_ns, bytes) = (state.came_ns, bytes as u32);
                let request = Request { time_ns, offset: start, bytes, op: asked.op, flags: asked.flags, stream: 0 };
                state.record.iter_mut().for_each(|record| record.push(request));
                if self.clock.is_some() {
                    state.given_ns = self.pace.at(Instant::now()).max(state.given_ns + 1);
                    timed.push(Request { time_ns: state.given_ns, ..request });
                }
                start += u64::from(bytes);
                if start == end {
                    break;
                }
            }
        }
        // With the lock held, so that the drive in time sees the same order.
        Ok(self.clock.as_ref().map_or(Leave::Now, |clock| Leave::When(clock.submit(timed, came))))
    }
}

/// A request of a client as a trace says it.
struct Asked {
    op: Op,
    bytes: Range<u64>,
    flags: u8,
    /// Whether it is what a request for zeroes comes to, or a part of that.
    zeroes: bool,
}

impl Asked {
    fn new(op: Op, offset: u64, bytes: u64, fua: bool) -> Self {
        Self { op, bytes: offset..offset + bytes, flags: if fua { flag::FUA } else { 0 }, zeroes: false }
    }

    fn zeroes(op: Op, bytes: Range<u64>, fua: bool) -> Self {
        Self { zeroes: true, ..Self::new(op, bytes.start, bytes.end - bytes.start, fua) }
    }
}

impl State {
    /// The drive, switched on again if a fault of what holds the bytes has switched it off: where nothing waited in
    /// volatile RAM, nothing was lost by that.
    fn powered(&mut self) -> Result<&mut Bytes, Errno> {
        if !self.drive.is_on() && !self.is_volatile() {
            self.drive.mount().map_err(|error| number(&error))?;
        }
        Ok(&mut self.drive)
    }

    fn is_volatile(&self) -> bool {
        self.drive.options().buffer.is_some_and(|buffer| buffer.forgets())
    }

    fn count(&mut self, page: PageSize, asked: &Asked) {
        let Range { start, end } = asked.bytes;
        if asked.zeroes {
            self.zeroes.bytes_zeroed += end - start;
        } else {
            self.host.count(asked.op, end - start);
        }
        match asked.op {
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

/// The number of the protocol for an error of the drive.
fn number(error: &DriveError) -> Errno {
    match error {
        DriveError::OutOfRange { .. } | DriveError::Options(_) => Errno::Inval,
        DriveError::ReadOnly { .. } | DriveError::TooManyBad { .. } => Errno::Perm,
        DriveError::Medium { error, .. } if error.kind() == std::io::ErrorKind::StorageFull => Errno::NoSpc,
        DriveError::Off | DriveError::Unreadable(_) | DriveError::Unmountable(_) | DriveError::Medium { .. } => {
            Errno::Io
        }
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

    fn read(&self, offset: u64, buffer: &mut [u8]) -> Done {
        let asked = [Asked::new(Op::Read, offset, buffer.len() as u64, false)];
        self.perform(&asked, |drive| drive.read(offset, buffer))
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Done {
        let asked = [Asked::new(Op::Write, offset, data.len() as u64, fua)];
        self.perform(&asked, |drive| drive.write(offset, data, fua))
    }

    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> Done {
        self.perform(&[Asked::new(Op::Trim, offset, bytes, fua)], |drive| drive.trim(offset, bytes, fua))
    }

    fn write_zeroes(&self, offset: u64, bytes: u64, how: Zeroing) -> Done {
        let end = offset + bytes;
        if how.no_hole {
            // Zeros that stay allocated are written, page by page.
            if how.fast {
                return Err(Errno::NotSup);
            }
            let asked: Vec<_> =
                zeros_written(offset..end).map(|piece| Asked::zeroes(Op::Write, piece, how.fua)).collect();
            return self.perform(&asked, |drive| drive.program_zeroes(offset, bytes, how.fua));
        }
        let Zeroed { written: [head, tail], trimmed } = Zeroed::of(self.page, offset..end);
        let pieces = [(Op::Write, head), (Op::Write, tail), (Op::Trim, trimmed)];
        let asked: Vec<_> = pieces
            .into_iter()
            .filter(|(_, piece)| !piece.is_empty())
            .map(|(op, piece)| Asked::zeroes(op, piece, how.fua))
            .collect();
        self.perform(&asked, |drive| drive.write_zeroes(offset, bytes, how.fua))
    }

    fn flush(&self) -> Done {
        self.perform(&[Asked::new(Op::Flush, 0, 0, false)], Bytes::flush)
    }

    /// Neither counted nor recorded: that is for what clients ask.
    fn finish(&self) -> Result<(), Errno> {
        self.lock().powered()?.flush().map_err(|error| number(&error))
    }

    /// A drive reads nothing ahead.
    fn cache(&self, _offset: u64, _bytes: u64) -> Done {
        Ok(Leave::Now)
    }

    fn extent(&self, offset: u64, bytes: u64) -> Result<Extent, Errno> {
        let mut state = self.lock();
        let run = state.powered()?.first_run(offset, bytes.min(MOST_LOOKED_UP));
        let (end, written) = run.map_err(|error| number(&error))?;
        Ok(Extent { bytes: end - offset, hole: !written, zero: !written })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ssdlab_sim::Setup;
    use ssdlab_testkit::small_setup;

    use super::*;
    use crate::open::{Wishes, open};

    /// A drive in memory that records what it is asked for.
    fn served(setup: &Setup) -> Arc<Served> {
        open(setup, &[], Wishes { file: None, scale: None, record: true }).expect("a sound drive")
    }

    /// Goal: whichever request comes first after a fault switches the drive on again, that for allocation as well.
    #[test]
    fn a_drive_that_went_off_says_what_it_holds() {
        let served = served(&small_setup(8, 16, 1));
        served.write(4096, &[1; 4096], false).expect("it can be written");
        served.lock().drive.cut_power();
        let runs = [0, 4096, 8192].map(|offset| served.extent(offset, 8192).expect("nothing was lost"));
        assert_eq!(runs.map(|run| (run.bytes, run.hole)), [(4096, true), (4096, false), (8192, true)]);
    }

    /// Goal: the record of a trim longer than a request of a trace trims the same pages. Method: one that begins in the
    /// middle of a page.
    #[test]
    fn the_parts_of_a_long_trim_leave_out_no_page() {
        let mut setup = small_setup(50, 64, 1);
        setup.geometry.page_bytes = 1 << 20;
        let served = served(&setup);
        served.trim(512, 5 << 29, false).expect("it can be trimmed");
        served.write(MOST_REQUESTED - 1, &[0; 2], false).expect("it can be written");
        let record = served.take_record();
        let covered =
            |request: &Request| served.page.covered(request.offset, request.offset + u64::from(request.bytes));
        let (trims, writes) = record.split_at(3);
        assert_eq!(writes.len(), 1, "short requests are whole, wherever they lie");
        let trimmed: u64 = trims.iter().map(covered).map(|pages| pages.end - pages.start).sum();
        assert_eq!(trimmed, served.lock().host.pages_trimmed);
    }
}
