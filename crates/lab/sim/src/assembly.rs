//! Assembles the device of a set-up. Each combination of FTL, flash, checker and meter is compiled separately.

use ssdlab_ftl::Ftl;
use ssdlab_ftl::choice::{Start, Visitor};
use ssdlab_nand::Timing;
use ssdlab_nand::backend::parallel::{ParallelFlash, TimingChecker, UntimedFlash};
use ssdlab_nand::backend::{CountingFlash, OneByOne, SerialFlash};

use crate::check::data_checker::DataChecker;
use crate::drive::TimedDrive;
use crate::drive::parts::{Combined, Parts, TimedParts, Untimed};
use crate::drive::serial::SerialDrive;
use crate::drive::sinks::Sinks;
use crate::drive::stack::Stack;
use crate::observe::log::LogMeter;
use crate::observe::map::MapMeter;
use crate::observe::meter::Meter;
use crate::precondition::PreconditionSummary;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor};
use crate::run::repeat::Replays;
use crate::setup::drive::DriveOptions;
use crate::setup::{Clock, Setup};
use crate::state::{self, Origin};

/// Code that runs on an assembled drive. It is compiled separately for each combination of FTL, flash, checker and
/// meter.
pub(crate) trait Purpose {
    type Output;

    /// Runs the code on a drive that serves requests one after the other.
    fn one_by_one<P>(self, drive: SerialDrive<P>) -> Result<Self::Output, SimError>
    where
        P: Parts<Flash: OneByOne>;

    /// Runs the code on a drive with timing, which works on many requests at once.
    fn in_time<P: TimedParts>(
        self,
        stack: Stack<Untimed<P>>,
        timing: &Timing,
        options: DriveOptions,
    ) -> Result<Self::Output, SimError>;
}

/// Assembles the drive that `setup` describes, and runs `purpose` on it.
pub(crate) fn assemble<U: Purpose>(setup: &Setup, start: Start, purpose: U) -> Result<U::Output, SimError> {
    let assembly = Assembly { setup, purpose };
    setup.ftl.build_from(start, setup.shape(), setup.seed, assembly).map_err(SimError::Setup)?
}

/// Chooses the types of a drive's parts: first the meter, which depends on the FTL, then flash and checker.
struct Assembly<'s, U> {
    setup: &'s Setup,
    purpose: U,
}

impl<U: Purpose> Visitor for Assembly<'_, U> {
    type Output = Result<U::Output, SimError>;

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

impl<U: Purpose> Assembly<'_, U> {
    /// Chooses the flash model and the data checker. Code without a checker exists only for drives that count the
    /// operations of the FTL. All other drives test at run time for a checker, which costs little.
    fn with_meter<F, M>(self, ftl: F, meter: M) -> Result<U::Output, SimError>
    where
        F: Ftl + Send + 'static,
        M: Meter + Send + 'static,
    {
        let Self { setup, purpose } = self;
        let geometry = &setup.geometry;
        let has_parity = geometry.units.parity > 0;
        if let (Clock::Count, false, false) = (setup.clock, setup.check, has_parity) {
            let flash = CountingFlash::default();
            return one_by_one(setup, purpose, ftl, Sinks::new(flash, (), meter));
        }
        let checker = setup.check.then(|| Box::new(DataChecker::new(setup)));
        match setup.clock {
            Clock::Count => {
                let flash = SerialFlash::without_time(geometry);
                one_by_one(setup, purpose, ftl, Sinks::new(flash, checker, meter))
            }
            Clock::Serial(timing) => {
                let flash = SerialFlash::new(&timing, geometry);
                one_by_one(setup, purpose, ftl, Sinks::new(flash, checker, meter))
            }
            Clock::Event(timing, options) => {
                let timing_checker = setup.check.then(|| Box::new(TimingChecker::new(geometry)));
                let flash = UntimedFlash::new(geometry, timing_checker);
                let stack = Stack::new(setup, ftl, Sinks::new(flash, checker, meter));
                purpose.in_time::<Combined<F, ParallelFlash, Option<Box<DataChecker>>, M>>(stack, &timing, options)
            }
        }
    }
}

fn one_by_one<U, F, D, C, M>(setup: &Setup, purpose: U, ftl: F, sinks: Sinks<D, C, M>) -> Result<U::Output, SimError>
where
    U: Purpose,
    Combined<F, D, C, M>: Parts<Ftl = F, Flash = D, Checker = C, Meter = M>,
    D: OneByOne,
{
    purpose.one_by_one::<Combined<F, D, C, M>>(SerialDrive::new(setup, ftl, sinks))
}

/// A drive that is ready for requests, with the results of its preparation.
pub(crate) struct Prepared<P: TimedParts> {
    pub drive: TimedDrive<P>,
    pub summary: PreconditionSummary,
    /// [`Control::Stop`] if the monitor stopped the preparation of the drive.
    pub control: Control,
}

/// Prepares a device without modelling time, and builds a drive from the device. If the set-up requires it, `trace` is
/// replayed to overwrite the device.
pub(crate) fn prepare_drive<P: TimedParts>(
    mut stack: Stack<Untimed<P>>,
    timing: &Timing,
    options: DriveOptions,
    origin: Origin<'_>,
    trace: Option<&mut Replays<'_>>,
    monitor: &mut dyn Monitor,
) -> Result<Prepared<P>, SimError> {
    let (summary, control) = state::prepare(&mut stack, origin, trace, monitor)?;
    let geometry = stack.setup.geometry;
    let (attribution, array) = (stack.setup.attribution, options.array(stack.setup.seed));
    let stack = stack.with_flash(|before| {
        let mut flash = ParallelFlash::new(&geometry, timing, array, before);
        if attribution {
            flash.attribute_latency();
        }
        flash
    });
    Ok(Prepared { drive: TimedDrive::new(stack, options)?, summary, control })
}
