//! Drives that are kept: saved after a run, gone on from in another, or preconditioned once for many runs.
//!
//! What is kept is the simulation's drive, FTL with its map and policies, wear, random streams, counts, and the shadow
//! of a check: not what a real drive would have on its flash. Requests, host and clock are not part of it. A drive is
//! saved at rest, as if it had been shut down in good order: what waits in its write buffer has been programmed, and
//! time begins anew.

mod arrays;
mod file;
mod frames;
mod shape;

use std::path::Path;

use ssdlab_core::{Archive, Archived};
use ssdlab_ftl::choice::Start;
use ssdlab_ftl::{Difference, Ftl, Line};
use ssdlab_nand::backend::{Flash, Resume};

use crate::check::data_checker::Checker;
use crate::drive::parts::Parts;
use crate::drive::stack::Stack;
use crate::observe::summary::PreconditionSummary;
use crate::precondition::{self, Fresh};
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor};
use crate::run::repeat::Replays;
use crate::setup::{Overwrite, Setup};
pub use file::is_kept;
use file::{Reader, Unusable};

/// A drive at rest, of whatever parts.
pub(crate) trait Kept: Fresh {
    /// Saves or loads it; loads it if it was built for that.
    fn archive(&mut self, summary: &mut PreconditionSummary, archive: &mut Archive<'_>) -> Archived;
}

impl<P: Parts<Flash: Resume>> Kept for Stack<P> {
    fn archive(&mut self, summary: &mut PreconditionSummary, archive: &mut Archive<'_>) -> Archived {
        let mut counts = self.sinks.flash.counts();
        archive.value(summary)?;
        archive.value(&mut counts)?;
        self.ftl.archive(archive)?;
        self.sinks.checker.archive(archive)?;
        if let Archive::Load(_) = archive {
            self.sinks.flash.resume(counts, self.sinks.checker.programmed());
        }
        Ok(())
    }
}

/// Where the drive of a run comes from and goes to.
#[derive(Clone, Copy, Default, Debug)]
pub struct States<'a> {
    /// A drive to go on from, instead of preconditioning one.
    pub from: Option<&'a Path>,
    /// Where the preconditioned drive is kept; taken from there if it is there already.
    pub cache: Option<&'a Path>,
    /// Where the drive is saved after the run, unless that was stopped.
    pub save: Option<&'a Path>,
}

/// Everything that the preconditioned drive of a set-up depends on, as text; none if making one anew is quicker than
/// reading it.
pub fn cache_key(setup: &Setup) -> Option<String> {
    /// Pages written from which on preconditioning takes longer than a tenth of a second or so.
    const WORTHWHILE_PAGES: f64 = (1_u32 << 18) as f64;
    let large = setup.precondition.fill * f64::from(setup.logical_pages) >= WORTHWHILE_PAGES;
    let worthwhile = large && !depends_on_trace(setup);
    let write = |(key, value): (String, String)| format!("{key} = {value}\n");
    worthwhile.then(|| cached_lines(setup).into_iter().map(write).collect())
}

/// Whether the drive is overwritten by the trace, which no key knows.
fn depends_on_trace(setup: &Setup) -> bool {
    matches!(setup.precondition.overwrite, Overwrite::Trace(_))
}

fn cached_lines(setup: &Setup) -> Vec<Line> {
    [shape::shape(setup), shape::preconditioning(setup)].concat()
}

/// Where the drive of a run begins.
#[derive(Default)]
pub(crate) struct Origin<'a> {
    /// A drive that is there, to go on from.
    saved: Option<(&'a Path, Reader)>,
    /// Where the preconditioned drive is kept.
    cache: Option<&'a Path>,
}

impl<'a> Origin<'a> {
    /// Finds out what is there.
    pub fn open(setup: &Setup, states: States<'a>) -> Result<Self, SimError> {
        if let Some(path) = states.from {
            let reader = file::open(path, &shape::shape(setup)).map_err(|unusable| refused(path, unusable))?;
            return Ok(Self { saved: Some((path, reader)), cache: None });
        }
        let Some(path) = states.cache.filter(|_| !depends_on_trace(setup)) else { return Ok(Self::default()) };
        match file::open(path, &cached_lines(setup)) {
            Ok(reader) => Ok(Self { saved: Some((path, reader)), cache: Some(path) }),
            Err(Unusable::Missing) => Ok(Self { saved: None, cache: Some(path) }),
            Err(unusable) => Err(SimError::Cached { path: path.into(), why: why(unusable) }),
        }
    }

    /// What the FTL is to be built for.
    pub fn start(&self) -> Start {
        if self.saved.is_some() { Start::Loaded } else { Start::Erased }
    }
}

/// Prepares the device: goes on from a saved drive, or preconditions it, overwritten by `trace` if that is asked for.
pub(crate) fn prepare(
    stack: &mut dyn Kept,
    origin: Origin<'_>,
    trace: Option<&mut Replays<'_>>,
    monitor: &mut dyn Monitor,
) -> Result<(PreconditionSummary, Control), SimError> {
    let Origin { saved, cache } = origin;
    if let Some((path, reader)) = saved {
        let loaded = load(stack, reader).map_err(|unusable| match cache {
            // Half of it may be in the stack.
            Some(_) => SimError::Cached { path: path.into(), why: why(unusable) },
            None => refused(path, unusable),
        });
        return Ok((loaded?, Control::Continue));
    }
    let (summary, control) = precondition::prepare(stack, trace, monitor)?;
    if let (Some(path), Control::Continue) = (cache, control) {
        let lines = cached_lines(stack.setup());
        // A run does not fail because the next one will take longer.
        if let Err(error) = write(stack, summary, path, lines) {
            monitor
                .note(&format!("the preconditioned drive is not kept for the next run: {}: {error}", path.display()));
        }
    }
    Ok((summary, control))
}

fn refused(path: &Path, unusable: Unusable) -> SimError {
    let remedy = match &unusable {
        Unusable::Missing => "give the path of a drive saved with --save-state".into(),
        Unusable::Differs(Difference { remedy, .. }) => {
            format!("{remedy}, or save a drive of this kind with --save-state")
        }
        Unusable::Unreadable(_) => "save the drive anew with --save-state".into(),
    };
    SimError::Setup(format!("{}: {}; {remedy}", path.display(), why(unusable)))
}

fn why(unusable: Unusable) -> String {
    match unusable {
        Unusable::Missing => "there is no such file".into(),
        Unusable::Differs(Difference { then, now, .. }) => format!("it was saved with {then}, and this run has {now}"),
        Unusable::Unreadable(why) => why,
    }
}

/// Saves the drive after a run.
pub(crate) fn save(stack: &mut dyn Kept, mut summary: PreconditionSummary, path: &Path) -> Result<(), SimError> {
    // A run that goes on from here counts all of it as written before its first request.
    stack.checked()?;
    summary.add_run(&stack.counts());
    let lines = shape::shape(stack.setup());
    write(stack, summary, path, lines).map_err(|error| SimError::Unsaved { path: path.into(), why: error.to_string() })
}

fn write(stack: &mut dyn Kept, mut summary: PreconditionSummary, path: &Path, lines: Vec<Line>) -> Archived {
    file::write(path, lines, &mut |archive| stack.archive(&mut summary, archive))
}

fn load(stack: &mut dyn Kept, mut reader: Reader) -> Result<PreconditionSummary, Unusable> {
    let mut summary = PreconditionSummary::default();
    stack.archive(&mut summary, &mut Archive::Load(&mut reader))?;
    reader.finish()?;
    Ok(summary)
}
