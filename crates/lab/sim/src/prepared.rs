//! Prepares the FTL of a drive that stores real data. The drive continues from the state of a simulated drive.

use ssdlab_core::Archive;

use crate::assembly::assemble;
use crate::precondition::PreconditionSummary;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor};
use crate::run::with_cached_drive;
use crate::setup::Setup;
use crate::state::{self, Origin, States};

/// State of an FTL before the first request.
#[derive(Clone, Debug)]
pub struct PreparedFtl {
    /// State in the format of [`ssdlab_ftl::Ftl::archive`].
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
        let mut device = assemble(setup, origin.start())?;
        let (summary, control) = state::prepare(&mut *device, origin, None, monitor)?;
        if control == Control::Stop {
            return Err(SimError::Abandoned);
        }
        let mut state = Vec::new();
        let saved = device.ftl().archive(&mut Archive::Save(&mut state));
        saved.map_err(|error| SimError::Setup(format!("the state of the drive cannot be saved: {error}")))?;
        Ok(PreparedFtl { state, summary })
    })
}
