//! Creates a drive that continues from the state of a simulated drive.

use ssdlab_core::{Archive, PageBits, Ppn};
use ssdlab_ftl::DynFtl;
use ssdlab_nand::{Counts, Role, SpareArea};

use super::{Drive, Options};
use crate::backend::Backend;
use crate::error::DriveError;
use crate::flash::Medium;
use crate::spare::{Spare, SpareBytes};

impl<B: Backend> Drive<B> {
    /// Creates a mounted drive on erased flash. Its FTL continues from `state`, which [`Ftl::archive`] saved. All pages
    /// that the FTL has programmed contain zeros. Fails if the options do not fit the flash or the state, the FTL
    /// cannot list its pages, or the flash cannot be written.
    ///
    /// [`Ftl::archive`]: ssdlab_ftl::Ftl::archive
    pub fn create_from(backend: B, options: Options, mut state: &[u8]) -> Result<Self, DriveError> {
        let mut drive = Self::off(backend, options)?;
        let mut ftl = drive.erased_ftl()?;
        let loaded = ftl.archive(&mut Archive::Load(&mut state));
        loaded.map_err(|error| DriveError::Options(format!("the state of the FTL cannot be loaded: {error}")))?;
        if options.gathered_pages(drive.geometry()) > 1 {
            complete_units(ftl.as_mut());
        }
        drive.medium.program_zeros(ftl.as_ref())?;
        drive.medium.checkpoint(false, options.logical_pages, Some(ftl.as_ref()))?;
        drive.ftl = Some(ftl);
        drive.power_buffer(None, &[])?;
        Ok(drive)
    }
}

/// Completes all program units with padding. A drive holds incomplete units in volatile memory, but the volatile memory
/// of a new drive is empty.
fn complete_units(ftl: &mut dyn DynFtl) {
    let mut padded = Counts::default();
    loop {
        let before = padded;
        ftl.complete_units_dyn(true, &mut padded);
        // The padding may trigger garbage collection, which copies pages and so begins further program units.
        if padded == before {
            return;
        }
    }
}

impl<B: Backend> Medium<B> {
    /// Programs zeros into all pages that the FTL programmed in a simulation. The original sequence numbers and
    /// versions of the pages are unknown, so the pages get new sequence numbers in one possible order of the programs.
    /// If a page follows the newest copy of its logical page in this order, its version is set to 0, the oldest
    /// version.
    fn program_zeros(&mut self, ftl: &dyn DynFtl) -> Result<(), DriveError> {
        let geometry = *self.backend.geometry();
        let zeros = vec![0; geometry.page_bytes as usize];
        let checked = (!self.backend.keeps_pages()).then_some(&zeros[..]);
        let mut visited = PageBits::new(geometry.pages() as u32);
        let (mut sequence, mut programmed) = (0, Ok(()));
        // Consecutive pages to be programmed together.
        let (mut first, mut run): (u32, Vec<SpareBytes>) = (0, Vec::new());
        let backend = &mut self.backend;
        let next = ftl.programmed(&mut |ppn, lpn, role| {
            let newest = if matches!(role, Role::Map | Role::Padding) { None } else { ftl.lookup(lpn) };
            let is_late = newest.is_some_and(|newest| visited.is_set(newest.0));
            let version = if is_late { 0 } else { sequence };
            let spare = Spare { oob: SpareArea { lpn, sequence, role }, version, lost: false, safe: 0 };
            visited.set(ppn.0);
            sequence += 1;
            if ppn.0 != first + run.len() as u32 {
                if programmed.is_ok() {
                    programmed = backend.program_zeros(Ppn(first), &run);
                }
                run.clear();
                first = ppn.0;
            }
            run.push(spare.encode(ppn, checked));
        });
        (self.sequence, self.begun) = next.map(|next| (next, next)).map_err(DriveError::Options)?;
        debug_assert!(
            sequence <= self.sequence,
            "the FTL's next sequence number must exceed the numbers of its programs"
        );
        self.erases.iter_mut().zip(ftl.erase_counts()).for_each(|(own, &erases)| *own = erases);
        Ok(programmed.and_then(|()| self.backend.program_zeros(Ppn(first), &run))?)
    }
}
