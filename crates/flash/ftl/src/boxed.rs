//! An FTL behind `dyn`, for any flash.

use ssdlab_core::{Archive, Archived, BlockId, Lpn, Ppn};
use ssdlab_nand::{Cause, FlashSink, Role, Scan, Trimmed};

use crate::{CachedEntries, DynFtl, Ftl, GcOccupancy, Shares, SlcCounts, WriteContext};

/// An [`Ftl`] of any type, called through `dyn`. It offers every capability of the FTL.
///
/// [`Ftl`] is not implemented for `Box<dyn DynFtl>` itself, because the methods of the box would hide the methods of
/// the FTL inside.
pub struct BoxedFtl(pub Box<dyn DynFtl>);

impl Ftl for BoxedFtl {
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, context: WriteContext, sink: &mut S) {
        self.0.write_dyn(lpn, count, context, sink);
    }

    fn read<S: FlashSink>(&mut self, lpn: Lpn, count: u32, cause: Cause, sink: &mut S) -> u32 {
        self.0.read_dyn(lpn, count, cause, sink)
    }

    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, sink: &mut S) {
        self.0.trim_dyn(lpn, count, sink);
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.0.lookup(lpn)
    }

    fn copies(&self, logical_pages: u32, visit: &mut dyn FnMut(Lpn, Ppn)) {
        self.0.copies(logical_pages, visit);
    }

    fn is_worn_out(&self) -> bool {
        self.0.is_worn_out()
    }

    fn keep_for_failures(&mut self, blocks: u32) -> Result<(), String> {
        self.0.keep_for_failures(blocks)
    }

    fn prefetch(&mut self, lpn: Lpn) {
        self.0.prefetch(lpn);
    }

    fn prefetch_copy(&self, lpn: Lpn) {
        self.0.prefetch_copy(lpn);
    }

    fn free_blocks(&self) -> u32 {
        self.0.free_blocks()
    }

    fn erase_counts(&self) -> &[u32] {
        self.0.erase_counts()
    }

    fn slc_blocks(&self) -> Vec<BlockId> {
        self.0.slc_blocks()
    }

    fn slc_counts(&self) -> Option<&SlcCounts> {
        self.0.slc_counts()
    }

    fn occupied(&self) -> Option<GcOccupancy> {
        self.0.occupied()
    }

    fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes()
    }

    fn mapping_table_bytes(&self) -> u64 {
        self.0.mapping_table_bytes()
    }

    fn background<S: FlashSink>(&mut self, plane: u32, free_blocks: u32, pages: u32, sink: &mut S) -> bool {
        self.0.background_dyn(plane, free_blocks, pages, sink)
    }

    fn complete_units<S: FlashSink>(&mut self, everything: bool, sink: &mut S) {
        self.0.complete_units_dyn(everything, sink);
    }

    fn complete_units_before_erases(&mut self) {
        self.0.complete_units_before_erases();
    }

    fn preload<S: FlashSink>(&mut self, sink: &mut S) {
        self.0.preload_dyn(sink);
    }

    fn cached_entries(&self) -> Vec<CachedEntries> {
        self.0.cached_entries()
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        self.0.archive(archive)
    }

    fn programmed(&self, visit: &mut dyn FnMut(Ppn, Lpn, Role)) -> Result<u64, String> {
        self.0.programmed(visit)
    }

    fn recover<S: FlashSink>(&mut self, scan: &dyn Scan, trims: &[Trimmed], sink: &mut S) -> Result<(), String> {
        self.0.recover_dyn(scan, trims, sink)
    }

    fn part(&self, planes: u32, seed: u64) -> Option<Self> {
        self.0.part_dyn(planes, seed).map(Self)
    }

    fn take_over(&mut self, part: &Self, share: u32, shares: &Shares) {
        self.0.take_over_dyn(&*part.0, share, shares);
    }

    fn taken_over(&mut self, shares: &Shares) {
        self.0.taken_over(shares);
    }

    fn section(&self, count: u32, seed: u64) -> Option<Self> {
        self.0.section_dyn(count, seed).map(Self)
    }

    fn take_over_sections(&mut self, part: Self, shares: Shares) {
        self.0.take_over_sections_dyn(part.0, shares);
    }

    fn check(&self) -> Result<(), String> {
        self.0.check()
    }

    fn boxed(self) -> BoxedFtl {
        self
    }
}
