//! Combinations of FTL, flash model, data checker and meter for which drives are compiled.

use std::marker::PhantomData;

use ssdlab_ftl::Ftl;
use ssdlab_nand::backend::Flash;
use ssdlab_nand::backend::parallel::{ParallelFlash, UntimedFlash};

use crate::check::data_checker::Checker;
use crate::observe::meter::Meter;

/// The types of a drive's components: FTL, flash model, data checker, and meter of FTL metrics.
pub(crate) trait Parts: 'static {
    type Ftl: Ftl + Send + 'static;
    type Flash: Flash + Send + 'static;
    type Checker: Checker + Send + 'static;
    type Meter: Meter + Send + 'static;
}

/// Types of an event-driven drive.
pub(crate) trait TimedParts: Parts<Flash = ParallelFlash> {}

impl<P: Parts<Flash = ParallelFlash>> TimedParts for P {}

/// A combination of four types: FTL, flash model, data checker, and meter (which computes the metrics of an FTL).
pub(crate) struct Combined<F, D, C, M>(PhantomData<(F, D, C, M)>);

impl<F, D, C, M> Parts for Combined<F, D, C, M>
where
    F: Ftl + Send + 'static,
    D: Flash + Send + 'static,
    C: Checker + Send + 'static,
    M: Meter + Send + 'static,
{
    type Ftl = F;
    type Flash = D;
    type Checker = C;
    type Meter = M;
}

/// A combination with the FTL, checker and meter of `P`, but a flash model that does not simulate time. A drive has
/// these types before and after the replay.
pub(crate) type Untimed<P> = Combined<<P as Parts>::Ftl, UntimedFlash, <P as Parts>::Checker, <P as Parts>::Meter>;
