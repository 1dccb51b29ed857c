//! Flash in one sparse file, which outlives the process.
//!
//! ```text
//! 0           superblock: magic (shows if the drive is complete), format, length and checksum of the text; then the
//!             text: settings that shape the drive, one per line, an empty line, and all settings of its configuration
//! 64 KiB      marks of bad blocks, one byte per block: all bits are set if the block is bad
//! then        64 KiB: note of safe programs (see `safe.rs`)
//! then        spare areas | log A | log B | pages | journal of a protected write buffer, if any
//! ```
//! Every region starts at a multiple of 4 KiB. Bytes that were never written are a hole in the file and take no disk
//! space.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::num::NonZero;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FlockOperation, fadvise, flock};
use rustix::io::Errno;
use ssdlab_core::difference::{Difference, Line, difference};
use ssdlab_core::{BlockId, Ppn};
use ssdlab_nand::Geometry;
use twox_hash::XxHash3_64;

use super::restored::restored;
use super::{Backend, Fault, Slot, spare_at};
use crate::bits::u32_at;
use crate::safe::NOTE_BYTES;
use crate::spare::SpareBytes;

/// Magic number at the start of a drive file.
const MAGIC: &[u8; 14] = b"ssdlab flash\x1a\n";
/// Magic number of a drive file that is still being created and contains no data yet.
const BEGUN: &[u8; 14] = b"ssdlab begun\x1a\n";
/// Format number of drive files, increased with every change of the format.
const FORMAT: u32 = 8;
const SUPERBLOCK_BYTES: u64 = 64 << 10;
/// Size of the file header in bytes: magic number, format, length and checksum.
const HEAD_BYTES: usize = 30;
const ALIGNMENT: u64 = 4 << 10;
/// Value that marks a block as bad; 0 marks a good block. A value with at most two wrong bits is still recognised.
const BAD: u8 = 0xFF;

/// Reason why a file cannot be used as a drive.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A file with this path already exists.
    #[error("{0}: the file already exists; remove it, or open it as a drive")]
    Exists(PathBuf),
    /// Another process uses the file.
    #[error("{0}: another process uses the drive; end that process first")]
    InUse(PathBuf),
    /// The file is not a drive file.
    #[error("{0}: not an ssdlab drive file; choose another path")]
    Foreign(PathBuf),
    /// The file has another format, with this number.
    #[error("{0}: the file has format {1}, but this version of ssdlab reads format {FORMAT}; create the drive again")]
    Version(PathBuf, u32),
    /// The header of the file is damaged.
    #[error("{0}: the file header is damaged; restore the file from a backup, or create the drive again")]
    Damaged(PathBuf),
    /// The marks of bad blocks in the file are damaged.
    #[error("{0}: the bad-block marks are damaged; restore the file from a backup, or create the drive again")]
    DamagedMarks(PathBuf),
    /// The file is shorter than its settings require.
    #[error("{path}: the file has {found} bytes instead of {expected}; restore it from a backup")]
    Truncated {
        /// Path of the file.
        path: PathBuf,
        /// Actual length of the file in bytes.
        found: u64,
        /// Length in bytes that the file must have for its settings.
        expected: u64,
    },
    /// The file contains a drive that differs from the configured drive.
    #[error(
        "{0}: the drive was created with {then}, but the configuration has {now}; {remedy}, or create another drive",
        then = .1.then, now = .1.now, remedy = .1.remedy
    )]
    Differs(PathBuf, Difference),
    /// The file would need this many bytes, more than the file system allows.
    #[error("{0}: the file system does not allow a file of {1} bytes; lower device.capacity, or choose another path")]
    TooLarge(PathBuf, u64),
    /// The operating system reports an error for the file.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

impl FileError {
    /// Returns the Linux error number of this error.
    pub fn errno(&self) -> i32 {
        let errno = match self {
            Self::Exists(_) => Errno::EXIST,
            Self::InUse(_) => Errno::BUSY,
            Self::TooLarge(..) => Errno::FBIG,
            // The system reports an invalid path with the error `InvalidInput`.
            Self::Io(_, error) if error.kind() == io::ErrorKind::InvalidInput => Errno::INVAL,
            Self::Io(_, error) => return error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()),
            Self::Foreign(_) | Self::Version(..) | Self::Differs(..) => Errno::INVAL,
            Self::Damaged(_) | Self::DamagedMarks(_) | Self::Truncated { .. } => Errno::IO,
        };
        errno.raw_os_error()
    }
}

/// Flash in a file, which is locked while the flash is open.
#[derive(Debug)]
pub struct FileBackend {
    file: File,
    geometry: Geometry,
    bad: Vec<bool>,
    spares: u64,
    logs: [u64; 4],
    log_bytes: u64,
    pages: u64,
    begun: bool,
}

impl FileBackend {
    /// Creates erased flash in a new file. The caller calls [`Self::finish`] once the drive is built. `lines` are the
    /// settings that determine the format of flash and state; `settings` is the drive's configuration. Fails if the
    /// file exists or cannot be written.
    pub fn create(path: &Path, geometry: Geometry, lines: &[Line], settings: &[Line]) -> Result<Self, FileError> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => FileError::Exists(path.into()),
            _ => FileError::Io(path.into(), error),
        })?;
        lock(&file, path)?;
        Self::formatted(file, path, geometry, &text_of(lines, settings))
    }

    /// Formats an empty, locked file as erased flash.
    fn formatted(file: File, path: &Path, geometry: Geometry, text: &str) -> Result<Self, FileError> {
        let (mut backend, bytes) = Self::laid_out(file, geometry);
        backend.begun = true;
        let head = [
            &BEGUN[..],
            &FORMAT.to_le_bytes(),
            &(text.len() as u32).to_le_bytes(),
            &XxHash3_64::oneshot(text.as_bytes()).to_le_bytes(),
            text.as_bytes(),
        ];
        let written = backend
            .file
            .write_all_at(&head.concat(), 0)
            .and_then(|()| backend.file.set_len(bytes))
            .and_then(|()| backend.file.sync_all());
        if let Err(error) = written {
            // Ignores an error from the removal, because the user needs to see the write error.
            let _ = fs::remove_file(path);
            return Err(match error.kind() {
                io::ErrorKind::FileTooLarge => FileError::TooLarge(path.into(), bytes),
                _ => FileError::Io(path.into(), error),
            });
        }
        Ok(backend)
    }

    /// Marks the drive in a new file as complete.
    pub fn finish(path: &Path) -> Result<(), FileError> {
        let made = OpenOptions::new().write(true).open(path);
        let made = made.and_then(|file| file.write_all_at(MAGIC, 0).and_then(|()| file.sync_all()));
        made.map_err(|error| FileError::Io(path.into(), error))
    }

    /// True if a file begins with the magic number of a drive file, complete or not.
    pub fn is_drive(file: &File) -> bool {
        [*MAGIC, *BEGUN].map(Some).contains(&beginning(file))
    }

    /// True if the creation of the drive was not completed; its flash is then still erased.
    pub fn is_begun(&self) -> bool {
        self.begun
    }

    /// Opens the flash stored in a file, which must have been created with the same settings. A file whose creation was
    /// interrupted becomes erased flash, regardless of its settings. `lines` and `settings` have the same meaning as in
    /// [`Self::create`]. Fails if the file holds a different drive, or another process uses it.
    pub fn open(path: &Path, geometry: Geometry, lines: &[Line], settings: &[Line]) -> Result<Self, FileError> {
        let io = |error| FileError::Io(path.into(), error);
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
        lock(&file, path)?;
        // The creation of this drive was interrupted, so the file is formatted anew.
        if beginning(&file) == Some(*BEGUN) {
            file.set_len(0).map_err(io)?;
            return Self::formatted(file, path, geometry, &text_of(lines, settings));
        }
        let then = Text::read(&file, path)?;
        if let Some(mut difference) = difference(&then.lines, lines) {
            // If possible, the remedy names settings of the configuration, not values that ssdlab derives from them.
            difference.remedy = restored(&then.settings, settings).unwrap_or(difference.remedy);
            return Err(FileError::Differs(path.into(), difference));
        }
        let bytes = file.metadata().map_err(io)?.len();
        let (mut backend, expected) = Self::laid_out(file, geometry);
        if bytes < expected {
            return Err(FileError::Truncated { path: path.into(), found: bytes, expected });
        }
        let mut bad = vec![0; backend.bad.len()];
        backend.file.read_exact_at(&mut bad, SUPERBLOCK_BYTES).map_err(io)?;
        let bits = |&mark: &u8| (mark ^ BAD).count_ones();
        if bad.iter().any(|mark| (3..=5).contains(&bits(mark))) {
            return Err(FileError::DamagedMarks(path.into()));
        }
        backend.bad = bad.iter().map(|mark| bits(mark) < 3).collect();
        Ok(backend)
    }

    /// Reads the configuration settings that the drive in a file was created with. Fails if the file holds no drive.
    pub fn settings(path: &Path) -> Result<Vec<Line>, FileError> {
        // Opens the file for writing too, because opening a pipe would otherwise wait for a writer.
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let file = opened.map_err(|error| FileError::Io(path.into(), error))?;
        Text::read(&file, path).map(|text| text.settings)
    }

    /// Computes the regions of a drive file for this geometry, and the length of the file.
    fn laid_out(file: File, geometry: Geometry) -> (Self, u64) {
        let (pages, blocks) = (geometry.pages(), u64::from(geometry.blocks));
        let note = SUPERBLOCK_BYTES + blocks.next_multiple_of(ALIGNMENT);
        let spares = note + NOTE_BYTES;
        // A checkpoint takes less than 32 bytes per page and 42 bytes per block; the journal after it takes less than
        // 22 bytes per block.
        let log_bytes = ((1 << 20) + 32 * pages + 64 * blocks).next_multiple_of(ALIGNMENT);
        let log = spares + spare_at(pages).next_multiple_of(ALIGNMENT);
        let first_page = log + 2 * log_bytes;
        let end = first_page + pages * u64::from(geometry.page_bytes);
        let bad = vec![false; geometry.blocks as usize];
        let logs = [log, log + log_bytes, end.next_multiple_of(ALIGNMENT), note];
        (Self { file, geometry, bad, spares, logs, log_bytes, pages: first_page, begun: false }, end)
    }

    fn page_at(&self, ppn: Ppn) -> u64 {
        self.pages + u64::from(ppn.0) * u64::from(self.geometry.page_bytes)
    }
}

/// Settings stored as text in a drive file.
struct Text {
    /// Settings that determine the format of the drive's flash and state.
    lines: Vec<Line>,
    settings: Vec<Line>,
}

/// Returns the text of a drive file that stores these settings; see [`Text`].
fn text_of(lines: &[Line], settings: &[Line]) -> String {
    let text = |lines: &[Line]| lines.iter().map(|(key, value)| format!("{key} = {value}\n")).collect::<String>();
    format!("{}\n{}", text(lines), text(settings))
}

impl Text {
    /// Reads the stored settings of a drive file, complete or not.
    fn read(file: &File, path: &Path) -> Result<Self, FileError> {
        let mut head = [0; HEAD_BYTES];
        file.read_exact_at(&mut head, 0).map_err(|_| FileError::Foreign(path.into()))?;
        if head[..14] != *MAGIC && head[..14] != *BEGUN {
            return Err(FileError::Foreign(path.into()));
        }
        let format = u32_at(&head, 14);
        if format != FORMAT {
            return Err(FileError::Version(path.into(), format));
        }
        let mut text = vec![0; (u32_at(&head, 18) as usize).min(SUPERBLOCK_BYTES as usize - HEAD_BYTES)];
        let whole = file.read_exact_at(&mut text, HEAD_BYTES as u64).is_ok();
        if !whole || XxHash3_64::oneshot(&text).to_le_bytes() != head[22..30] {
            return Err(FileError::Damaged(path.into()));
        }
        let text = String::from_utf8(text).map_err(|_| FileError::Damaged(path.into()))?;
        let read = |lines: &str| {
            lines.lines().filter_map(|line| line.split_once(" = ")).map(|(k, v)| (k.into(), v.into())).collect()
        };
        let (lines, settings) = text.split_once("\n\n").ok_or_else(|| FileError::Damaged(path.into()))?;
        Ok(Self { lines: read(lines), settings: read(settings) })
    }
}

/// Reads the magic number at the start of a file; None if the file is shorter than a magic number.
fn beginning(file: &File) -> Option<[u8; MAGIC.len()]> {
    let mut bytes = [0; MAGIC.len()];
    file.read_exact_at(&mut bytes, 0).is_ok().then_some(bytes)
}

fn lock(file: &File, path: &Path) -> Result<(), FileError> {
    flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
        Errno::WOULDBLOCK => FileError::InUse(path.into()),
        other => FileError::Io(path.into(), other.into()),
    })
}

impl Backend for FileBackend {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn read(&self, ppn: Ppn, page: &mut [u8], spare: &mut SpareBytes) -> Result<(), Fault> {
        self.file.read_exact_at(spare, self.spares + spare_at(ppn.0.into()))?;
        Ok(self.file.read_exact_at(page, self.page_at(ppn))?)
    }

    /// True if the open file was unlinked; the system deletes such a file when it is closed.
    fn is_deleted(&self) -> bool {
        self.file.metadata().is_ok_and(|file| file.nlink() == 0)
    }

    fn reads_at_once(&self) -> bool {
        true
    }

    /// Asks the system to read this page from the disk in the background.
    fn fetch(&self, ppn: Ppn) {
        let bytes = NonZero::new(self.geometry.page_bytes.into());
        // Ignores an error: without the hint, reads only take longer.
        let _ = fadvise(&self.file, self.page_at(ppn), bytes, Advice::WillNeed);
    }

    fn read_spares(&self, first: Ppn, spares: &mut [u8]) -> Result<(), Fault> {
        Ok(self.file.read_exact_at(spares, self.spares + spare_at(first.0.into()))?)
    }

    /// Writes the page first and then its spare area. A page whose program was interrupted in between counts as erased.
    fn program(&mut self, ppn: Ppn, page: &[u8], spare: &SpareBytes) -> Result<(), Fault> {
        self.file.write_all_at(page, self.page_at(ppn))?;
        Ok(self.file.write_all_at(spare, self.spares + spare_at(ppn.0.into()))?)
    }

    fn program_unit(&mut self, first: Ppn, pages: &[u8], spares: &[SpareBytes]) -> Result<(), Fault> {
        self.file.write_all_at(pages, self.page_at(first))?;
        Ok(self.file.write_all_at(spares.as_flattened(), self.spares + spare_at(first.0.into()))?)
    }

    /// Writes only the spare areas. The page data is a hole in the file, which reads as zeros.
    fn program_zeros(&mut self, first: Ppn, spares: &[SpareBytes]) -> Result<(), Fault> {
        Ok(self.file.write_all_at(spares.as_flattened(), self.spares + spare_at(first.0.into()))?)
    }

    fn erase(&mut self, block: BlockId) -> Result<(), Fault> {
        let pages = u64::from(self.geometry.pages_per_block);
        let erased = vec![0; spare_at(pages) as usize];
        Ok(self.file.write_all_at(&erased, self.spares + spare_at(u64::from(block.0) * pages))?)
    }

    fn sync(&mut self) -> Result<(), Fault> {
        Ok(self.file.sync_data()?)
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.bad[block.index()]
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), Fault> {
        self.bad[block.index()] = true;
        Ok(self.file.write_all_at(&[BAD], SUPERBLOCK_BYTES + u64::from(block.0))?)
    }

    fn read_log(&self, slot: Slot, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        let at = self.logs[slot as usize] + offset;
        // The buffer's journal lies past the end of the file until it is first written.
        let there = self.file.metadata()?.len().saturating_sub(at).min(bytes.len() as u64);
        let (there, behind) = bytes.split_at_mut(there as usize);
        behind.fill(0);
        Ok(self.file.read_exact_at(there, at)?)
    }

    fn write_log(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        let room = match slot {
            Slot::A | Slot::B => self.log_bytes,
            Slot::BufferJournal => u64::MAX,
            Slot::Safe => NOTE_BYTES,
        };
        assert!(offset + bytes.len() as u64 <= room, "a log exceeds its region of the drive file");
        Ok(self.file.write_all_at(bytes, self.logs[slot as usize] + offset)?)
    }
}
