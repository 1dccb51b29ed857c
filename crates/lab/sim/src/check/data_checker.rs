//! Checks every flash operation and every read against a copy of the data.
//!
//! The checker has its own flash array, which enforces the NAND rules. For every logical page it stores the version
//! last written by the host and the location of the newest copy. It reports rule violations, copies of the wrong page,
//! erases of the only copy, and reads of old versions. It also reports pages that are lost or that reappear after a
//! trim.

use ssdlab_core::{Archive, Archived, BlockId, Entry, HugeVec, Lpn, Ppn};
use ssdlab_ftl::Ftl;
use ssdlab_nand::{Cause, Counts, FlashArray, FlashSink, PageData, Role, Source, SpareArea, Units, Violation};

use crate::setup::Setup;

/// An optional data checker. The unit type `()` stands for "no checker"; its methods compile to nothing.
pub(crate) trait Checker: FlashSink {
    #[inline(always)]
    fn get(&self) -> Option<&DataChecker> {
        None
    }

    #[inline(always)]
    fn get_mut(&mut self) -> Option<&mut DataChecker> {
        None
    }
}

impl Checker for () {}

/// A checker that is present only if the set-up enables checks.
pub(crate) type OptionalChecker = Option<Box<DataChecker>>;

impl Checker for OptionalChecker {
    #[inline(always)]
    fn get(&self) -> Option<&DataChecker> {
        self.as_deref()
    }

    #[inline(always)]
    fn get_mut(&mut self) -> Option<&mut DataChecker> {
        self.as_deref_mut()
    }
}

/// Checks the data of a device against a copy of the data.
pub struct DataChecker {
    array: FlashArray,
    pages_per_block: u32,
    /// Version of each logical page, then of each map page; 0 if unwritten or trimmed.
    versions: HugeVec<u64>,
    /// Flash page of the newest copy of each logical page and map page.
    homes: HugeVec<Entry>,
    logical_pages: u32,
    next_version: u64,
    last_sequence: Option<u64>,
    first_lpn: u32,
    /// Logical pages that the current request has read for the host.
    host_reads: Vec<Lpn>,
    /// True if a page was copied since the last barrier. An erase before the next barrier could overtake the copy.
    unsettled: bool,
    units: Units,
    /// Number of pages per program unit in native mode (not SLC mode).
    program_unit: u32,
    /// Expected number of parity pages: those of all stripes completed so far.
    parity_pages: u64,
    violation: Option<String>,
    operations: u64,
    page_reads: u64,
}

impl DataChecker {
    /// Creates a checker for the erased device that `setup` describes. It uses about 12 bytes for each physical page
    /// and for each written logical page.
    pub fn new(setup: &Setup) -> Self {
        Self {
            array: FlashArray::new(&setup.geometry),
            pages_per_block: setup.geometry.pages_per_block,
            versions: HugeVec::zeros(setup.logical_pages as usize + setup.map_pages() as usize),
            homes: HugeVec::zeros(setup.logical_pages as usize + setup.map_pages() as usize),
            logical_pages: setup.logical_pages,
            next_version: 1,
            last_sequence: None,
            first_lpn: 0,
            host_reads: Vec::new(),
            unsettled: false,
            units: setup.geometry.units,
            program_unit: setup.geometry.program_unit(),
            parity_pages: 0,
            violation: None,
            operations: 0,
            page_reads: 0,
        }
    }

    fn blame(&mut self, violation: impl Into<String>) {
        self.violation.get_or_insert(violation.into());
    }

    /// Checks that the sequence numbers of programs and trims always increase.
    fn follow(&mut self, sequence: u64, what: impl FnOnce() -> String) {
        if self.last_sequence.is_some_and(|last| sequence <= last) {
            self.blame(format!("{}: sequence number {sequence} does not exceed the previous sequence number", what()));
        }
        self.last_sequence = Some(sequence);
    }

    /// Programs a page. A stripe has parity once all its pages are programmed.
    fn write(&mut self, ppn: Ppn, data: PageData, role: Role) {
        let result = self.array.program(ppn, data, role);
        self.accept(result);
        let Units { word_line, parity, .. } = self.units;
        if parity > 0 {
            let slc = self.array.is_slc(BlockId(ppn.0 / self.pages_per_block));
            let unit = self.program_unit / if slc { word_line } else { 1 };
            let in_block = ppn.0 % self.pages_per_block + 1;
            self.parity_pages += if in_block.is_multiple_of(unit * parity) { unit.into() } else { 0 };
        }
    }

    fn accept<T>(&mut self, result: Result<T, Violation>) -> Option<T> {
        self.operations += 1;
        result.map_err(|Violation(text)| self.blame(text)).ok()
    }
}

// The methods below are not inlined, so that the code of drives without a checker stays small.
impl FlashSink for DataChecker {
    #[inline(never)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        let result = self.array.read(ppn);
        let data = self.accept(result);
        match cause {
            Cause::Host | Cause::ReadModifyWrite => {
                let Some(PageData { lpn, stamp }) = data else { return };
                if stamp != self.versions[lpn.index()] {
                    self.blame(format!("a read of logical page {lpn} returned an old version from flash page {ppn}"));
                }
                self.host_reads.push(lpn);
            }
            // The FTL must read the newest version of a map page. An FTL that computes flash addresses has no map
            // pages; it reads data pages, whose spare areas point to other pages.
            Cause::MapLoad | Cause::MapWriteBack | Cause::MapUpdate => {
                let has_map_pages = self.versions.len() > self.logical_pages as usize;
                if let Some(PageData { lpn, stamp }) = data
                    && (has_map_pages && lpn.0 < self.logical_pages || stamp != self.versions[lpn.index()])
                {
                    self.blame(format!(
                        "page {ppn} was read as a map page, but it holds version {stamp} of logical page {lpn}"
                    ));
                }
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn trimmed(&mut self, lpn: Lpn, _count: u32, sequence: u64) {
        self.follow(sequence, || format!("trim from page {lpn}"));
    }

    #[inline(never)]
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, _cause: Cause) {
        self.follow(oob.sequence, || format!("program of page {ppn}"));
        let lpn = oob.lpn;
        let data = match source {
            // Padding belongs to no logical page.
            Source::Padding => {
                return self.write(ppn, PageData { lpn, stamp: 0 }, oob.role);
            }
            Source::Host(page) => {
                if lpn.0 != self.first_lpn + page {
                    self.blame(format!(
                        "page {page} of the request at logical page {} was programmed as logical page {lpn}",
                        self.first_lpn
                    ));
                }
                PageData { lpn, stamp: self.versions[lpn.index()] }
            }
            Source::Map => {
                if lpn.0 < self.logical_pages {
                    self.blame(format!("logical page {lpn} was programmed as a map page"));
                }
                self.versions[lpn.index()] = self.next_version;
                self.next_version += 1;
                PageData { lpn, stamp: self.versions[lpn.index()] }
            }
            Source::Copy(from) => {
                self.unsettled = true;
                // The copy-back has already been counted as a read of the source page.
                let data = match self.array.read(from) {
                    Ok(data) => data,
                    Err(Violation(text)) => return self.blame(text),
                };
                if data.lpn != lpn {
                    self.blame(format!(
                        "copy of page {from} to {ppn}: page {from} holds logical page {}, not {lpn}",
                        data.lpn
                    ));
                }
                data
            }
        };
        self.write(ppn, data, oob.role);
        if data.stamp == self.versions[lpn.index()] {
            self.homes[lpn.index()] = Entry::of(ppn.0);
        }
    }

    #[inline(never)]
    fn erase(&mut self, block: BlockId, _cause: Cause) {
        if self.unsettled {
            self.blame(format!("erase of block {block} without a barrier after copies"));
        }
        let first = block.0 * self.pages_per_block;
        for ppn in first..first + self.pages_per_block {
            let Ok(PageData { lpn, stamp }) = self.array.read(Ppn(ppn)) else { continue };
            if stamp != 0 && self.homes[lpn.index()].page() == ppn && stamp == self.versions[lpn.index()] {
                self.blame(format!("erase of block {block} destroys the only copy of logical page {lpn}"));
            }
        }
        let result = self.array.erase(block);
        self.accept(result);
    }

    fn barrier(&mut self) {
        self.unsettled = false;
    }
}

impl DataChecker {
    /// Records that the host is about to write `count` pages, starting at `lpn`.
    #[inline(never)]
    pub fn expect_write(&mut self, lpn: Lpn, count: u32) {
        self.first_lpn = lpn.0;
        for version in &mut self.versions[lpn.index()..lpn.index() + count as usize] {
            *version = self.next_version;
            self.next_version += 1;
        }
    }

    /// Records that the host is about to trim `count` pages, starting at `lpn`.
    #[inline(never)]
    pub fn expect_trim(&mut self, lpn: Lpn, count: u32) {
        self.versions[lpn.index()..lpn.index() + count as usize].fill(0);
    }

    /// Checks a read of `count` pages, starting at `lpn`, that the FTL has just served.
    #[inline(never)]
    pub fn verify_read<F: Ftl>(&mut self, ftl: &F, lpn: Lpn, count: u32) {
        let reads = std::mem::take(&mut self.host_reads);
        let mut served = reads.iter();
        for lpn in (lpn.0..lpn.0 + count).map(Lpn) {
            self.page_reads += 1;
            let version = self.versions[lpn.index()];
            match ftl.lookup(lpn) {
                None if version == 0 => {}
                None => self.blame(format!("logical page {lpn} was written but is lost")),
                Some(ppn) if version == 0 => {
                    self.blame(format!("logical page {lpn} was trimmed but reappeared at flash page {ppn}"))
                }
                Some(ppn) => {
                    // The FTL may have read a page other than `ppn`, because loading a map page may have moved the
                    // data.
                    if served.next() != Some(&lpn) {
                        self.blame(format!("a read of logical page {lpn} did not read the flash page that holds it"));
                    }
                    match self.array.read(ppn) {
                        Ok(data) if data == (PageData { lpn, stamp: version }) => {}
                        Ok(data) => self.blame(format!(
                            "logical page {lpn} reads as version {} of page {}, not version {version}",
                            data.stamp, data.lpn
                        )),
                        Err(Violation(text)) => self.blame(text),
                    }
                }
            }
        }
        if served.next().is_some() {
            self.blame(format!("a read of {count} pages at logical page {lpn} read more flash pages than it needed"));
        }
        self.host_reads = reads;
        self.host_reads.clear();
    }

    /// Returns the first violation found, if any.
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// Compares the parity that the flash programmed with the number of complete stripes.
    pub fn check_parity(&self, counts: &Counts) -> Option<String> {
        let (counted, expected) = (counts.programs[Cause::Parity as usize], self.parity_pages);
        (counted != expected).then(|| format!("the flash programmed {counted} parity pages instead of {expected}"))
    }

    /// Returns the number of flash operations and page reads checked so far.
    pub fn checked(&self) -> (u64, u64) {
        (self.operations, self.page_reads)
    }

    /// Iterates over the programmed flash pages in ascending order.
    pub(crate) fn programmed(&self) -> impl Iterator<Item = Ppn> {
        self.array.programmed()
    }

    /// Saves or loads the checker's state between two requests, while there is no violation.
    pub(crate) fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self {
            array,
            pages_per_block: _,
            versions,
            homes,
            logical_pages: _,
            next_version,
            last_sequence,
            first_lpn: _,
            host_reads: _,
            unsettled: _,
            units: _,
            program_unit: _,
            parity_pages,
            violation: _,
            operations,
            page_reads,
        } = self;
        array.archive(archive)?;
        archive.array(versions)?;
        archive.array(homes)?;
        archive.value(next_version)?;
        archive.value(last_sequence)?;
        archive.value(operations)?;
        archive.value(parity_pages)?;
        archive.value(page_reads)
    }
}
