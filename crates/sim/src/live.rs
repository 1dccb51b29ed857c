//! A simulated drive beside real programs: requests come one by one, at times not known in advance.
//!
//! Its clock begins with 0 when the device has been prepared, and the caller advances it. The drive never runs ahead of
//! the time asked for, so a request that comes then can still affect what follows.

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

/// A drive that takes requests as they come.
pub trait LiveDrive: Send {
    /// Takes a request at its `time_ns`, or at once if that has passed.
    ///
    /// # Errors
    /// If it lies beyond the end of the drive, or the data check finds something wrong.
    fn submit(&mut self, request: Request) -> Result<(), SimError>;

    /// Runs up to a time and appends each completed request with the time of its completion. Returns the time of the
    /// next event, if no request comes before.
    ///
    /// # Errors
    /// If the data check finds something wrong, or the drive is stuck.
    fn advance(&mut self, until: Nanos, done: &mut Vec<(Request, Nanos)>) -> Result<Option<Nanos>, SimError>;

    /// Flash operations since the device was made.
    fn counts(&self) -> Counts;

    /// Pages in its write buffer.
    fn buffered_pages(&self) -> u32;
}

/// The device described by `setup`, prepared and at rest; none if the monitor stopped that. How the host replays, and
/// the length of the warm-up, do not matter.
///
/// # Errors
/// If it is impossible, has a cache above it, or does not know time.
pub fn live(setup: &Setup, monitor: &mut dyn Monitor) -> Result<Option<Box<dyn LiveDrive>>, SimError> {
    check(setup)?;
    let setup = Setup { replay: Replay::Open { time_scale: 1.0 }, gantt: None, attribution: false, ..setup.clone() };
    assemble(&setup, Start::Erased, GoingLive { ftl: None, monitor })
}

/// The device described by `setup`, whose FTL goes on from the state that [`Ftl::archive`] saved; it is neither
/// preconditioned nor checked.
///
/// # Errors
/// As of [`live`], and if the state is not one of this FTL.
pub fn live_from(setup: &Setup, ftl: &[u8]) -> Result<Box<dyn LiveDrive>, SimError> {
    check(setup)?;
    let precondition = Precondition { fill: 0.0, overwrite: Overwrite::None };
    let replay = Replay::Open { time_scale: 1.0 };
    let setup = Setup { replay, gantt: None, attribution: false, precondition, check: false, ..setup.clone() };
    let drive = assemble(&setup, Start::Loaded, GoingLive { ftl: Some(ftl), monitor: &mut () })?;
    Ok(drive.expect("nobody stops a drive that is not preconditioned"))
}

fn check(setup: &Setup) -> Result<(), SimError> {
    if setup.cache.is_some() {
        return Err(SimError::Setup("the drive is below another cache already; leave out cache.policy".into()));
    }
    if setup.clock == Clock::Count {
        return Err(SimError::Setup("the requests of the drive take no time; set time to serial or event".into()));
    }
    Ok(())
}

struct GoingLive<'a, 'm> {
    /// State of the FTL; none prepares the device.
    ftl: Option<&'a [u8]>,
    monitor: &'a mut (dyn Monitor + 'm),
}

/// Loads the state of an FTL.
fn load(ftl: &mut impl Ftl, state: Option<&[u8]>) -> Result<(), SimError> {
    let Some(mut state) = state else { return Ok(()) };
    ftl.archive(&mut Archive::Load(&mut state))
        .map_err(|error| SimError::Setup(format!("the state of the FTL: {error}")))
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
        Ok((control == Control::Continue)
            .then(|| -> Box<dyn LiveDrive> { Box::new(Parallel { drive, done: Vec::new() }) }))
    }
}

/// A drive that serves one request after the other.
struct Serial<P: Parts> {
    drive: SerialDrive<P>,
    /// Requests with the times at which they are complete, which never fall.
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

    /// It has none.
    fn buffered_pages(&self) -> u32 {
        0
    }
}

/// A drive that works on many.
struct Parallel<P: TimedParts> {
    drive: TimedDrive<P>,
    done: Vec<(Request, u64)>,
}

impl<P: TimedParts> LiveDrive for Parallel<P> {
    fn submit(&mut self, request: Request) -> Result<(), SimError> {
        self.drive.take_live(request, &mut self.done)
    }

    fn advance(&mut self, until: Nanos, done: &mut Vec<(Request, Nanos)>) -> Result<Option<Nanos>, SimError> {
        let next = self.drive.advance_live(until.0, &mut self.done)?;
        done.extend(self.done.drain(..).map(|(request, time_ns)| (request, Nanos(time_ns))));
        Ok(next.map(Nanos))
    }

    fn counts(&self) -> Counts {
        self.drive.counts()
    }

    fn buffered_pages(&self) -> u32 {
        self.drive.buffered_pages()
    }
}
