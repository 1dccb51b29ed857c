//! Assembles the device of a set-up.

use std::path::Path;

use ssdlab_ftl::choice::{Start, Visitor};
use ssdlab_ftl::{DynFtl, Ftl};
use ssdlab_nand::backend::parallel::{TimingChecker, UntimedFlash};
use ssdlab_nand::backend::{CountingFlash, OneByOne, Resume};

use crate::check::data_checker::DataChecker;
use crate::drive::parts::{AtRest, Parts};
use crate::drive::serial::SerialDrive;
use crate::drive::sinks::Sinks;
use crate::drive::stack::Stack;
use crate::observe::log::LogMeter;
use crate::observe::map::MapMeter;
use crate::observe::meter::Meter;
use crate::precondition::{Device, PreconditionSummary};
use crate::run::Outcome;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor};
use crate::run::repeat::Replays;
use crate::setup::{Clock, Setup};

/// An assembled device, which has no time model yet. To prepare it, use it as a [`Device`]. Its code is compiled for
/// each FTL.
pub(crate) trait Assembled: Device {
    fn ftl(&mut self) -> &mut dyn DynFtl;

    /// Replays the source against the prepared device without modelling time. See [`SerialDrive::run`].
    fn run_without_time(
        self: Box<Self>,
        source: &mut Replays<'_>,
        monitor: &mut dyn Monitor,
        prepared: (PreconditionSummary, Control),
        save: Option<&Path>,
    ) -> Result<Outcome, SimError>;

    /// Returns the device as one type for all FTLs, so that drives with a time model are compiled only once.
    fn boxed(self: Box<Self>) -> Stack<AtRest>;
}

/// Parts of a device without a time model.
trait Untimed: Parts<Flash: OneByOne> + Sized {
    fn boxed(stack: Stack<Self>) -> Stack<AtRest>;
}

impl<F, M> Untimed for (F, CountingFlash, (), M)
where
    F: Ftl + Send + 'static,
    M: Meter + Send + 'static,
{
    fn boxed(stack: Stack<Self>) -> Stack<AtRest> {
        let mut flash = UntimedFlash::new(&stack.setup.geometry, None);
        flash.resume(stack.sinks.flash, &stack.ftl.slc_blocks(), std::iter::empty());
        stack.with_parts(|ftl, sinks| (ftl.boxed(), Sinks::new(flash, None, sinks.meter.boxed())))
    }
}

impl Untimed for AtRest {
    fn boxed(stack: Stack<Self>) -> Stack<AtRest> {
        stack
    }
}

impl<P: Untimed> Assembled for Stack<P> {
    fn ftl(&mut self) -> &mut dyn DynFtl {
        &mut self.ftl
    }

    fn run_without_time(
        self: Box<Self>,
        source: &mut Replays<'_>,
        monitor: &mut dyn Monitor,
        prepared: (PreconditionSummary, Control),
        save: Option<&Path>,
    ) -> Result<Outcome, SimError> {
        SerialDrive::new(*self).run(source, monitor, prepared, save)
    }

    fn boxed(self: Box<Self>) -> Stack<AtRest> {
        P::boxed(*self)
    }
}

/// Assembles the device that `setup` describes.
pub(crate) fn assemble(setup: &Setup, start: Start) -> Result<Box<dyn Assembled>, SimError> {
    setup.ftl.build_from(start, setup.shape(), setup.seed, Assembly { setup }).map_err(SimError::Setup)
}

/// Chooses the meter, which depends on the FTL.
struct Assembly<'s> {
    setup: &'s Setup,
}

impl Visitor for Assembly<'_> {
    type Output = Box<dyn Assembled>;

    fn plain<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output {
        self.with_meter(ftl, ())
    }

    fn cached_map<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output {
        let meter = MapMeter::new(self.setup.map_pages());
        self.with_meter(ftl, meter)
    }

    fn log_blocks<F: Ftl + Send + 'static>(self, ftl: F, captures: bool) -> Self::Output {
        let meter = LogMeter::new(self.setup.geometry.pages_per_block, captures);
        self.with_meter(ftl, meter)
    }
}

impl Assembly<'_> {
    fn with_meter<F, M>(self, ftl: F, meter: M) -> Box<dyn Assembled>
    where
        F: Ftl + Send + 'static,
        M: Meter + Send + 'static,
    {
        let setup = self.setup;
        let geometry = &setup.geometry;
        // Parity is not emitted by the FTL, so flash that only counts operations would miss it.
        if !setup.check && geometry.units.parity == 0 {
            let sinks = Sinks::new(CountingFlash::default(), (), meter);
            return Box::new(Stack::<(F, CountingFlash, (), M)>::new(setup, ftl, sinks));
        }
        let checks_timing = setup.check && matches!(setup.clock, Clock::Event(..));
        let timing_checker = checks_timing.then(|| Box::new(TimingChecker::new(geometry)));
        let flash = UntimedFlash::new(geometry, timing_checker);
        let checker = setup.check.then(|| Box::new(DataChecker::new(setup)));
        Box::new(Stack::<AtRest>::new(setup, ftl.boxed(), Sinks::new(flash, checker, meter.boxed())))
    }
}
