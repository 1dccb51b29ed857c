//! Puts the parts of a device together that a set-up asks for, each combination compiled on its own.

use ssdlab_ftl::bast::BastFtl;
use ssdlab_ftl::fast::FastFtl;
use ssdlab_ftl::faster::FasterFtl;
use ssdlab_ftl::map::{Dftl, SegmentCache, WholeMap};
use ssdlab_ftl::page::PageFtl;
use ssdlab_ftl::sbfast::SbfastFtl;
use ssdlab_ftl::{FlashSink, Ftl};
use ssdlab_nand::Timing;

use crate::drive::Drive as TimedDrive;
use crate::engine::Engine;
use crate::flash::{CountingFlash, Flash, OneByOne, SerialFlash};
use crate::log_meter::{LogMeter, Meter};
use crate::map_meter::MapMeter;
use crate::parallel::{InTime, ParallelFlash, UntimedFlash, Witness};
use crate::precondition::Target;
use crate::shadow::{Checker, Shadow};
use crate::sinks::Sinks;
use crate::stack::Stack;
use crate::{Clock, Control, Drive, FtlChoice, Monitor, PreconditionSummary, Setup, SimError};

/// What is done with a stack once its parts are chosen.
pub(crate) trait Purpose {
    type Output;

    /// Requests are served one after the other.
    fn one_by_one<F, D, C, M>(self, engine: Engine<F, D, C, M>) -> Result<Self::Output, SimError>
    where
        F: Ftl + Send + 'static,
        D: OneByOne + Send + 'static,
        C: Checker + FlashSink + Send + 'static,
        M: Meter + Send + 'static;

    /// A drive works on many requests.
    fn in_time<F, W, C, M>(
        self,
        stack: Stack<F, UntimedFlash<W>, C, M>,
        timing: &Timing,
        drive: Drive,
    ) -> Result<Self::Output, SimError>
    where
        F: Ftl + Send + 'static,
        W: Witness + Send + 'static,
        C: Checker + FlashSink + Send + 'static,
        M: Meter + Send + 'static;
}

/// Puts the parts together that `setup` asks for.
pub(crate) fn assemble<P: Purpose>(setup: &Setup, purpose: P) -> Result<P::Output, SimError> {
    let (device, shape) = (setup.page_device(), setup.shape());
    let meter = |captures| LogMeter::new(shape.pages_per_block, captures);
    match setup.ftl {
        FtlChoice::Page(options) => {
            let map = WholeMap { logical_pages: setup.logical_pages };
            run_ftl(setup, PageFtl::with_map(device, options, map, setup.seed), (), purpose)
        }
        FtlChoice::Segments(options, map) => {
            let map = SegmentCache::new(setup.logical_pages, setup.geometry.page_bytes, map);
            let ftl = map.and_then(|map| PageFtl::with_map(device, options, map, setup.seed));
            run_ftl(setup, ftl, MapMeter::new(setup.map_pages()), purpose)
        }
        FtlChoice::Dftl(options, map) => {
            let map = Dftl::new(setup.logical_pages, setup.geometry.page_bytes, map);
            let ftl = map.and_then(|map| PageFtl::with_map(device, options, map, setup.seed));
            run_ftl(setup, ftl, MapMeter::new(setup.map_pages()), purpose)
        }
        FtlChoice::Bast(options) => run_ftl(setup, BastFtl::new(shape, options), meter(false), purpose),
        FtlChoice::Fast(options) => {
            let meter = meter(options.sequential_blocks > 0);
            run_ftl(setup, FastFtl::new(shape, options), meter, purpose)
        }
        FtlChoice::Faster(options) => {
            let meter = meter(options.sequential_blocks > 0);
            run_ftl(setup, FasterFtl::new(shape, options), meter, purpose)
        }
        FtlChoice::Sbfast(options) => run_ftl(setup, SbfastFtl::new(shape, options), meter(true), purpose),
    }
}

/// Compiles the engine for each flash and checker.
fn run_ftl<F: Ftl + Send + 'static, M: Meter + Send + 'static, P: Purpose>(
    setup: &Setup,
    ftl: Result<F, String>,
    meter: M,
    purpose: P,
) -> Result<P::Output, SimError> {
    let ftl = ftl.map_err(SimError::Setup)?;
    let serial = |timing| SerialFlash::new(&timing, &setup.geometry);
    let counting = CountingFlash::default;
    match (setup.clock, setup.check) {
        (Clock::Count, false) => purpose.one_by_one(Engine::new(setup, ftl, counting(), (), meter)),
        (Clock::Count, true) => purpose.one_by_one(Engine::new(setup, ftl, counting(), Shadow::new(setup), meter)),
        (Clock::Serial(timing), false) => purpose.one_by_one(Engine::new(setup, ftl, serial(timing), (), meter)),
        (Clock::Serial(timing), true) => {
            purpose.one_by_one(Engine::new(setup, ftl, serial(timing), Shadow::new(setup), meter))
        }
        (Clock::Event(timing, drive), false) => {
            let flash = UntimedFlash::new(&setup.geometry, ());
            purpose.in_time(Stack::new(setup, ftl, Sinks { flash, checker: (), meter }), &timing, drive)
        }
        (Clock::Event(timing, drive), true) => {
            let flash = UntimedFlash::new(&setup.geometry, InTime::new(&setup.geometry));
            let checker = Shadow::new(setup);
            purpose.in_time(Stack::new(setup, ftl, Sinks { flash, checker, meter }), &timing, drive)
        }
    }
}

/// A drive ready to take requests.
pub(crate) struct Prepared<F, W, C, M> {
    pub drive: TimedDrive<F, W, C, M>,
    pub summary: PreconditionSummary,
    /// Whether the monitor stopped it.
    pub control: Control,
}

/// Prepares a device without time, and makes a drive of it.
pub(crate) fn prepare_drive<F: Ftl, W: Witness, C: Checker + FlashSink, M: Meter>(
    mut stack: Stack<F, UntimedFlash<W>, C, M>,
    timing: &Timing,
    drive: Drive,
    monitor: &mut dyn Monitor,
) -> Result<Prepared<F, W, C, M>, SimError> {
    let (summary, control) = Target::prepare(&mut stack, monitor);
    stack.stop_at_violation()?;
    let geometry = stack.setup.geometry;
    let stack = stack
        .with_flash(|before| ParallelFlash::new(&geometry, timing, &drive, before.counts(), before.into_witness()));
    Ok(Prepared { drive: TimedDrive::new(stack, drive)?, summary, control })
}
