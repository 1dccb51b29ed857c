//! A simulated drive for real programs: requests arrive one by one, at times not known in advance.
//!
//! The clock starts at 0 when the device is prepared, and the caller advances it. The drive never runs ahead of the
//! caller's time. So a request that arrives at the caller's time still affects everything after it.

use std::collections::VecDeque;

use ssdlab_core::{Archive, Nanos};
use ssdlab_ftl::choice::Start;
use ssdlab_nand::Counts;
use ssdlab_trace::Request;

use crate::assembly::{Assembled, assemble};
use crate::drive::TimedDrive;
use crate::drive::parts::Serial;
use crate::drive::serial::SerialDrive;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor};
use crate::setup::host::Replay;
use crate::setup::{Clock, Overwrite, Precondition, Setup};
use crate::state::{self, Origin};

/// A drive that accepts requests as they arrive.
pub trait LiveDrive: Send {
    /// Accepts a request at its arrival time `time_ns`, or immediately if that time has passed.
    ///
    /// # Errors
    /// Fails if the request ends past the end of the drive, or the data check fails.
    fn submit(&mut self, request: Request) -> Result<(), SimError>;

    /// Runs the drive up to a time, and appends each completed request to `done` with its completion time. Returns the
    /// time of the next event if no further request arrives.
    ///
    /// # Errors
    /// Fails if the data check fails, or the drive is stuck.
    fn advance(&mut self, until: Nanos, done: &mut Vec<(Request, Nanos)>) -> Result<Option<Nanos>, SimError>;

    /// Returns the counts of flash operations since the device was created.
    fn counts(&self) -> Counts;

    /// Returns the number of pages in the drive's write buffer.
    fn buffered_pages(&self) -> u32;
}

/// Creates the device of `setup`, preconditioned and idle; `None` if the monitor stopped the preparation. Ignores the
/// replay model and the warm-up.
///
/// # Errors
/// Fails if the set-up is invalid, has a cache, or does not model time.
pub fn live(setup: &Setup, monitor: &mut dyn Monitor) -> Result<Option<Box<dyn LiveDrive>>, SimError> {
    check(setup)?;
    let setup = Setup { replay: Replay::AS_TRACED, gantt: None, attribution: false, ..setup.clone() };
    let mut device = assemble(&setup, Start::Erased)?;
    let (_, control) = state::prepare(&mut *device, Origin::default(), None, monitor)?;
    if control == Control::Stop { Ok(None) } else { start(device, setup.clock).map(Some) }
}

/// Creates the device of `setup` with the state of the FTL that [`ssdlab_ftl::Ftl::archive`] saved. The device is
/// neither preconditioned nor checked.
///
/// # Errors
/// See [`live`] for the errors; also fails if the state belongs to another FTL.
pub fn live_from(setup: &Setup, mut ftl: &[u8]) -> Result<Box<dyn LiveDrive>, SimError> {
    check(setup)?;
    let precondition = Precondition { fill: 0.0, overwrite: Overwrite::None };
    let setup = Setup {
        replay: Replay::AS_TRACED,
        gantt: None,
        attribution: false,
        precondition,
        check: false,
        ..setup.clone()
    };
    let mut device = assemble(&setup, Start::Loaded)?;
    let loaded = device.ftl().archive(&mut Archive::Load(&mut ftl));
    loaded.map_err(|error| SimError::Setup(format!("cannot load the state of the FTL: {error}")))?;
    state::prepare(&mut *device, Origin::default(), None, &mut ())?;
    start(device, setup.clock)
}

/// Starts the clock of a prepared device.
fn start(device: Box<dyn Assembled>, clock: Clock) -> Result<Box<dyn LiveDrive>, SimError> {
    Ok(match clock {
        Clock::Count => unreachable!("a live drive has a clock"),
        Clock::Serial(timing) => {
            Box::new(LiveSerial { drive: SerialDrive::start(device.boxed(), &timing), done: VecDeque::new() })
        }
        Clock::Event(timing, options) => Box::new(TimedDrive::start(device.boxed(), &timing, options)?),
    })
}

fn check(setup: &Setup) -> Result<(), SimError> {
    if setup.cache.is_some() {
        return Err(SimError::Setup("a live drive cannot simulate a page cache; set cache.policy to \"none\"".into()));
    }
    if setup.clock == Clock::Count {
        return Err(SimError::Setup("a live drive needs simulated time; set time to \"event\"".into()));
    }
    Ok(())
}

/// A live drive that serves one request at a time.
struct LiveSerial {
    drive: SerialDrive<Serial>,
    /// Completed requests with their completion times, in ascending order of time.
    done: VecDeque<(Request, u64)>,
}

impl LiveDrive for LiveSerial {
    fn submit(&mut self, request: Request) -> Result<(), SimError> {
        let done_ns = self.drive.serve(&request)?;
        self.done.push_back((request, done_ns));
        Ok(())
    }

    fn advance(&mut self, until: Nanos, done: &mut Vec<(Request, Nanos)>) -> Result<Option<Nanos>, SimError> {
        while let Some(&(request, done_ns)) = self.done.front() {
            if done_ns > until.0 {
                return Ok(Some(Nanos(done_ns)));
            }
            done.push((request, Nanos(done_ns)));
            self.done.pop_front();
        }
        Ok(None)
    }

    fn counts(&self) -> Counts {
        self.drive.counts()
    }

    fn buffered_pages(&self) -> u32 {
        0
    }
}

impl LiveDrive for TimedDrive {
    fn submit(&mut self, request: Request) -> Result<(), SimError> {
        self.run_live(&[request], request.time_ns).map(drop)
    }

    fn advance(&mut self, until: Nanos, done: &mut Vec<(Request, Nanos)>) -> Result<Option<Nanos>, SimError> {
        let next_ns = self.run_live(&[], until.0)?;
        done.extend(self.take_completed().map(|(request, time_ns)| (request, Nanos(time_ns))));
        Ok(next_ns.map(Nanos))
    }

    fn counts(&self) -> Counts {
        TimedDrive::counts(self)
    }

    fn buffered_pages(&self) -> u32 {
        TimedDrive::buffered_pages(self)
    }
}
