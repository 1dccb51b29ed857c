//! Scan of all spare areas on all processors, for a mount without a log.
//!
//! The FTL recovers from the spare areas while they are read for the first time. It must not change the flash before
//! the damaged pages are known. The last program unit of a block may be torn, so the scan compares the checksums of its
//! pages. This is not necessary if a later page shows that all earlier pages were safe. The pages to compare are far
//! apart and are therefore prefetched.
//!
//! Only the versions of the pages are kept in memory, because recovery reads many versions. Everything else in the
//! spare areas is read from flash again.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ssdlab_core::entry::SharedEntry;
use ssdlab_core::mem::{prefetch, shared};
use ssdlab_core::{BlockId, Entry, HugeVec, Lpn, Ppn};
use ssdlab_nand::{Found, Geometry, Scan};

use crate::backend::{Backend, Fault};
use crate::processors::{readers, share};
use crate::report::MountReport;
use crate::safe::SafeNote;
use crate::spare::{Content, SPARE_BYTES, Spare, SpareBytes, belongs};

const AHEAD: usize = 32;

/// Value in [`Reading::lowest`] for a block whose versions are not kept in memory.
const NOT_KEPT: u64 = u64::MAX;

/// Flag in [`Reading::lowest`] for a block whose versions are consecutive, page by page. Only the lowest version of
/// such a block is kept in memory.
const IN_ORDER: u64 = 1 << 63;

/// A page whose spare area is undamaged.
type Page = (Ppn, Spare, SpareBytes);

/// View of the flash for recovery during the scan. A block is read when recovery visits it. The view treats every block
/// as closed, and every page as undamaged.
pub(crate) struct Reading<'a> {
    geometry: Geometry,
    processors: usize,
    flash: &'a dyn Backend,
    /// Difference of each page's version from the lowest version of its block, unless versions are consecutive.
    versions: &'a [SharedEntry],
    /// Lowest version in each block, possibly combined with the flag [`IN_ORDER`]; [`NOT_KEPT`] if versions are not
    /// kept.
    lowest: Vec<AtomicU64>,
    shares: Mutex<Vec<Share>>,
    fault: Mutex<Option<Fault>>,
}

#[derive(Default)]
struct Share {
    /// Smallest number above the sequence numbers of all pages.
    sequence: u64,
    /// The programmed pages of the last program unit of each block.
    latest: Vec<Page>,
    safe: Safe,
}

/// Ranges of sequence numbers whose pages a power loss cannot have torn.
#[derive(Default)]
struct Safe(Vec<Range<u64>>);

impl Safe {
    fn add(&mut self, more: Range<u64>) {
        match self.0.last_mut() {
            Some(last) if more.start <= last.end && last.start <= more.end => {
                *last = last.start.min(more.start)..last.end.max(more.end);
            }
            _ => self.0.push(more),
        }
    }

    /// Sorts the ranges of sequence numbers and merges adjacent ones.
    fn merged(mut self) -> Self {
        self.0.sort_unstable_by_key(|range| range.start);
        let mut merged = Self::default();
        self.0.into_iter().for_each(|range| merged.add(range));
        merged
    }

    /// True if one of the merged ranges contains the sequence number.
    fn contains(&self, sequence: u64) -> bool {
        let above = self.0.partition_point(|range| range.start <= sequence);
        above > 0 && sequence < self.0[above - 1].end
    }
}

impl<'a> Reading<'a> {
    /// Allocates memory for the versions of all pages. The memory is zeroed lazily, so unused parts cost nothing.
    pub fn memory(geometry: &Geometry) -> HugeVec<Entry> {
        HugeVec::zeros(geometry.pages() as usize)
    }

    /// Creates the view of the flash for a scan that has not read anything yet.
    pub fn new(flash: &'a dyn Backend, versions: &'a mut [Entry]) -> Self {
        Self::on(readers(flash, flash.geometry().blocks), flash, versions)
    }

    fn on(processors: usize, flash: &'a dyn Backend, versions: &'a mut [Entry]) -> Self {
        let geometry = *flash.geometry();
        let lowest = (0..geometry.blocks).map(|_| AtomicU64::new(NOT_KEPT)).collect();
        let (versions, shares, fault) = (shared(versions), Mutex::default(), Mutex::default());
        Self { geometry, processors, flash, versions, lowest, shares, fault }
    }

    /// Finishes the scan after all blocks have been visited. Returns the smallest number above the sequence numbers of
    /// all pages, and the damaged pages, which the view presented to recovery as undamaged.
    pub fn finish(self, noted: &SafeNote, report: &mut MountReport) -> Result<(u64, Vec<DamagedPage>), Fault> {
        let Self { geometry, flash, shares, fault, .. } = self;
        if let Some(fault) = fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(fault);
        }
        let (mut sequence, mut latest, mut safe) = (0, Vec::new(), Safe::default());
        for share in shares.into_inner().unwrap_or_else(PoisonError::into_inner) {
            sequence = sequence.max(share.sequence);
            latest.extend(share.latest);
            safe.0.extend(share.safe.0);
        }
        let safe = safe.merged();
        latest.retain(|(_, spare, _)| !safe.contains(spare.oob.sequence) && !noted.covers(spare.oob.sequence));
        latest.sort_unstable_by_key(|&(ppn, ..)| ppn);
        report.blocks_scanned += u64::from(geometry.blocks);
        report.spares_read += geometry.pages();
        report.pages_verified += latest.len() as u64;
        Ok((sequence, damaged_among(flash, &latest)?))
    }

    /// Reads a block: stores its pages in `pages`, and records its versions.
    fn read(&self, block: BlockId, spares: &mut [u8], pages: &mut [Found], share: &mut Share) -> Result<(), Fault> {
        let first = block.0 * self.geometry.pages_per_block;
        self.flash.read_spares(Ppn(first), spares)?;
        let (mut latest, mut above, mut is_full) = (None, 0, true);
        let (mut lowest, mut highest, mut in_order) = (u64::MAX, 0_u64, true);
        // Uses the parts of a page as soon as they are decoded, whereas `decode_block` first stores the decoded page in
        // memory.
        for ((ppn, spare), page) in (first..).map(Ppn).zip(spares.as_chunks().0).zip(&mut *pages) {
            let content = Content::decode(ppn, spare);
            *page = content.found();
            let Content::Programmed(Spare { oob, version, safe, .. }) = content else {
                is_full = false;
                continue;
            };
            in_order &= lowest == u64::MAX || version == highest.wrapping_add(1);
            (lowest, highest) = (lowest.min(version), highest.max(version));
            if safe > 0 {
                share.safe.add(oob.sequence.saturating_sub(safe)..oob.sequence);
            }
            if oob.sequence >= above {
                (latest, above) = (Some(ppn.0), oob.sequence + 1);
            }
        }
        if is_full && in_order && highest < IN_ORDER {
            self.lowest[block.index()].store(lowest | IN_ORDER, Ordering::Relaxed);
        } else if lowest <= highest && highest < IN_ORDER && highest - lowest < u64::from(u32::MAX) {
            for (kept, page) in self.versions[first as usize..].iter().zip(&*pages) {
                kept.set(page.version().map_or(Entry::NONE, |version| Entry::of((version - lowest) as u32)));
            }
            self.lowest[block.index()].store(lowest, Ordering::Relaxed);
        }
        if !is_full {
            let erased = pages.iter_mut().filter(|page| **page == Found::Erased);
            erased.for_each(|page| *page = Found::Unreadable);
        }
        // Decodes the pages of the last program unit a second time. Keeping the decoded pages of every unit, in case it
        // is the last one, would take longer.
        share.sequence = share.sequence.max(above);
        if let Some(latest) = latest {
            let unit = self.geometry.program_unit();
            let last_unit = (latest - first) / unit * unit..;
            for (spare, at) in
                spares.as_chunks().0[last_unit.start as usize..].iter().zip(last_unit).take(unit as usize)
            {
                if let Content::Programmed(decoded) = Content::decode(Ppn(first + at), spare) {
                    share.latest.push((Ppn(first + at), decoded, *spare));
                }
            }
        }
        Ok(())
    }

    fn note(&self, fault: Fault) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }
}

impl Scan for Reading<'_> {
    fn page(&self, ppn: Ppn) -> Found {
        let mut spare = [0; SPARE_BYTES];
        if let Err(fault) = self.flash.read_spares(ppn, &mut spare) {
            self.note(fault);
            return Found::Unreadable;
        }
        match Content::decode(ppn, &spare).found() {
            Found::Erased => Found::Unreadable,
            contents => contents,
        }
    }

    fn version(&self, ppn: Ppn) -> Option<u64> {
        let (block, at) = (ppn.0 / self.geometry.pages_per_block, ppn.0 % self.geometry.pages_per_block);
        match self.lowest[block as usize].load(Ordering::Relaxed) {
            NOT_KEPT => self.page(ppn).version(),
            lowest if lowest & IN_ORDER != 0 => Some((lowest ^ IN_ORDER) + u64::from(at)),
            lowest => match self.versions[ppn.index()].get() {
                Entry::NONE => None,
                above => Some(lowest + u64::from(above.page())),
            },
        }
    }

    #[inline]
    fn expect(&self, ppn: Ppn) {
        prefetch(self.versions, ppn.index());
    }

    /// Presents a block that cannot be read as a block whose pages are all unreadable; [`Self::finish`] reports the
    /// error.
    fn blocks(&self, blocks: u32, pages_per_block: u32, visit: &(dyn Fn(BlockId, &[Found]) + Sync)) {
        let pages = pages_per_block as usize;
        let shares = share(self.processors, blocks, |own| {
            let mut share = Share::default();
            let (mut spares, mut pages) = (vec![0; pages * SPARE_BYTES], vec![Found::Unreadable; pages]);
            for block in own {
                if let Err(fault) = self.read(block, &mut spares, &mut pages, &mut share) {
                    self.note(fault);
                    pages.fill(Found::Unreadable);
                }
                visit(block, &pages);
            }
            share
        });
        // Recovery may visit all blocks more than once. Every visit has the same result, so the last one may overwrite
        // the others.
        *self.shares.lock().unwrap_or_else(PoisonError::into_inner) = shares;
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.flash.is_bad(block)
    }

    /// Returns 0, because the number of erases is unknown.
    fn erases(&self, _block: BlockId) -> u32 {
        0
    }
}

/// A page with an intact spare area but damaged data.
#[derive(Clone, Copy)]
pub(crate) struct DamagedPage {
    pub ppn: Ppn,
    pub lpn: Lpn,
    pub sequence: u64,
    pub version: u64,
    /// Sequence number; pages of the same block with lower numbers are left over from before an erase.
    pub from: u64,
}

/// Reads the data of a page into `page`; returns true if the data matches the checksum in the spare area.
pub(crate) fn is_whole(backend: &dyn Backend, ppn: Ppn, spare: &SpareBytes, page: &mut [u8]) -> Result<bool, Fault> {
    match backend.read(ppn, page, &mut [0; SPARE_BYTES]) {
        Ok(()) => Ok(belongs(ppn, page, spare)),
        Err(Fault::Uncorrectable) => Ok(false),
        Err(fault) => Err(fault),
    }
}

fn damaged_among(flash: &dyn Backend, pages: &[Page]) -> Result<Vec<DamagedPage>, Fault> {
    let mut page = vec![0; flash.geometry().page_bytes as usize];
    let mut damaged = Vec::new();
    pages.iter().take(AHEAD).for_each(|&(ppn, ..)| flash.fetch(ppn));
    for (at, &(ppn, Spare { oob, version, .. }, ref spare)) in pages.iter().enumerate() {
        if let Some(&(ahead, ..)) = pages.get(at + AHEAD) {
            flash.fetch(ahead);
        }
        if !is_whole(flash, ppn, spare, &mut page)? {
            damaged.push(DamagedPage { ppn, lpn: oob.lpn, sequence: oob.sequence, version, from: 0 });
        }
    }
    Ok(damaged)
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{Role, SpareArea};

    use super::*;
    use crate::backend::MemoryBackend;
    use crate::spare::decode_block;

    const PAGES: u32 = 4;

    /// Creates flash whose blocks were written during several mounts. Each mount ended with a power loss that may have
    /// torn the last page. Also returns the torn pages, and the number of blocks whose last page no later sync covers.
    fn flash(blocks: u32, rng: &mut Rng) -> (MemoryBackend, Vec<Ppn>, u64) {
        let geometry = Geometry::single_plane(16, PAGES, blocks);
        let (mut backend, mut torn, mut untold) = (MemoryBackend::new(geometry), Vec::new(), 0);
        let (mut next, mut sequence) = (0, 0);
        while next < blocks {
            let (begun, first) = (sequence, next);
            next = blocks.min(first + 1 + rng.below(100) as u32);
            let (mut latest, mut synced) = (vec![None; (next - first) as usize], begun);
            let mut used = vec![0; latest.len()];
            let one_by_one = rng.below(3) == 0;
            let programs = rng.below(u64::from(PAGES * (next - first)) + 1);
            for at in 0..programs {
                let block = if one_by_one { at / u64::from(PAGES) } else { rng.below(latest.len() as u64) } as usize;
                if used[block] == PAGES {
                    continue;
                }
                let ppn = Ppn((first + block as u32) * PAGES + used[block]);
                used[block] += 1;
                let oob = SpareArea { lpn: Lpn(ppn.0), sequence, role: Role::Data };
                let safe = if rng.below(40) == 0 { sequence - begun } else { 0 };
                if safe > 0 {
                    synced = sequence;
                }
                let is_torn = at + 1 == programs && rng.below(2) == 0;
                let mut page = [7; 16];
                // Gives some pages a version far from the neighbouring versions. The scan does not keep such a version
                // in memory.
                let version = if rng.below(20) == 0 { 0 } else { sequence + (1 << 40) };
                let spare = Spare { oob, version, lost: false, safe }.encode(ppn, Some(&page));
                page[0] ^= u8::from(is_torn);
                backend.program(ppn, &page, &spare).expect("memory does not fail");
                torn.extend(is_torn.then_some(ppn));
                latest[block] = Some(sequence);
                sequence += if one_by_one { 1 } else { 1 + rng.below(3) };
            }
            untold += latest.into_iter().flatten().filter(|&latest| latest >= synced).count() as u64;
            sequence += 1;
        }
        torn.sort_unstable();
        (backend, torn, untold)
    }

    /// Goal: with any number of processors, the scan reads every block once. It compares the last page of a block with
    /// its checksum if that page may be torn. Method: scans flash with few and with many blocks. The scan must find the
    /// programmed pages, and report torn pages as damaged.
    #[test]
    fn the_number_of_processors_makes_no_difference() {
        let mut rng = Rng::named(1, "scan");
        for blocks in [1, 64, 65, 9 * 64 + 5] {
            let (backend, torn, untold) = flash(blocks, &mut rng);
            for processors in 1..=5 {
                let mut report = MountReport::default();
                let mut memory = Reading::memory(backend.geometry());
                let reading = Reading::on(processors, &backend, &mut memory);
                let looked_at = Mutex::new(vec![0; blocks as usize]);
                reading.blocks(blocks, PAGES, &|block, _| looked_at.lock().expect("no panic")[block.index()] += 1);
                assert_eq!(looked_at.into_inner().expect("no panic"), vec![1; blocks as usize]);
                let mut spares = [0; PAGES as usize * SPARE_BYTES];
                let mut above = 0;
                for block in (0..blocks).map(BlockId) {
                    backend.read_spares(Ppn(block.0 * PAGES), &mut spares).expect("memory does not fail");
                    for (ppn, content) in decode_block(block, &spares) {
                        match content {
                            Content::Programmed(Spare { oob, version, .. }) => {
                                above = above.max(oob.sequence + 1);
                                let contents = Found::Programmed { oob, version, outdated: false };
                                assert_eq!((reading.page(ppn), reading.version(ppn)), (contents, Some(version)));
                            }
                            _ => {
                                let contents = (reading.page(ppn), reading.version(ppn));
                                assert_eq!(contents, (Found::Unreadable, None), "every block must appear closed");
                            }
                        }
                    }
                }
                let (sequence, damaged) =
                    reading.finish(&SafeNote::default(), &mut report).expect("memory does not fail");
                assert_eq!(damaged.iter().map(|page| page.ppn).collect::<Vec<_>>(), torn);
                assert_eq!(sequence, above);
                let MountReport { blocks_scanned, spares_read, pages_verified, .. } = report;
                let all = u64::from(blocks);
                assert_eq!((blocks_scanned, spares_read, pages_verified), (all, all * u64::from(PAGES), untold));
            }
        }
    }
}
