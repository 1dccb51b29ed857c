//! An FTL of any type, behind one pointer.

use ssdlab_core::{Lpn, Ppn};
use ssdlab_ftl::choice::Visitor;
use ssdlab_ftl::{Ftl, WriteContext};
use ssdlab_nand::{Cause, Trimmed};

use crate::backend::Backend;
use crate::flash::Flash;
use crate::table::PageTable;

/// [`Ftl`] for the flash of a drive. Dispatched once for each run of pages, which costs little beside moving them.
pub(crate) trait Translation<B: Backend>: Send {
    fn write(&mut self, lpn: Lpn, count: u32, context: WriteContext, flash: &mut Flash<'_, B>);
    fn read(&mut self, lpn: Lpn, cause: Cause, flash: &mut Flash<'_, B>) -> bool;
    fn trim(&mut self, lpn: Lpn, count: u32, flash: &mut Flash<'_, B>);
    fn recover(&mut self, table: &PageTable, trims: &[Trimmed], flash: &mut Flash<'_, B>) -> Result<(), String>;
    fn lookup(&self, lpn: Lpn) -> Option<Ppn>;
    fn is_worn_out(&self) -> bool;
    fn check(&self) -> Result<(), String>;
}

impl<B: Backend, F: Ftl + Send> Translation<B> for F {
    fn write(&mut self, lpn: Lpn, count: u32, context: WriteContext, flash: &mut Flash<'_, B>) {
        Ftl::write(self, lpn, count, context, flash);
    }

    /// Whether the page was ever written.
    fn read(&mut self, lpn: Lpn, cause: Cause, flash: &mut Flash<'_, B>) -> bool {
        Ftl::read(self, lpn, 1, cause, flash) == 0
    }

    fn trim(&mut self, lpn: Lpn, count: u32, flash: &mut Flash<'_, B>) {
        Ftl::trim(self, lpn, count, flash);
    }

    fn recover(&mut self, table: &PageTable, trims: &[Trimmed], flash: &mut Flash<'_, B>) -> Result<(), String> {
        Ftl::recover(self, table, trims, flash)
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        Ftl::lookup(self, lpn)
    }

    fn is_worn_out(&self) -> bool {
        Ftl::is_worn_out(self)
    }

    fn check(&self) -> Result<(), String> {
        Ftl::check(self)
    }
}

/// Puts an FTL behind a pointer.
pub(crate) struct Boxed<B>(pub std::marker::PhantomData<B>);

impl<B: Backend + 'static> Visitor for Boxed<B> {
    type Output = Box<dyn Translation<B>>;

    fn plain<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output {
        Box::new(ftl)
    }

    fn cached_map<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output {
        Box::new(ftl)
    }

    fn log_blocks<F: Ftl + Send + 'static>(self, ftl: F, _captures: bool) -> Self::Output {
        Box::new(ftl)
    }
}
