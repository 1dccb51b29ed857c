//! Measures the cost of a map in flash.

use ssdlab_core::{BlockId, Ppn};
use ssdlab_nand::{Cause, Counts, FlashSink, MergeCost, Note, Source, SpareArea};

use crate::observe::meter::{LookupTally, MapSummary, Measured, Meter};

/// Meter for an FTL whose map is in flash.
#[derive(Default)]
pub(crate) struct MapMeter {
    pages: u32,
    /// Numbers of map look-ups and hits. Index 0 is for reads, index 1 for writes and trims.
    counts: [(u64, u64); 2],
    /// True if the latest look-up was for a read and missed. A map load that follows is then counted for reads.
    reading: bool,
    double_reads: u64,
    missed_again: u64,
    operations: Counts,
}

impl MapMeter {
    pub(crate) fn new(pages: u32) -> Self {
        Self { pages, ..Self::default() }
    }
}

/// Causes of flash operations that read or write the FTL's map.
const CAUSES: [Cause; 4] = [Cause::MapLoad, Cause::MapWriteBack, Cause::MapUpdate, Cause::MapGc];

impl FlashSink for MapMeter {
    #[inline(always)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.operations.read(ppn, cause);
        if cause == Cause::MapLoad && std::mem::take(&mut self.reading) {
            self.double_reads += 1;
        }
    }

    #[inline(always)]
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.operations.program(ppn, oob, source, cause);
    }

    #[inline(always)]
    fn erase(&mut self, _block: BlockId, _cause: Cause) {}

    #[inline(always)]
    fn note(&mut self, note: Note) {
        if let Note::LookedUp { hit, changes, written, .. } = note {
            let (count, hits) = &mut self.counts[usize::from(changes)];
            *count += 1;
            *hits += u64::from(hit);
            self.missed_again += u64::from(!hit && written);
            self.reading = !hit && !changes;
        }
    }
}

impl Meter for MapMeter {
    fn restart(&mut self) {
        *self = Self::new(self.pages);
    }

    fn figures(&mut self, host_pages_written: u64, _cost_ns: &dyn Fn(MergeCost) -> Option<u64>) -> Measured {
        let tally = |count: u64, hits: u64| LookupTally {
            count,
            hits,
            hit_ratio: (count > 0).then(|| hits as f64 / count as f64),
        };
        let [(reads, read_hits), (changes, change_hits)] = self.counts;
        let total = |of: &[u64; Cause::ALL.len()]| CAUSES.iter().map(|&cause| of[cause as usize]).sum::<u64>();
        let pages_programmed = total(&self.operations.programs);
        let map = MapSummary {
            reads: tally(reads, read_hits),
            changes: tally(changes, change_hits),
            all: tally(reads + changes, read_hits + change_hits),
            pages_read: total(&self.operations.reads),
            pages_programmed,
            translation_write_amplification: (host_pages_written > 0)
                .then(|| pages_programmed as f64 / host_pages_written as f64),
            double_read_share: (reads > 0).then(|| self.double_reads as f64 / reads as f64),
            pages: self.pages,
            missed_again: self.missed_again,
        };
        Measured { log: None, map: Some(map) }
    }
}
