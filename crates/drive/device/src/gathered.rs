//! Volatile memory in which the controller gathers program units of several pages. A power loss clears the memory.

use ssdlab_core::Ppn;
use ssdlab_nand::Role;

use crate::spare::{Spare, SpareBytes};

/// Program unit that is gathered in memory. Its pages arrive in ascending order, starting with `first`.
pub(crate) struct ProgramUnit {
    pub first: Ppn,
    spares: Vec<Spare>,
    pub data: Vec<u8>,
}

impl ProgramUnit {
    /// Returns the encoded spare areas, with checksums of the pages if `checked` is true.
    pub fn encoded(&self, checked: bool) -> Vec<SpareBytes> {
        let page_bytes = self.data.len() / self.spares.len();
        let pages = self.data.chunks(page_bytes).zip(&self.spares).zip(self.first.0..);
        pages.map(|((page, spare), ppn)| spare.encode(Ppn(ppn), checked.then_some(page))).collect()
    }
}

/// Incomplete program units.
pub(crate) struct Gathered {
    /// Number of pages of a program unit; 1 if each page is programmed immediately.
    unit_pages: u32,
    page_bytes: usize,
    units: Vec<ProgramUnit>,
    /// Buffer of an already programmed unit, to be reused for the next unit.
    unused: Vec<u8>,
}

impl Gathered {
    pub fn new(unit_pages: u32, page_bytes: u32) -> Self {
        Self { unit_pages, page_bytes: page_bytes as usize, units: Vec::new(), unused: Vec::new() }
    }

    /// True if pages are gathered before they are programmed.
    pub fn is_used(&self) -> bool {
        self.unit_pages > 1
    }

    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    pub fn clear(&mut self) {
        self.units.clear();
    }

    pub fn begins_unit(&self, ppn: Ppn) -> bool {
        ppn.0.is_multiple_of(self.unit_pages)
    }

    /// Returns the spare area and the data of a page in memory.
    pub fn page(&self, ppn: Ppn) -> Option<(Spare, &[u8])> {
        self.units.iter().find_map(|unit| {
            let at = ppn.0.checked_sub(unit.first.0)? as usize;
            let spare = unit.spares.get(at)?;
            Some((*spare, &unit.data[at * self.page_bytes..(at + 1) * self.page_bytes]))
        })
    }

    /// Returns the number of pages in memory that the host wrote.
    pub fn host_pages(&self) -> u32 {
        let spares = self.units.iter().flat_map(|unit| &unit.spares);
        spares.filter(|Spare { oob, version, .. }| oob.role == Role::Data && oob.sequence == *version).count() as u32
    }

    pub fn lowest_sequence(&self) -> Option<u64> {
        self.units.iter().map(|unit| unit.spares[0].oob.sequence).min()
    }

    /// Adds a page; returns the page's program unit if it is complete. The pages of a unit arrive in ascending order.
    pub fn add(&mut self, ppn: Ppn, spare: Spare, page: &[u8]) -> Option<ProgramUnit> {
        if self.begins_unit(ppn) {
            let data = std::mem::take(&mut self.unused);
            self.units.push(ProgramUnit { first: ppn, spares: Vec::with_capacity(self.unit_pages as usize), data });
        }
        let first = ppn.0 - ppn.0 % self.unit_pages;
        let place = self.units.iter().position(|unit| unit.first.0 == first).expect("the program unit is open");
        let unit = &mut self.units[place];
        unit.spares.push(spare);
        unit.data.extend_from_slice(page);
        (unit.spares.len() == self.unit_pages as usize).then(|| self.units.swap_remove(place))
    }

    /// Keeps the memory of a programmed unit for reuse.
    pub fn reuse(&mut self, unit: ProgramUnit) {
        self.unused = unit.data;
        self.unused.clear();
    }
}
