//! The oracle: a shadow of the data against which every flash operation and every read is checked.
//!
//! Beside the device under test it keeps a flash array that enforces the NAND rules and, for every logical
//! page, the version the host wrote last and where its newest copy lies. It finds a rule broken, a copy of
//! the wrong page, an erase of the only copy, a read of an old version, a page lost or resurrected.

use ssdlab_core::{Archive, Archived, BlockId, Entry, HugeVec, Lpn, Ppn};
use ssdlab_ftl::Ftl;
use ssdlab_nand::{Cause, FlashArray, FlashSink, PageData, Source, SpareArea, Violation};

use crate::setup::Setup;

/// A sink that may check what it sees. The unit type checks nothing and compiles to nothing.
pub trait Checker {
    /// Whether it checks.
    fn is_on(&self) -> bool;

    /// The host is about to write `count` pages from `lpn`.
    fn expect_write(&mut self, lpn: Lpn, count: u32);

    /// The host trims `count` pages from `lpn`.
    fn expect_trim(&mut self, lpn: Lpn, count: u32);

    /// The FTL has just served a read of `count` pages from `lpn`.
    fn verify_read<F: Ftl>(&mut self, ftl: &F, lpn: Lpn, count: u32);

    /// The first thing found wrong.
    fn violation(&self) -> Option<&str>;

    /// (flash operations, page reads) checked so far.
    fn checked(&self) -> (u64, u64);

    /// The pages that it knows to be programmed, in ascending order.
    fn programmed(&self) -> impl Iterator<Item = Ppn>;

    /// Saves or loads what it knows between two requests, while it has found nothing wrong.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived;
}

impl Checker for () {
    #[inline(always)]
    fn is_on(&self) -> bool {
        false
    }

    #[inline(always)]
    fn expect_write(&mut self, _lpn: Lpn, _count: u32) {}

    #[inline(always)]
    fn expect_trim(&mut self, _lpn: Lpn, _count: u32) {}

    #[inline(always)]
    fn verify_read<F: Ftl>(&mut self, _ftl: &F, _lpn: Lpn, _count: u32) {}

    fn violation(&self) -> Option<&str> {
        None
    }

    fn checked(&self) -> (u64, u64) {
        (0, 0)
    }

    fn programmed(&self) -> impl Iterator<Item = Ppn> {
        std::iter::empty()
    }

    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Ok(())
    }
}

/// A checker that may be absent, which is known when a run begins.
impl<C: Checker> Checker for Option<Box<C>> {
    #[inline(always)]
    fn is_on(&self) -> bool {
        self.is_some()
    }

    #[inline(always)]
    fn expect_write(&mut self, lpn: Lpn, count: u32) {
        if let Some(checker) = self {
            checker.expect_write(lpn, count);
        }
    }

    #[inline(always)]
    fn expect_trim(&mut self, lpn: Lpn, count: u32) {
        if let Some(checker) = self {
            checker.expect_trim(lpn, count);
        }
    }

    #[inline(always)]
    fn verify_read<F: Ftl>(&mut self, ftl: &F, lpn: Lpn, count: u32) {
        if let Some(checker) = self {
            checker.verify_read(ftl, lpn, count);
        }
    }

    fn violation(&self) -> Option<&str> {
        self.as_ref()?.violation()
    }

    fn checked(&self) -> (u64, u64) {
        self.as_ref().map_or((0, 0), |checker| checker.checked())
    }

    fn programmed(&self) -> impl Iterator<Item = Ppn> {
        self.iter().flat_map(|checker| checker.programmed())
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        self.as_mut().map_or(Ok(()), |checker| checker.archive(archive))
    }
}

/// DataChecker of the data of a device.
pub struct DataChecker {
    array: FlashArray,
    pages_per_block: u32,
    /// Version of each logical page, and behind them of each map page; 0 = never written or trimmed.
    versions: HugeVec<u64>,
    /// Where the newest copy of each of these was programmed.
    homes: HugeVec<Entry>,
    logical_pages: u32,
    next_version: u64,
    last_sequence: Option<u64>,
    first_lpn: u32,
    /// Logical pages read for the host by the request under way.
    host_reads: Vec<Lpn>,
    /// A page was moved since the last barrier: an erase now could overtake it.
    unsettled: bool,
    violation: Option<String>,
    operations: u64,
    page_reads: u64,
}

impl DataChecker {
    /// A shadow of the erased device that `setup` describes; about 12 bytes for each physical and each logical page
    /// that was written.
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
            violation: None,
            operations: 0,
            page_reads: 0,
        }
    }

    /// The host is about to write `count` pages from `lpn`.
    pub fn begin_write(&mut self, lpn: Lpn, count: u32) {
        self.first_lpn = lpn.0;
        for version in &mut self.versions[lpn.index()..lpn.index() + count as usize] {
            *version = self.next_version;
            self.next_version += 1;
        }
    }

    /// The first thing found wrong.
    pub fn first_violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    fn blame(&mut self, violation: impl Into<String>) {
        self.violation.get_or_insert(violation.into());
    }

    /// Sequence numbers ascend over programs and trims.
    fn follow(&mut self, sequence: u64, what: impl FnOnce() -> String) {
        if self.last_sequence.is_some_and(|last| sequence <= last) {
            self.blame(format!("{}: sequence {sequence} is not above the one before", what()));
        }
        self.last_sequence = Some(sequence);
    }

    fn accept<T>(&mut self, result: Result<T, Violation>) -> Option<T> {
        self.operations += 1;
        result.map_err(|Violation(text)| self.blame(text)).ok()
    }
}

// Out of line, so that its code does not stand in the way of drives that are not checked.
impl FlashSink for DataChecker {
    #[inline(never)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        let result = self.array.read(ppn);
        let data = self.accept(result);
        match cause {
            Cause::Host | Cause::ReadModifyWrite => {
                let Some(PageData { lpn, stamp }) = data else { return };
                if stamp != self.versions[lpn.index()] {
                    self.blame(format!("a read of logical page {lpn} read an old version at {ppn}"));
                }
                self.host_reads.push(lpn);
            }
            // The map that is read must be the one that was written last.
            Cause::MapLoad | Cause::MapWriteBack | Cause::MapUpdate => {
                if let Some(PageData { lpn, stamp }) = data
                    && (lpn.0 < self.logical_pages || stamp != self.versions[lpn.index()])
                {
                    self.blame(format!("page {ppn} was read as a map page, but it holds version {stamp} of {lpn}"));
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
            Source::Host(page) => {
                if lpn.0 != self.first_lpn + page {
                    self.blame(format!("page {page} of the request at {} was programmed as {lpn}", self.first_lpn));
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
                // That it was read has been counted, as a read.
                let data = match self.array.read(from) {
                    Ok(data) => data,
                    Err(Violation(text)) => return self.blame(text),
                };
                if data.lpn != lpn {
                    self.blame(format!("copy of page {from} to {ppn}: it holds {}, not {lpn}", data.lpn));
                }
                data
            }
        };
        let result = self.array.program(ppn, data);
        self.accept(result);
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
            if self.homes[lpn.index()].page() == ppn && stamp == self.versions[lpn.index()] {
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

impl Checker for DataChecker {
    fn is_on(&self) -> bool {
        true
    }

    #[inline(never)]
    fn expect_write(&mut self, lpn: Lpn, count: u32) {
        self.begin_write(lpn, count);
    }

    #[inline(never)]
    fn expect_trim(&mut self, lpn: Lpn, count: u32) {
        self.versions[lpn.index()..lpn.index() + count as usize].fill(0);
    }

    #[inline(never)]
    fn verify_read<F: Ftl>(&mut self, ftl: &F, lpn: Lpn, count: u32) {
        let reads = std::mem::take(&mut self.host_reads);
        let mut served = reads.iter();
        for lpn in (lpn.0..lpn.0 + count).map(Lpn) {
            self.page_reads += 1;
            let version = self.versions[lpn.index()];
            match ftl.lookup(lpn) {
                None if version == 0 => {}
                None => self.blame(format!("logical page {lpn} was written and is lost")),
                Some(ppn) if version == 0 => self.blame(format!("logical page {lpn} was trimmed and is back at {ppn}")),
                Some(ppn) => {
                    // Perhaps not from `ppn`: the read may have loaded a map page, which collected and moved the page.
                    if served.next() != Some(&lpn) {
                        self.blame(format!("a read of logical page {lpn} did not read it"));
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
            self.blame(format!("a read of {count} pages at {lpn} read more flash pages than it needed"));
        }
        self.host_reads = reads;
        self.host_reads.clear();
    }

    fn violation(&self) -> Option<&str> {
        self.first_violation()
    }

    fn checked(&self) -> (u64, u64) {
        (self.operations, self.page_reads)
    }

    fn programmed(&self) -> impl Iterator<Item = Ppn> {
        self.array.programmed()
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
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
        archive.value(page_reads)
    }
}
