//! A drive: serves requests in bytes with an FTL on flash.

mod aged;
mod health;
mod power;

pub use health::Health;

use std::ops::Range;

use ssdlab_core::{Lpn, PageSize, Pages as PageRun};
use ssdlab_ftl::page::PageOptions;
use ssdlab_ftl::{DynFtl, FtlChoice, Shape, WriteContext};
use ssdlab_nand::{Cause, Geometry};

use crate::backend::Backend;
use crate::buffer::{Buffer, WriteBuffer};
use crate::error::DriveError;
use crate::flash::{Flash, Medium, Pages, Payload};
use crate::protected::BufferJournal;

/// Options of a drive, except the options of its flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Number of logical pages.
    pub logical_pages: u32,
    /// FTL with its options.
    pub ftl: FtlChoice,
    /// Seed of the FTL's random streams.
    pub seed: u64,
    /// Write buffer; if None, writes go directly to flash.
    pub buffer: Option<WriteBuffer>,
    /// Number of blocks listed in the journal at which a checkpoint is written. A mount reads at most this many blocks.
    pub journal_blocks: u32,
    /// Number of erased blocks reserved for program failures during one collection or merge (per plane with page
    /// mapping). It is 0 if the flash never fails. Without the reserve, a single failure could wear out the drive.
    pub spare_for_failures: u32,
    /// Rated program/erase cycles per block; the drive's wear is reported relative to this rating.
    pub endurance_cycles: u32,
}

impl Options {
    /// Returns the default limit on the number of journal blocks for a flash of `blocks` blocks: a quarter of them, but
    /// at least 128.
    pub fn journal_blocks(blocks: u32) -> u32 {
        (blocks / 4).max(128)
    }

    /// Returns the flash geometry that the FTL gets with these options.
    pub(crate) fn shape(&self, geometry: &Geometry) -> Shape {
        let Geometry { page_bytes, pages_per_block, blocks, order, .. } = *geometry;
        let (planes, program_unit) = (geometry.areas(), geometry.program_unit());
        Shape { logical_pages: self.logical_pages, page_bytes, blocks, pages_per_block, order, planes, program_unit }
    }

    /// Returns the number of blocks that may go bad before the drive becomes read-only, if the bad blocks are spread
    /// evenly over the planes.
    pub(crate) fn spare_blocks(&self, geometry: &Geometry) -> u32 {
        let shape = self.shape(geometry);
        let data = self.logical_pages.div_ceil(geometry.pages_per_block);
        let kept = match self.ftl {
            FtlChoice::Page(..) => self.spare_for_failures * shape.planes,
            FtlChoice::Log(_, log_blocks) => self.spare_for_failures + log_blocks,
        };
        geometry.blocks.saturating_sub(data + kept + self.ftl.device_reserve_blocks(&shape))
    }

    /// Returns the number of pages that are gathered in volatile memory and then programmed together. Without a
    /// volatile write buffer it is 1, because each page is stored immediately.
    pub(crate) fn gathered_pages(&self, geometry: &Geometry) -> u32 {
        if self.buffer.is_some_and(|buffer| !buffer.protected) { geometry.program_unit() } else { 1 }
    }

    /// Builds an FTL with these options on an erased device.
    fn build(&self, geometry: &Geometry) -> Result<Box<dyn DynFtl>, String> {
        if let FtlChoice::Page(PageOptions { slc: Some(_), .. }, _) = self.ftl {
            return Err("a drive that stores data cannot have an SLC cache; set ftl.page.slc to \"none\"".into());
        }
        if geometry.units.parity > 0 {
            return Err(
                "a drive that stores data cannot have parity; set ftl.page.collect.superblock.parity to 0".into()
            );
        }
        if geometry.units.pass_distance > 0 {
            return Err("a drive that stores data must program in one pass; set nand.passes to \"one\"".into());
        }
        let mut ftl = self.ftl.build_dyn(self.shape(geometry), self.seed)?;
        if self.gathered_pages(geometry) > 1 {
            ftl.complete_units_before_erases();
        }
        if self.spare_for_failures > 0 {
            ftl.keep_for_failures(self.spare_for_failures)?;
        }
        Ok(ftl)
    }

    /// Checks that a drive can be built with these options. Fails if the options conflict, or leave the drive too few
    /// blocks or pages.
    pub fn check(&self, geometry: &Geometry) -> Result<(), String> {
        self.build(geometry).map(drop)
    }
}

/// Byte range to be zeroed, divided into whole pages to trim and bytes to write with zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Zeroed {
    /// Byte ranges to write with zeros: the partly covered pages before and after the whole pages.
    pub written: [Range<u64>; 2],
    /// Byte range of the whole pages, which are trimmed.
    pub trimmed: Range<u64>,
}

impl Zeroed {
    /// Splits a byte range into whole pages to trim and the rest, which is to be overwritten with zeros.
    pub fn of(page: PageSize, bytes: Range<u64>) -> Self {
        let covered = page.covered(bytes.start, bytes.end);
        if covered.is_empty() {
            // The range covers no whole page, only the end of one page and the start of the next.
            let none = bytes.end..bytes.end;
            return Self { written: [bytes, none.clone()], trimmed: none };
        }
        let (from, to) = (covered.start * page.bytes(), covered.end * page.bytes());
        Self { written: [bytes.start..from, to..bytes.end], trimmed: from..to }
    }
}

/// A drive on flash that holds bytes.
///
/// # Promises
///
/// The logical page is the atomic unit of writes.
///
/// - A write acknowledged before an acknowledged flush, or with FUA, survives any power loss. Without a write buffer,
///   or with a protected buffer, every acknowledged write survives.
/// - After a power loss, each page of a later write may be present or missing, in no particular order. No page is torn,
///   and no page is older than at the latest acknowledged flush. An unacknowledged write of several pages may have
///   written only some of them.
/// - Chips may program several pages together. Without power-loss protection, the pages of an incomplete program unit
///   are in RAM, like pages in a volatile write buffer. A flush completes program units with padding.
/// - Pages never written, or trimmed before an acknowledged flush, read as zeros.
/// - Reading a page whose data the flash has lost is an error; it never returns other data.
///
/// "Power" means the power of the drive: killing the process is a power loss. If the computer loses power, the file
/// keeps the state of the latest flush and any subset of the pages written later.
pub struct Drive<B: Backend> {
    options: Options,
    page: PageSize,
    medium: Medium<B>,
    /// The FTL; None while the power is off.
    ftl: Option<Box<dyn DynFtl>>,
    /// FTL that was built only to check the options. The first mount uses it.
    unused: Option<Box<dyn DynFtl>>,
    buffer: Option<Buffer>,
    /// Journal of a protected buffer's pages; None while the power is off.
    journal: Option<BufferJournal>,
    /// Buffer for a page that the host is reading.
    page_out: Vec<u8>,
    /// Number of erased blocks when the power last went off.
    free_blocks: u32,
}

impl<B: Backend> Drive<B> {
    /// Reads bytes of the drive, starting at `offset`. Fails if the range exceeds the drive, data in it was lost, or
    /// the drive is off.
    pub fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), DriveError> {
        let end = self.end_of(offset, bytes.len() as u64)?;
        let ftl = self.ftl.as_mut().ok_or(DriveError::Off)?;
        let mut rest = bytes;
        let page_bytes = self.page.bytes();
        for (lpn, part) in self.page.parts(offset, end) {
            let (into, behind) = rest.split_at_mut((part.end - part.start) as usize);
            rest = behind;
            let in_page = (part.start - lpn * page_bytes) as usize..(part.end - lpn * page_bytes) as usize;
            let lpn = Lpn(lpn as u32);
            let held = self.buffer.as_ref().and_then(|buffer| buffer.held(lpn.0));
            if let Some(held) = held.filter(|held| held.whole) {
                into.copy_from_slice(&held.page[in_page]);
                continue;
            }
            if part.end < end
                && let Some(next) = ftl.lookup(Lpn(lpn.0 + 1))
            {
                self.medium.backend.expect(next);
            }
            let whole = into.len() as u64 == page_bytes;
            let target = if whole { &mut *into } else { &mut self.page_out[..] };
            let unmapped = self.medium.unmapped_reads;
            read_page(ftl.as_mut(), &mut self.medium, lpn, Cause::Host, target)?;
            if let Some(held) = held {
                held.overlay(target);
                // The page is in the buffer, so it was written, even if it is not on flash yet. The read must not count
                // as a read of a never-written page.
                self.medium.unmapped_reads = unmapped;
            }
            if !whole {
                into.copy_from_slice(&self.page_out[in_page]);
            }
        }
        self.medium.life.bytes_read += end - offset;
        self.settle()
    }

    /// Writes bytes to the drive, starting at `offset`. If `fua` is true, these bytes and all earlier writes are
    /// durable when the call returns. Fails if the bytes exceed the drive, the drive is read-only or off, or its power
    /// fails meanwhile. Any of the pages may then have been written.
    pub fn write(&mut self, offset: u64, bytes: &[u8], fua: bool) -> Result<(), DriveError> {
        self.put(offset, bytes)?;
        self.medium.life.bytes_written += bytes.len() as u64;
        if fua { self.flush() } else { Ok(()) }
    }

    /// Trims the pages fully inside the range, which then read as zeros. Partly covered pages keep their data.
    pub fn trim(&mut self, offset: u64, bytes: u64, fua: bool) -> Result<(), DriveError> {
        let end = self.end_of(offset, bytes)?;
        self.writable()?;
        let covered = self.page.covered(offset, end);
        let (first, count) = (covered.start as u32, (covered.end - covered.start) as u32);
        if let Some(buffer) = &mut self.buffer {
            (first..first + count).for_each(|lpn| buffer.forget(lpn));
        }
        if let Some(journal) = &mut self.journal {
            let kept = journal.trim(&mut self.medium.backend, first..first + count, self.medium.sequence);
            self.medium.note_fault(kept);
            self.stop_at_fault()?;
        }
        let ftl = self.ftl.as_mut().ok_or(DriveError::Off)?;
        ftl.trim_dyn(Lpn(first), count, &mut Flash { medium: &mut self.medium, payload: Payload::None });
        self.settle()?;
        if fua { self.flush() } else { Ok(()) }
    }

    /// Zeroes a byte range: trims whole pages and writes zeros to parts of pages.
    pub fn write_zeroes(&mut self, offset: u64, bytes: u64, fua: bool) -> Result<(), DriveError> {
        let end = self.end_of(offset, bytes)?;
        self.writable()?;
        let Zeroed { written, trimmed } = Zeroed::of(self.page, offset..end);
        for part in written.into_iter().filter(|part| !part.is_empty()) {
            self.put(part.start, &vec![0; (part.end - part.start) as usize])?;
        }
        if !trimmed.is_empty() {
            return self.trim(trimmed.start, trimmed.end - trimmed.start, fua);
        }
        if fua { self.flush() } else { Ok(()) }
    }

    /// Zeroes a short byte range by writing zeros, so that its pages stay allocated.
    pub fn program_zeroes(&mut self, offset: u64, bytes: u64, fua: bool) -> Result<(), DriveError> {
        self.end_of(offset, bytes)?;
        self.put(offset, &vec![0; bytes as usize])?;
        if fua { self.flush() } else { Ok(()) }
    }

    /// Makes all acknowledged writes and trims durable. Fails if the drive is off or its power fails meanwhile.
    pub fn flush(&mut self) -> Result<(), DriveError> {
        self.program_oldest(u32::MAX)?;
        self.make_safe()
    }

    /// Programs up to `most` of the oldest pages in a volatile write buffer; returns the number of pages still in the
    /// buffer. A caller can flush in steps: it repeats this call until all pages that were in the buffer at the start
    /// are programmed, and then calls [`Self::make_safe`].
    pub fn program_oldest(&mut self, most: u32) -> Result<u32, DriveError> {
        if self.ftl.is_none() {
            return Err(DriveError::Off);
        }
        if self.buffer.as_ref().is_some_and(Buffer::is_protected) {
            return Ok(0);
        }
        let drained = self.drain(most);
        self.settle()?;
        drained?;
        Ok(self.buffered_pages())
    }

    /// Completes a flush: everything programmed so far then survives even a power loss of the computer.
    pub fn make_safe(&mut self) -> Result<(), DriveError> {
        self.flush_medium()?;
        self.settle()?;
        if self.medium.backend.is_deleted() { Err(DriveError::Deleted) } else { Ok(()) }
    }

    /// Splits a byte range into runs of whole pages; each run is marked as written or unwritten. Fails if the range
    /// exceeds the drive, or the drive is off.
    pub fn allocation(&self, offset: u64, bytes: u64) -> Result<Vec<(Range<u64>, bool)>, DriveError> {
        let (mut runs, mut from) = (Vec::new(), offset);
        loop {
            let (to, written) = self.first_run(from, bytes - (from - offset))?;
            if to == from {
                return Ok(runs);
            }
            runs.push((from..to, written));
            from = to;
        }
    }

    /// Returns the end of the first run that [`Self::allocation`] would return, and a flag that is true if the run is
    /// written. Stops at the first page after the run.
    pub fn first_run(&self, offset: u64, bytes: u64) -> Result<(u64, bool), DriveError> {
        let end = self.end_of(offset, bytes)?;
        let ftl = self.ftl.as_ref().ok_or(DriveError::Off)?;
        let mut pages = self.page.parts(offset, end);
        let Some((first, part)) = pages.next() else { return Ok((offset, false)) };
        let written = self.is_written(ftl.as_ref(), first as u32);
        let same = pages.take_while(|&(lpn, _)| self.is_written(ftl.as_ref(), lpn as u32) == written);
        Ok((same.last().map_or(part.end, |(_, part)| part.end), written))
    }

    /// True if the drive holds a page, in its buffer or on the flash.
    fn is_written(&self, ftl: &dyn DynFtl, lpn: u32) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.held(lpn).is_some()) || ftl.lookup(Lpn(lpn)).is_some()
    }

    fn end_of(&self, offset: u64, bytes: u64) -> Result<u64, DriveError> {
        let (end, capacity) = (offset.saturating_add(bytes), self.capacity_bytes());
        if end > capacity { Err(DriveError::OutOfRange { offset, end, capacity }) } else { Ok(end) }
    }

    /// Prepares the drive for a write or trim by the host; fails if the drive is off or read-only.
    fn writable(&mut self) -> Result<(), DriveError> {
        match self.ftl {
            None => Err(DriveError::Off),
            Some(_) if self.is_worn_out() => Err(worn_out(&mut self.medium)),
            Some(_) => self.begin_log(),
        }
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<(), DriveError> {
        let end = self.end_of(offset, bytes.len() as u64)?;
        self.writable()?;
        let written = if self.buffer.is_some() {
            self.write_behind(offset, end, bytes)
        } else {
            self.write_through(offset, bytes)
        };
        self.settle()?;
        written
    }

    /// Writes pages to flash; if a page is only partly written, first reads the rest of the page.
    fn write_through(&mut self, offset: u64, bytes: &[u8]) -> Result<(), DriveError> {
        let end = offset + bytes.len() as u64;
        let PageRun { first, count, head, tail } = self.page.split(offset, end);
        let page_bytes = self.page.bytes();
        let last = first + count.saturating_sub(1);
        let head = if head { Some(self.completed(first, offset, bytes)?) } else { None };
        let tail = if tail { Some(self.completed(last, offset, bytes)?) } else { None };
        let covered = self.page.covered(offset, end);
        let whole = if covered.is_empty() {
            &[][..]
        } else {
            &bytes[(covered.start * page_bytes - offset) as usize..(covered.end * page_bytes - offset) as usize]
        };
        let pages = Pages { head: head.as_deref(), whole, tail: tail.as_deref(), lost: false };
        let ftl = self.ftl.as_mut().ok_or(DriveError::Off)?;
        if !self.medium.backend.fails() {
            let mut flash = Flash { medium: &mut self.medium, payload: Payload::Write(&pages) };
            ftl.write_dyn(Lpn(first), count, WriteContext::default(), &mut flash);
            flash.place();
            return Ok(());
        }
        // Writes the pages one by one, because the drive may wear out at any page.
        let context = WriteContext { request_pages: count, ..WriteContext::default() };
        for number in 0..count {
            let page = pages.page(number, page_bytes as usize);
            let pages = Pages { head: None, whole: page, tail: None, lost: false };
            let mut flash = Flash { medium: &mut self.medium, payload: Payload::Write(&pages) };
            ftl.write_dyn(Lpn(first + number), 1, context, &mut flash);
            // If this write wore out the drive, the page may not have been written.
            if ftl.is_worn_out() && self.medium.fault.is_none() {
                return Err(worn_out(&mut self.medium));
            }
        }
        Ok(())
    }

    /// Reads page `lpn` and applies a write to its contents. The write stores `bytes` at byte offset `offset` of the
    /// drive. Returns the new contents.
    fn completed(&mut self, lpn: u32, offset: u64, bytes: &[u8]) -> Result<Vec<u8>, DriveError> {
        let ftl = self.ftl.as_mut().ok_or(DriveError::Off)?;
        let mut page = vec![0; self.page_out.len()];
        read_page(ftl.as_mut(), &mut self.medium, Lpn(lpn), Cause::ReadModifyWrite, &mut page)?;
        let begin = u64::from(lpn) * self.page.bytes();
        let part = offset.max(begin)..(offset + bytes.len() as u64).min(begin + self.page.bytes());
        page[(part.start - begin) as usize..(part.end - begin) as usize]
            .copy_from_slice(&bytes[(part.start - offset) as usize..(part.end - offset) as usize]);
        Ok(page)
    }

    /// Returns the write context that the FTL receives with a request that writes the bytes `offset..end`.
    fn context(&self, offset: u64, end: u64) -> WriteContext {
        WriteContext { request_pages: self.page.split(offset, end).count, ..WriteContext::default() }
    }

    /// Writes pages to the buffer; programs as many as the buffer's rules require.
    fn write_behind(&mut self, offset: u64, end: u64, bytes: &[u8]) -> Result<(), DriveError> {
        if self.buffer.as_ref().is_some_and(Buffer::passes_on) {
            return self.pass_on(offset, end, bytes);
        }
        let page_bytes = self.page.bytes();
        let context = self.context(offset, end);
        for (lpn, part) in self.page.parts(offset, end) {
            if self.buffer.as_ref().is_some_and(|buffer| !buffer.has_room_for(lpn as u32)) {
                self.drain(0)?;
                // After a fault, the state of the FTL may differ from the flash.
                self.stop_at_fault()?;
            }
            let in_part = part.end - part.start < page_bytes;
            let base = if self.journal.is_some() && in_part { self.version_on_flash(Lpn(lpn as u32))? } else { None };
            let Some(buffer) = &mut self.buffer else { break };
            let piece = &bytes[(part.start - offset) as usize..(part.end - offset) as usize];
            let at = (part.start - lpn * page_bytes) as usize;
            buffer.accept((lpn as u32, base), context, at, piece, page_bytes as usize);
            if let (Some(journal), Some(held)) = (&mut self.journal, buffer.held(lpn as u32)) {
                let kept = journal.keep(&mut self.medium.backend, lpn as u32, self.medium.sequence, held);
                let is_long = journal.is_long();
                self.medium.note_fault(kept);
                self.stop_at_fault()?;
                if is_long {
                    self.settle()?;
                }
            }
        }
        self.drain(0)
    }

    /// Writes to flash as a write buffer with `high` = 1 and `low` = 0 would: programs each page immediately.
    fn pass_on(&mut self, offset: u64, end: u64, bytes: &[u8]) -> Result<(), DriveError> {
        let context = self.context(offset, end);
        let ftl = self.ftl.as_mut().ok_or(DriveError::Off)?;
        for (lpn, part) in self.page.parts(offset, end) {
            let piece = &bytes[(part.start - offset) as usize..(part.end - offset) as usize];
            let at = (part.start - lpn * self.page.bytes()) as usize;
            let whole = (piece.len() == self.page_out.len()).then_some(piece);
            let over = |page: &mut [u8]| page[at..at + piece.len()].copy_from_slice(piece);
            let target = (Lpn(lpn as u32), context);
            program_page(ftl.as_mut(), &mut self.medium, target, whole, (&mut self.page_out, over))?;
            if self.medium.fault.is_some() {
                return Ok(());
            }
            // If this write wore out the drive, the page may not have been written.
            if ftl.is_worn_out() {
                return Err(worn_out(&mut self.medium));
            }
        }
        Ok(())
    }

    /// Programs pages from the buffer, oldest first: up to `most` pages even if they are not due, then all pages that
    /// are still due.
    fn drain(&mut self, mut most: u32) -> Result<(), DriveError> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        let ftl = self.ftl.as_mut().ok_or(DriveError::Off)?;
        while let Some(lpn) = buffer.next_due(most > 0) {
            most = most.saturating_sub(1);
            if self.medium.life.worn_out || ftl.is_worn_out() {
                return Err(worn_out(&mut self.medium));
            }
            let held = buffer.held(lpn).expect("next_due() returns only pages that are in the buffer");
            let whole = held.whole.then_some(&held.page[..]);
            let over = |page: &mut [u8]| held.overlay(page);
            program_page(ftl.as_mut(), &mut self.medium, (Lpn(lpn), held.context), whole, (&mut self.page_out, over))?;
            if self.medium.fault.is_some() {
                return Ok(());
            }
            // If programming this page wore out the drive, the page may be missing from the flash, so it stays in the
            // buffer.
            if !ftl.is_worn_out() {
                buffer.forget(lpn);
            }
        }
        Ok(())
    }
}

/// Reads a logical page; a page that was never written reads as zeros.
fn read_page<B: Backend>(
    ftl: &mut dyn DynFtl,
    medium: &mut Medium<B>,
    lpn: Lpn,
    cause: Cause,
    into: &mut [u8],
) -> Result<(), DriveError> {
    let mut flash = Flash { medium: &mut *medium, payload: Payload::Read { lpn, into, lost: false } };
    let is_written = ftl.read_dyn(lpn, 1, cause, &mut flash) == 0;
    let Payload::Read { into, lost, .. } = flash.payload else {
        unreachable!("the payload is still the one of a read")
    };
    if !is_written {
        into.fill(0);
        medium.unmapped_reads += u64::from(cause == Cause::Host);
    }
    if lost { Err(DriveError::Unreadable(lpn)) } else { Ok(()) }
}

/// Programs a logical page with the data `whole`. If `whole` is None, reads the page from flash and applies `over` to
/// it.
fn program_page<B: Backend>(
    ftl: &mut dyn DynFtl,
    medium: &mut Medium<B>,
    (lpn, context): (Lpn, WriteContext),
    whole: Option<&[u8]>,
    (page_out, over): (&mut [u8], impl FnOnce(&mut [u8])),
) -> Result<(), DriveError> {
    let mut lost = false;
    let page = match whole {
        Some(page) => page,
        None => {
            match read_page(ftl, medium, lpn, Cause::ReadModifyWrite, page_out) {
                Err(DriveError::Unreadable(_)) => lost = true,
                other => other?,
            }
            over(page_out);
            page_out
        }
    };
    let pages = Pages { head: None, whole: page, tail: None, lost };
    ftl.write_dyn(lpn, 1, context, &mut Flash { medium, payload: Payload::Write(&pages) });
    Ok(())
}

fn worn_out<B: Backend>(medium: &mut Medium<B>) -> DriveError {
    medium.wear_out();
    DriveError::ReadOnly { bad: medium.bad_blocks(), blocks: medium.backend.geometry().blocks }
}
