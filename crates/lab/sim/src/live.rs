//! A simulated drive for real programs: requests arrive one by one, at times not known in advance.
//!
//! The clock starts at 0 when the device is prepared, and the caller advances it. The drive never runs ahead of the
//! caller's time. So a request that arrives at the caller's time still affects everything after it.

use std::collections::VecDeque;

use ssdlab_core::{Archive, Nanos};
use ssdlab_ftl::Ftl;
use ssdlab_ftl::choice::Start;
use ssdlab_nand::backend::OneByOne;
use ssdlab_nand::{Counts, Timing};
use ssdlab_trace::Request;

use crate::assembly::{Prepared, Purpose, assemble, prepare_drive};
use crate::drive::TimedDrive;
use crate::drive::parts::{Parts, TimedParts, Untimed};
use crate::drive::serial::SerialDrive;
use crate::drive::stack::Stack;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor};
use crate::setup::drive::DriveOptions;
use crate::setup::host::Replay;
use crate::setup::{Clock, Overwrite, Precondition, Setup};
use crate::state::Origin;

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
    assemble(&setup, Start::Erased, GoingLive { ftl: None, monitor })
}

/// Creates the device of `setup` with the state of the FTL that [`Ftl::archive`] saved. The device is neither
/// preconditioned nor checked.
///
/// # Errors
/// See [`live`] for the errors; also fails if the state belongs to another FTL.
pub fn live_from(setup: &Setup, ftl: &[u8]) -> Result<Box<dyn LiveDrive>, SimError> {
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
    let drive = assemble(&setup, Start::Loaded, GoingLive { ftl: Some(ftl), monitor: &mut () })?;
    Ok(drive.expect("without preconditioning, no monitor can stop the preparation"))
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

struct GoingLive<'a, 'm> {
    /// Saved state of the FTL; if `None`, the device is prepared as the set-up requires.
    ftl: Option<&'a [u8]>,
    monitor: &'a mut (dyn Monitor + 'm),
}

/// Loads the saved state of an FTL, if any.
fn load(ftl: &mut impl Ftl, state: Option<&[u8]>) -> Result<(), SimError> {
    let Some(mut state) = state else { return Ok(()) };
    ftl.archive(&mut Archive::Load(&mut state))
        .map_err(|error| SimError::Setup(format!("cannot load the state of the FTL: {error}")))
}

impl Purpose for GoingLive<'_, '_> {
    type Output = Option<Box<dyn LiveDrive>>;

    fn one_by_one<P>(self, mut drive: SerialDrive<P>) -> Result<Self::Output, SimError>
    where
        P: Parts<Flash: OneByOne>,
    {
        load(drive.ftl(), self.ftl)?;
        let (_, control) = drive.prepare(Origin::default(), None, self.monitor)?;
        Ok((control == Control::Continue)
            .then(|| -> Box<dyn LiveDrive> { Box::new(Serial { drive, done: VecDeque::new() }) }))
    }

    fn in_time<P: TimedParts>(
        self,
        mut stack: Stack<Untimed<P>>,
        timing: &Timing,
        options: DriveOptions,
    ) -> Result<Self::Output, SimError> {
        load(&mut stack.ftl, self.ftl)?;
        let Prepared { drive, control, .. } =
            prepare_drive::<P>(stack, timing, options, Origin::default(), None, self.monitor)?;
        Ok((control == Control::Continue).then(|| -> Box<dyn LiveDrive> { Box::new(drive) }))
    }
}

/// A live drive that serves one request at a time.
struct Serial<P: Parts> {
    drive: SerialDrive<P>,
    /// Completed requests with their completion times, in ascending order of time.
    done: VecDeque<(Request, u64)>,
}

impl<P: Parts<Flash: OneByOne>> LiveDrive for Serial<P> {
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

impl<P: TimedParts> LiveDrive for TimedDrive<P> {
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
