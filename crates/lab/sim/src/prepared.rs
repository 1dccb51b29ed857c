//! Prepares the FTL of a drive that stores real data. The drive continues from the state of a simulated drive.

use ssdlab_core::Archive;
use ssdlab_ftl::Ftl;
use ssdlab_nand::Timing;
use ssdlab_nand::backend::OneByOne;

use crate::assembly::{Purpose, assemble};
use crate::drive::parts::{Parts, TimedParts, Untimed};
use crate::drive::serial::SerialDrive;
use crate::drive::stack::Stack;
use crate::precondition::PreconditionSummary;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor};
use crate::run::with_cached_drive;
use crate::setup::Setup;
use crate::setup::drive::DriveOptions;
use crate::state::{self, Origin, States};

/// State of an FTL before the first request.
#[derive(Clone, Debug)]
pub struct PreparedFtl {
    /// State in the format of [`Ftl::archive`].
    pub state: Vec<u8>,
    /// Summary of the writes that led to this state.
    pub summary: PreconditionSummary,
}

/// Preconditions the drive of `setup`, or loads the drive in `states`, as [`crate::run()`] does. Returns the state of
/// its FTL.
///
/// # Errors
/// Fails if the set-up is invalid, a saved drive cannot be used, the FTL cannot save its state, or the monitor stops
/// the preparation.
pub fn prepare_ftl(setup: &Setup, states: States<'_>, monitor: &mut dyn Monitor) -> Result<PreparedFtl, SimError> {
    with_cached_drive(states, monitor, |states, monitor| {
        let origin = Origin::open(setup, states)?;
        assemble(setup, origin.start(), Preparing { origin, monitor })
    })
}

struct Preparing<'a, 'm> {
    origin: Origin<'a>,
    monitor: &'m mut (dyn Monitor + 'm),
}

impl Purpose for Preparing<'_, '_> {
    type Output = PreparedFtl;

    fn one_by_one<P>(self, mut drive: SerialDrive<P>) -> Result<PreparedFtl, SimError>
    where
        P: Parts<Flash: OneByOne>,
    {
        let prepared = drive.prepare(self.origin, None, self.monitor)?;
        saved(drive.ftl(), prepared)
    }

    fn in_time<P: TimedParts>(
        self,
        mut stack: Stack<Untimed<P>>,
        _timing: &Timing,
        _options: DriveOptions,
    ) -> Result<PreparedFtl, SimError> {
        let prepared = state::prepare(&mut stack, self.origin, None, self.monitor)?;
        saved(&mut stack.ftl, prepared)
    }
}

fn saved(ftl: &mut impl Ftl, (summary, control): (PreconditionSummary, Control)) -> Result<PreparedFtl, SimError> {
    if control == Control::Stop {
        return Err(SimError::Abandoned);
    }
    let mut state = Vec::new();
    ftl.archive(&mut Archive::Save(&mut state))
        .map_err(|error| SimError::Setup(format!("the state of the drive cannot be saved: {error}")))?;
    Ok(PreparedFtl { state, summary })
}
