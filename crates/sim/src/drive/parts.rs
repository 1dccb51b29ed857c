//! The types that a drive is compiled for.

use std::marker::PhantomData;

use ssdlab_ftl::Ftl;
use ssdlab_nand::FlashSink;
use ssdlab_nand::backend::parallel::{ParallelFlash, UntimedFlash, Witness};
use ssdlab_nand::backend::{CountingFlash, Flash};

use crate::check::shadow::Checker;
use crate::observe::log::Meter;

/// One combination of FTL, flash, checker and meter, chosen by a set-up.
pub(crate) trait Parts: 'static {
    type Ftl: Ftl + Send + 'static;
    type Flash: Flash + Send + 'static;
    type Checker: Checker + FlashSink + Send + 'static;
    type Meter: Meter + Send + 'static;
}

/// Parts of a drive whose dies and channels work at the same time.
pub(crate) trait TimedParts: Parts<Flash = ParallelFlash<Self::Witness>> {
    type Witness: Witness + Send + 'static;
}

/// The combination of four types.
pub(crate) struct Combined<F, D, C, M>(PhantomData<(F, D, C, M)>);

impl<F, D, C, M> Parts for Combined<F, D, C, M>
where
    F: Ftl + Send + 'static,
    D: Flash + Send + 'static,
    C: Checker + FlashSink + Send + 'static,
    M: Meter + Send + 'static,
{
    type Ftl = F;
    type Flash = D;
    type Checker = C;
    type Meter = M;
}

impl<F, W, C, M> TimedParts for Combined<F, ParallelFlash<W>, C, M>
where
    F: Ftl + Send + 'static,
    W: Witness + Send + 'static,
    C: Checker + FlashSink + Send + 'static,
    M: Meter + Send + 'static,
{
    type Witness = W;
}

/// The same parts after time has ended.
pub(crate) type AtRest<P> = Combined<<P as Parts>::Ftl, CountingFlash, <P as Parts>::Checker, <P as Parts>::Meter>;

/// The same parts before time begins.
pub(crate) type Untimed<P> =
    Combined<<P as Parts>::Ftl, UntimedFlash<<P as TimedParts>::Witness>, <P as Parts>::Checker, <P as Parts>::Meter>;
