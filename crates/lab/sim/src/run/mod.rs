//! [`run`] preconditions the device. It then replays the source as often as required. Each replay begins with the
//! warm-up, which is not measured; the remaining requests are measured.

pub mod error;
pub mod monitor;
mod outcome;
pub(crate) mod repeat;
pub(crate) mod steady;

use std::cell::RefCell;

use ssdlab_trace::Source;

use crate::assembly::assemble;
use crate::drive::TimedDrive;
use crate::drive::serial::SerialDrive;
use crate::host::cache::source::{Cached, Shared};
use crate::observe::diagnosis::diagnose;
use crate::setup::host::CacheOptions;
use crate::setup::{Clock, Overwrite, Setup};
use crate::state::{self, Origin, States};
use error::SimError;
use monitor::Monitor;
pub use outcome::Outcome;
use repeat::Replays;

/// Replays `source` against the device of `setup`, through the host cache if the set-up has one.
///
/// # Errors
/// Fails if the set-up is invalid, the source cannot be read, its requests do not fit the device, or a check fails.
pub fn run(setup: &Setup, source: &mut dyn Source, monitor: &mut dyn Monitor) -> Result<Outcome, SimError> {
    run_with_states(setup, States::default(), source, monitor)
}

/// Runs a simulation like [`run`], but can load and save the state of the drive in files. An unusable file of a
/// preconditioned drive is replaced.
///
/// # Errors
/// See [`run`] for the errors. Also fails if the drive to start from is unreadable or differs from the set-up, or if
/// the drive cannot be saved.
pub fn run_with_states(
    setup: &Setup,
    states: States<'_>,
    source: &mut dyn Source,
    monitor: &mut dyn Monitor,
) -> Result<Outcome, SimError> {
    // Drive files are loaded before any request is read from the source, so the run can be restarted if a file is
    // unusable.
    with_cached_drive(states, monitor, |states, monitor| run_once(setup, states, source, monitor))
}

/// Calls `once`. If `once` fails because the file of a preconditioned drive is unusable, removes the file and calls
/// `once` again.
pub(crate) fn with_cached_drive<T>(
    states: States<'_>,
    monitor: &mut dyn Monitor,
    mut once: impl FnMut(States<'_>, &mut dyn Monitor) -> Result<T, SimError>,
) -> Result<T, SimError> {
    match once(states, monitor) {
        Err(SimError::Cached { path, why }) => {
            monitor.note(&format!(
                "the cached drive cannot be used, so preconditioning runs again: {}: {why}",
                path.display()
            ));
            let removed = std::fs::remove_file(&path);
            let states = States { cache: states.cache.filter(|_| removed.is_ok()), ..states };
            once(states, monitor)
        }
        other => other,
    }
}

fn run_once(
    setup: &Setup,
    states: States<'_>,
    source: &mut dyn Source,
    monitor: &mut dyn Monitor,
) -> Result<Outcome, SimError> {
    if setup.cache.is_some() && matches!(setup.precondition.overwrite, Overwrite::Trace(_)) {
        let why = "precondition.overwrite: \"trace\" cannot overwrite a drive that has a host cache; set it to \
                   \"steady\", and host.repeat to \"until-steady\"";
        return Err(SimError::Setup(why.into()));
    }
    let mut outcome = match (&setup.cache, setup.clock) {
        (Some(options), Clock::Count | Clock::Serial(_)) => run_through_cache(setup, states, options, source, monitor)?,
        _ => replay(setup, states, Replays::new(source), monitor)?,
    };
    outcome.summary.diagnosis = diagnose(setup, &outcome);
    Ok(outcome)
}

/// Replays requests through a cache above a device that serves requests one by one.
fn run_through_cache(
    setup: &Setup,
    states: States<'_>,
    options: &CacheOptions,
    source: &mut dyn Source,
    monitor: &mut dyn Monitor,
) -> Result<Outcome, SimError> {
    let monitor = RefCell::new(monitor);
    let mut cached = Cached::new(setup, options, source, Shared(&monitor))?;
    let below = Replays::as_they_come(&mut cached);
    let mut outcome = replay(&Cached::setup_below(setup), states, below, &mut Shared(&monitor))?;
    let (cache, stopped, wrapped) = cached.finish(&outcome.latency)?;
    outcome.summary.cache = Some(cache);
    outcome.summary.partial |= stopped;
    outcome.summary.host.wrapped_requests = wrapped;
    Ok(outcome)
}

/// Replays a source against a device, as often as the set-up requires.
fn replay(
    setup: &Setup,
    states: States<'_>,
    mut source: Replays<'_>,
    monitor: &mut dyn Monitor,
) -> Result<Outcome, SimError> {
    let origin = Origin::open(setup, states)?;
    let mut device = assemble(setup, origin.start())?;
    let prepared = state::prepare(&mut *device, origin, Some(&mut source), monitor)?;
    let source = &mut source;
    match setup.clock {
        Clock::Count => device.run_without_time(source, monitor, prepared, states.save),
        Clock::Serial(timing) => {
            SerialDrive::start(device.boxed(), &timing).run(source, monitor, prepared, states.save)
        }
        Clock::Event(timing, options) => {
            TimedDrive::start(device.boxed(), &timing, options)?.run(source, monitor, prepared, states.save)
        }
    }
}
