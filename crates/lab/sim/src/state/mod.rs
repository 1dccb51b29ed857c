//! Saved drives. A drive can be saved after a run and continued in another run, or preconditioned once and used in many
//! runs.
//!
//! A file holds the state of the simulation: the FTL with its map and policies, wear, random streams, counts, and the
//! data of the integrity check. It does not hold requests, the state of the host, or the clock. A drive is saved
//! without operations in flight, as after a clean shutdown: its write buffer has been programmed, and time restarts.

mod arrays;
mod file;
mod frames;

use std::path::Path;

use ssdlab_core::difference::{Difference, Line};
use ssdlab_core::{Archive, Archived};
use ssdlab_ftl::choice::Start;

use crate::precondition::{self, Device, PreconditionSummary, sampled};
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor};
use crate::run::repeat::Replays;
use crate::setup::lines::line;
use crate::setup::{Overwrite, Precondition, Setup};
pub use file::is_kept;
use file::{Reader, Unusable};

/// Files of saved drives that a run loads or writes.
#[derive(Clone, Copy, Default, Debug)]
pub struct States<'a> {
    /// File of the drive to start from, instead of preconditioning a new drive.
    pub from: Option<&'a Path>,
    /// File of the preconditioned drive. The drive is loaded if the file exists; otherwise it is preconditioned and
    /// saved to the file.
    pub cache: Option<&'a Path>,
    /// File in which the drive is saved after the run, unless the run is stopped.
    pub save: Option<&'a Path>,
}

/// Returns, as text, the settings that determine a set-up's preconditioned drive. `None` if caching the drive is not
/// worthwhile, or if its state depends on the trace.
pub fn cache_key(setup: &Setup) -> Option<String> {
    /// Number of pages that can be preconditioned in about 0.1 s.
    const WORTHWHILE_PAGES: f64 = (1_u32 << 18) as f64;
    let large = setup.precondition.fill * f64::from(setup.logical_pages) >= WORTHWHILE_PAGES;
    let worthwhile = large && !depends_on_trace(setup) && sampled::sections(setup).is_none();
    let write = |(key, value): (String, String)| format!("{key} = {value}\n");
    worthwhile.then(|| cached_lines(setup).into_iter().map(write).collect())
}

/// Returns true if preconditioning overwrites the drive with the trace. Such a drive is not cached, because cache keys
/// do not describe traces.
fn depends_on_trace(setup: &Setup) -> bool {
    matches!(setup.precondition.overwrite, Overwrite::Trace(_))
}

fn cached_lines(setup: &Setup) -> Vec<Line> {
    [shape(setup), preconditioning(setup)].concat()
}

/// Returns the settings that must match if a run continues from a saved drive. Settings of the time model may differ.
fn shape(setup: &Setup) -> Vec<Line> {
    let mut lines = setup.lines();
    lines.push(line("check", setup.check));
    lines
}

/// Returns the settings that determine the preconditioning of the drive. [`shape`] returns the settings of the drive
/// itself.
fn preconditioning(setup: &Setup) -> Vec<Line> {
    let Precondition { fill, overwrite } = setup.precondition;
    let overwrite = match overwrite {
        Overwrite::None => "none".into(),
        Overwrite::Passes(passes) => format!("{passes} passes"),
        Overwrite::Trace(repeat) => format!("trace, {repeat:?}"),
        Overwrite::Steady(method) => format!("steady, {}", method.name()),
    };
    let fill = line("precondition.fill", fill);
    vec![fill, line("precondition.overwrite", overwrite), line("seed", setup.seed)]
}

/// Origin of the drive that a run uses: saved in a file, or preconditioned by the run.
#[derive(Default)]
pub(crate) struct Origin<'a> {
    /// Saved drive to start from, if any.
    saved: Option<(&'a Path, Reader)>,
    /// File of the preconditioned drive, if any.
    cache: Option<&'a Path>,
}

impl<'a> Origin<'a> {
    /// Opens the saved drive that `states` names, if any. A missing file of a preconditioned drive is not an error.
    pub fn open(setup: &Setup, states: States<'a>) -> Result<Self, SimError> {
        if let Some(path) = states.from {
            let reader = file::open(path, &shape(setup)).map_err(|unusable| refused(path, unusable))?;
            return Ok(Self { saved: Some((path, reader)), cache: None });
        }
        let Some(path) = states.cache.filter(|_| !depends_on_trace(setup)) else { return Ok(Self::default()) };
        match file::open(path, &cached_lines(setup)) {
            Ok(reader) => Ok(Self { saved: Some((path, reader)), cache: Some(path) }),
            Err(Unusable::Missing) => Ok(Self { saved: None, cache: Some(path) }),
            Err(unusable) => Err(SimError::Cached { path: path.into(), why: why(unusable) }),
        }
    }

    /// Returns the start state of the FTL: erased flash, or the state of a saved drive.
    pub fn start(&self) -> Start {
        if self.saved.is_some() { Start::Loaded } else { Start::Erased }
    }
}

/// Loads the device from a saved drive or preconditions it. `trace` is used if the set-up overwrites the device with
/// the trace.
pub(crate) fn prepare(
    stack: &mut dyn Device,
    origin: Origin<'_>,
    trace: Option<&mut Replays<'_>>,
    monitor: &mut dyn Monitor,
) -> Result<(PreconditionSummary, Control), SimError> {
    let Origin { saved, cache } = origin;
    if let Some((path, reader)) = saved {
        let loaded = load(stack, reader).map_err(|unusable| match cache {
            // A failed load may have changed the device, so the caller must start again with a new device.
            Some(_) => SimError::Cached { path: path.into(), why: why(unusable) },
            None => refused(path, unusable),
        });
        return Ok((loaded?, Control::Continue));
    }
    let (summary, control) = precondition::prepare(stack, trace, monitor)?;
    if let (Some(path), Control::Continue) = (cache, control) {
        let lines = cached_lines(stack.setup());
        // If the file cannot be written, the run continues without it.
        if let Err(error) = write(stack, summary, path, lines) {
            monitor
                .note(&format!("cannot save the preconditioned drive for the next run: {}: {error}", path.display()));
        }
    }
    Ok((summary, control))
}

fn refused(path: &Path, unusable: Unusable) -> SimError {
    let remedy = match &unusable {
        Unusable::Missing => "use a file saved with --save-state".into(),
        Unusable::Differs(Difference { remedy, .. }) => {
            format!("{remedy}, or save a matching drive with --save-state")
        }
        Unusable::Unreadable(_) => "save the drive again with --save-state".into(),
    };
    SimError::Setup(format!("{}: {}; {remedy}", path.display(), why(unusable)))
}

fn why(unusable: Unusable) -> String {
    match unusable {
        Unusable::Missing => "no such file".into(),
        Unusable::Differs(Difference { then, now, .. }) => {
            format!("the drive was saved with {then}, but this run has {now}")
        }
        Unusable::Unreadable(why) => why,
    }
}

/// Saves the drive to a file after a run.
pub(crate) fn save(stack: &mut dyn Device, mut summary: PreconditionSummary, path: &Path) -> Result<(), SimError> {
    // In a run that continues from the saved drive, all earlier writes count as preconditioning.
    stack.checked()?;
    summary.add_run(&stack.counts());
    let lines = shape(stack.setup());
    write(stack, summary, path, lines).map_err(|error| {
        // The error of a component that cannot be saved already states the remedy.
        let remedy = if error.raw_os_error().is_some() { "; pass a writable path to --save-state" } else { "" };
        SimError::Unsaved { path: path.into(), why: format!("{error}{remedy}") }
    })
}

fn write(stack: &mut dyn Device, mut summary: PreconditionSummary, path: &Path, lines: Vec<Line>) -> Archived {
    file::write(path, lines, &mut |archive| stack.archive(&mut summary, archive))
}

fn load(stack: &mut dyn Device, mut reader: Reader) -> Result<PreconditionSummary, Unusable> {
    let mut summary = PreconditionSummary::default();
    stack.archive(&mut summary, &mut Archive::Load(&mut reader))?;
    reader.finish()?;
    Ok(summary)
}
