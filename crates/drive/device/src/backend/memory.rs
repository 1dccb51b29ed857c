//! Flash in memory; its contents are lost when the process ends.

use ssdlab_core::mem::{prefetch, scatter};
use ssdlab_core::{BlockId, HugeVec, Ppn, Reciprocal};
use ssdlab_nand::Geometry;

use super::{Backend, Fault, Slot, spare_at};
use crate::spare::{SPARE_BYTES, SpareBytes};

/// Size of a processor's cache line in bytes, the unit of memory transfers.
const LINE_BYTES: usize = 64;

/// Flash in memory. If the system zeroes memory lazily, pages that were never programmed take no memory.
///
/// The pages with the same number in all planes are stored next to each other. FTLs write to the planes in turn, so the
/// bytes of a long request are mostly contiguous, which helps the CPU's prefetcher.
#[derive(Clone, Debug)]
pub struct MemoryBackend {
    geometry: Geometry,
    plane_of: Reciprocal,
    pages: HugeVec<u8>,
    spares: HugeVec<u8>,
    bad: Vec<bool>,
    logs: [Vec<u8>; 4],
}

impl MemoryBackend {
    /// Creates erased flash.
    pub fn new(geometry: Geometry) -> Self {
        let pages = geometry.pages() as usize;
        Self {
            geometry,
            plane_of: Reciprocal::new((geometry.pages() / u64::from(geometry.areas())) as u32),
            pages: HugeVec::zeros(pages * geometry.page_bytes as usize),
            spares: HugeVec::zeros(pages * SPARE_BYTES),
            bad: vec![false; geometry.blocks as usize],
            logs: [const { Vec::new() }; 4],
        }
    }

    fn page_at(&self, ppn: Ppn) -> usize {
        let plane = self.plane_of.divide(ppn.0);
        let row = ppn.0 - plane * self.plane_of.divisor();
        let place = row as usize * self.geometry.areas() as usize + plane as usize;
        place * self.geometry.page_bytes as usize
    }
}

impl Backend for MemoryBackend {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn keeps_pages(&self) -> bool {
        true
    }

    fn reads_at_once(&self) -> bool {
        true
    }

    fn read(&self, ppn: Ppn, page: &mut [u8], spare: &mut SpareBytes) -> Result<(), Fault> {
        let (at, spare_at) = (self.page_at(ppn), spare_at(ppn.0.into()) as usize);
        page.copy_from_slice(&self.pages[at..at + page.len()]);
        spare.copy_from_slice(&self.spares[spare_at..spare_at + SPARE_BYTES]);
        Ok(())
    }

    /// Prefetches all cache lines of the page: if pages are not contiguous, the hardware prefetcher fetches only a few
    /// lines.
    fn expect(&self, ppn: Ppn) {
        let from = self.page_at(ppn);
        (from..from + self.geometry.page_bytes as usize).step_by(LINE_BYTES).for_each(|at| prefetch(&self.pages, at));
        prefetch(&self.spares, spare_at(ppn.0.into()) as usize);
    }

    fn read_spares(&self, first: Ppn, spares: &mut [u8]) -> Result<(), Fault> {
        let at = spare_at(first.0.into()) as usize;
        spares.copy_from_slice(&self.spares[at..at + spares.len()]);
        Ok(())
    }

    fn program(&mut self, ppn: Ppn, page: &[u8], spare: &SpareBytes) -> Result<(), Fault> {
        let (at, spare_at) = (self.page_at(ppn), spare_at(ppn.0.into()) as usize);
        self.pages[at..at + page.len()].copy_from_slice(page);
        self.spares[spare_at..spare_at + SPARE_BYTES].copy_from_slice(spare);
        Ok(())
    }

    /// Stores only the spare areas, because the memory of pages that were never programmed already contains zeros.
    fn program_zeros(&mut self, first: Ppn, spares: &[SpareBytes]) -> Result<(), Fault> {
        let at = spare_at(first.0.into()) as usize;
        self.spares[at..at + spares.len() * SPARE_BYTES].copy_from_slice(spares.as_flattened());
        Ok(())
    }

    fn place(&mut self, pages: &mut dyn Iterator<Item = (Ppn, &[u8])>) {
        let mut into = std::mem::replace(&mut self.pages, HugeVec::zeros(0));
        scatter(&mut into, pages.map(|(ppn, page)| (self.page_at(ppn), page)));
        self.pages = into;
    }

    fn erase(&mut self, block: BlockId) -> Result<(), Fault> {
        let pages = u64::from(self.geometry.pages_per_block);
        let from = u64::from(block.0) * pages;
        self.spares[spare_at(from) as usize..spare_at(from + pages) as usize].fill(0);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.bad[block.index()]
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), Fault> {
        self.bad[block.index()] = true;
        Ok(())
    }

    fn read_log(&self, slot: Slot, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        let log = &self.logs[slot as usize];
        let from = log.len().min(offset as usize);
        let there = (log.len() - from).min(bytes.len());
        bytes[..there].copy_from_slice(&log[from..from + there]);
        bytes[there..].fill(0);
        Ok(())
    }

    fn write_log(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        let log = &mut self.logs[slot as usize];
        let end = offset as usize + bytes.len();
        if log.len() < end {
            log.resize(end, 0);
        }
        log[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }
}
