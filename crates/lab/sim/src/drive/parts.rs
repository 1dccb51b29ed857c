//! Combinations of FTL, flash model, data checker and meter for which drives are compiled.
//!
//! A device that only counts operations is compiled for each FTL with its meter, so that it is fast. Other drives are
//! compiled once for all FTLs and meters: virtual calls cost little compared with a time model or a checker.

use ssdlab_ftl::{BoxedFtl, Ftl};
use ssdlab_nand::backend::parallel::{ParallelFlash, UntimedFlash};
use ssdlab_nand::backend::{Flash, SerialFlash};

use crate::check::data_checker::{Checker, OptionalChecker};
use crate::observe::meter::{BoxedMeter, Meter};

/// The types of a drive's components: FTL, flash model, data checker, and meter of FTL metrics.
pub(crate) trait Parts: 'static {
    type Ftl: Ftl + Send + 'static;
    type Flash: Flash + Send + 'static;
    type Checker: Checker + Send + 'static;
    type Meter: Meter + Send + 'static;
}

impl<F, D, C, M> Parts for (F, D, C, M)
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

/// The parts of a drive after its flash model is replaced.
pub(crate) type WithFlash<P, D> = (<P as Parts>::Ftl, D, <P as Parts>::Checker, <P as Parts>::Meter);

/// A drive that processes one request at a time.
pub(crate) type Serial = (BoxedFtl, SerialFlash, OptionalChecker, BoxedMeter);

/// A drive that processes many requests at once.
pub(crate) type Timed = (BoxedFtl, ParallelFlash, OptionalChecker, BoxedMeter);

/// A drive without a time model: it has none yet, or was shut down.
pub(crate) type AtRest = (BoxedFtl, UntimedFlash, OptionalChecker, BoxedMeter);
