//! Files that hold a drive: arrays as they are, so that they need not be read at once, and all else in checked frames.
//!
//! ```text
//! head:    a page: magic, format (4 bytes, little-endian), where the frames begin (8), zeros
//! arrays:  each from the beginning of a page on, zeros up to the end of its last
//! frames:  of which kind and shape the drive is, its fields, and for each array the checksums of its chunks
//! ```

use std::fs::{self, File};
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use ssdlab_core::Archive;
use ssdlab_core::archive::{Input, Output};
use ssdlab_core::mem::Mapping;
use ssdlab_ftl::{Difference, Line, difference};

use super::arrays::{self, PAGE_BYTES};
use super::frames::{FrameReader, FrameWriter, damaged};

/// What a file begins with.
const MAGIC: &[u8; 14] = b"ssdlab drive\x1a\n";
/// Raised with every change of what is archived.
const FORMAT: u32 = 7;

/// What is known of a drive before its state is read.
#[derive(Serialize, Deserialize, Default, PartialEq, Debug)]
pub(super) struct Header {
    /// Version of ssdlab that wrote it.
    pub version: String,
    /// Settings that the drive must agree in.
    pub lines: Vec<Line>,
}

/// Why a file does not give a drive.
#[derive(Debug)]
pub(super) enum Unusable {
    /// There is no such file.
    Missing,
    /// It is whole, and of another drive.
    Differs(Difference),
    /// It is something else, damaged, or cannot be read.
    Unreadable(String),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::UnexpectedEof => Self::Unreadable("it ends early".into()),
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

/// A file that is being read.
pub(super) struct Reader {
    file: File,
    frames: FrameReader<File>,
    /// Where the next array begins.
    next_array: u64,
    /// Where the frames begin, and arrays end.
    frames_at: u64,
}

/// Whether a file begins as one with a kept drive does.
pub fn is_kept(file: &File) -> bool {
    let mut found = [0; MAGIC.len()];
    file.read_exact_at(&mut found, 0).is_ok() && found == *MAGIC
}

/// Opens a file whose drive has this shape: what follows is its state.
pub(super) fn open(path: &Path, lines: &[Line]) -> Result<Reader, Unusable> {
    let mut file = File::open(path)?;
    let (mut magic, mut format) = ([0; MAGIC.len()], [0; 4]);
    file.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(Unusable::Unreadable("it is no drive that ssdlab saved".into()));
    }
    file.read_exact(&mut format)?;
    let format = u32::from_le_bytes(format);
    if format != FORMAT {
        return Err(Unusable::Unreadable(format!("it has format {format}, and this version of ssdlab reads {FORMAT}")));
    }
    let mut frames_at = [0; 8];
    file.read_exact(&mut frames_at)?;
    let frames_at = u64::from_le_bytes(frames_at);
    let mut whole = vec![0; PAGE_BYTES];
    file.rewind()?;
    file.read_exact(&mut whole)?;
    if whole != head(frames_at) {
        return Err(damaged().into());
    }
    let mut from = file.try_clone()?;
    from.seek(SeekFrom::Start(frames_at))?;
    let mut reader = Reader { file, frames: FrameReader::new(from), next_array: PAGE_BYTES as u64, frames_at };
    let mut header = Header::default();
    Archive::Load(&mut reader).value(&mut header)?;
    match difference(&header.lines, lines) {
        None => Ok(reader),
        Some(difference) => Err(Unusable::Differs(difference)),
    }
}

fn head(frames_at: u64) -> Vec<u8> {
    let mut page = [&MAGIC[..], &FORMAT.to_le_bytes(), &frames_at.to_le_bytes()].concat();
    page.resize(PAGE_BYTES, 0);
    page
}

impl Reader {
    /// That all of it has been read.
    pub fn finish(mut self) -> Result<(), Unusable> {
        // The end has a checksum as well.
        match self.frames.fill_buf()? {
            [] if self.next_array == self.frames_at => Ok(()),
            _ => Err(Unusable::Unreadable("it goes on behind its end".into())),
        }
    }

    /// The checksums of the next array, and where it begins.
    fn array(&mut self, bytes: usize) -> io::Result<(Vec<u64>, u64)> {
        let mut checksums = Vec::new();
        Archive::Load(self).value(&mut checksums)?;
        let offset = self.next_array;
        self.next_array += bytes.next_multiple_of(PAGE_BYTES) as u64;
        Ok((checksums, offset))
    }
}

impl Read for Reader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.frames.read(bytes)
    }
}

impl BufRead for Reader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.frames.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.frames.consume(bytes);
    }
}

impl Input for Reader {
    fn load_array(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let (checksums, offset) = self.array(bytes.len())?;
        arrays::read(&self.file, offset, bytes, &checksums)
    }

    fn map_array(&mut self, bytes: usize) -> io::Result<Option<Mapping>> {
        if bytes == 0 {
            return Ok(None);
        }
        let (checksums, offset) = self.array(bytes)?;
        arrays::check(&self.file, offset, bytes, &checksums)?;
        Mapping::new(&self.file, offset, bytes).map(Some)
    }
}

/// A file that is being written.
struct Writer {
    file: File,
    frames: FrameWriter<Vec<u8>>,
    /// Where the next array begins.
    next_array: u64,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frames.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Writer {
    fn save_array(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut checksums = arrays::write(&mut self.file, self.next_array, bytes)?;
        self.next_array += bytes.len().next_multiple_of(PAGE_BYTES) as u64;
        Archive::Save(self).value(&mut checksums)
    }
}

/// Writes a file under another name and gives it its own when it is complete.
pub(super) fn write(
    path: &Path,
    lines: Vec<Line>,
    state: &mut dyn FnMut(&mut Archive<'_>) -> io::Result<()>,
) -> io::Result<()> {
    // Others may be writing the same drive, on other threads too.
    static PARTS: AtomicU64 = AtomicU64::new(0);
    let number = PARTS.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.{number}.part", process::id()));
    let part = path.with_file_name(name);
    let written = write_part(&part, lines, state).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        // What failed is told; that its remains cannot be removed would say nothing more.
        let _ = fs::remove_file(&part);
    }
    written
}

fn write_part(
    part: &Path,
    lines: Vec<Line>,
    state: &mut dyn FnMut(&mut Archive<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = File::create(part)?;
    file.write_all(&head(0))?;
    let mut writer = Writer { file, frames: FrameWriter::new(Vec::new()), next_array: PAGE_BYTES as u64 };
    let mut archive = Archive::Save(&mut writer);
    archive.value(&mut Header { version: env!("CARGO_PKG_VERSION").into(), lines })?;
    state(&mut archive)?;
    let Writer { mut file, frames, next_array } = writer;
    file.write_all(&frames.finish()?)?;
    // What was no drive so far.
    file.rewind()?;
    file.write_all(&head(next_array))
}
