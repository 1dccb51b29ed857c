//! An FTL of any type, behind one pointer.

use ssdlab_core::{Archive, Archived, Lpn, Ppn};
use ssdlab_ftl::choice::Visitor;
use ssdlab_ftl::{Ftl, WriteContext};
use ssdlab_nand::{Cause, Scan, Trimmed};

use crate::flash::{Move, Sink};

/// [`Ftl`] for the flash of a drive. Dispatched once for each run of pages.
pub(crate) trait Translation: Send {
    fn write(&mut self, lpn: Lpn, count: u32, context: WriteContext, flash: &mut dyn Move);

    /// Whether the page was ever written.
    fn read(&mut self, lpn: Lpn, cause: Cause, flash: &mut dyn Move) -> bool;

    fn trim(&mut self, lpn: Lpn, count: u32, flash: &mut dyn Move);

    fn recover(&mut self, scan: &dyn Scan, trims: &[Trimmed], flash: &mut dyn Move) -> Result<(), String>;

    fn preload(&mut self, flash: &mut dyn Move);

    fn keep_for_failures(&mut self, blocks: u32) -> Result<(), String>;

    fn lookup(&self, lpn: Lpn) -> Option<Ppn>;

    /// Shows the newest copy of each of so many logical pages that has one, and where it is.
    fn copies(&self, logical_pages: u32, visit: &mut dyn FnMut(Lpn, Ppn));

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived;

    fn free_blocks(&self) -> u32;

    fn is_worn_out(&self) -> bool;

    fn check(&self) -> Result<(), String>;
}

/// An FTL over flash that may fail or not.
struct Over<F, const FAILS: bool>(F);

impl<F: Ftl + Send, const FAILS: bool> Translation for Over<F, FAILS> {
    fn write(&mut self, lpn: Lpn, count: u32, context: WriteContext, flash: &mut dyn Move) {
        self.0.write(lpn, count, context, &mut Sink::<FAILS>(flash));
    }

    fn read(&mut self, lpn: Lpn, cause: Cause, flash: &mut dyn Move) -> bool {
        self.0.read(lpn, 1, cause, &mut Sink::<FAILS>(flash)) == 0
    }

    fn trim(&mut self, lpn: Lpn, count: u32, flash: &mut dyn Move) {
        self.0.trim(lpn, count, &mut Sink::<FAILS>(flash));
    }

    fn recover(&mut self, scan: &dyn Scan, trims: &[Trimmed], flash: &mut dyn Move) -> Result<(), String> {
        self.0.recover(scan, trims, &mut Sink::<FAILS>(flash))
    }

    fn preload(&mut self, flash: &mut dyn Move) {
        self.0.preload(&mut Sink::<FAILS>(flash));
    }

    fn keep_for_failures(&mut self, blocks: u32) -> Result<(), String> {
        self.0.keep_for_failures(blocks)
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.0.lookup(lpn)
    }

    fn copies(&self, logical_pages: u32, visit: &mut dyn FnMut(Lpn, Ppn)) {
        for lpn in (0..logical_pages).map(Lpn) {
            if let Some(ppn) = self.0.lookup(lpn) {
                visit(lpn, ppn);
            }
        }
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        self.0.archive(archive)
    }

    fn free_blocks(&self) -> u32 {
        self.0.free_blocks()
    }

    fn is_worn_out(&self) -> bool {
        self.0.is_worn_out()
    }

    fn check(&self) -> Result<(), String> {
        self.0.check()
    }
}

/// Puts an FTL behind a pointer.
pub(crate) struct Boxed {
    pub fails: bool,
}

impl Boxed {
    fn over<F: Ftl + Send + 'static>(self, ftl: F) -> Box<dyn Translation> {
        if self.fails { Box::new(Over::<F, true>(ftl)) } else { Box::new(Over::<F, false>(ftl)) }
    }
}

impl Visitor for Boxed {
    type Output = Box<dyn Translation>;

    fn plain<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output {
        self.over(ftl)
    }

    fn cached_map<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output {
        self.over(ftl)
    }

    fn log_blocks<F: Ftl + Send + 'static>(self, ftl: F, _captures: bool) -> Self::Output {
        self.over(ftl)
    }
}
