//! Files of saved drives. Arrays are uncompressed, so that they can be mapped into memory; all other data is in frames
//! with checksums.
//!
//! ```text
//! head:    one page: magic, format (4 bytes, little-endian), offset of the frames (8), zeros
//! arrays:  each from the start of a page, padded with zeros to a whole page
//! frames:  kind and shape of the drive, its fields, and for each array the checksums of its chunks
//! ```

use std::fs::{self, File};
use std::io::{self, BufRead, Cursor, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use ssdlab_core::Archive;
use ssdlab_core::archive::{Input, Output};
use ssdlab_core::difference::{Difference, Line, difference};
use ssdlab_core::mem::Mapping;

use super::arrays::{self, PAGE_BYTES};
use super::frames::{self, damaged};

/// First bytes of the file of a saved drive.
const MAGIC: &[u8; 14] = b"ssdlab drive\x1a\n";
/// Version number of the file format, increased with every change to the archive.
const FORMAT: u32 = 11;

/// Description of a saved drive, which is read before the state of the drive.
#[derive(Serialize, Deserialize, Default, PartialEq, Debug)]
pub(super) struct Header {
    /// Version of ssdlab that wrote the file of the drive.
    pub version: String,
    /// Settings that must match between the saved drive and the drive to be simulated.
    pub lines: Vec<Line>,
}

/// Reason why the file of a saved drive cannot be used.
#[derive(Debug)]
pub(super) enum Unusable {
    /// The file of the saved drive does not exist.
    Missing,
    /// The file is complete, but holds a drive with other settings.
    Differs(Difference),
    /// The file is not a saved-drive file, is damaged, or cannot be read.
    Unreadable(String),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::UnexpectedEof => Self::Unreadable("the file ends early".into()),
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

/// A saved-drive file that is being read.
pub(super) struct Reader {
    file: File,
    frames: Cursor<Vec<u8>>,
    /// Offset of the next array in the file.
    next_array: u64,
    /// Offset of the frames in the file, after the arrays.
    frames_at: u64,
}

/// Returns true if a file begins with the magic bytes of a saved drive.
pub fn is_kept(file: &File) -> bool {
    let mut magic = [0; MAGIC.len()];
    file.read_exact_at(&mut magic, 0).is_ok() && magic == *MAGIC
}

/// Opens a saved-drive file to load its state. Fails if the drive was saved with settings other than `lines`.
pub(super) fn open(path: &Path, lines: &[Line]) -> Result<Reader, Unusable> {
    let mut file = File::open(path)?;
    let (mut magic, mut format) = ([0; MAGIC.len()], [0; 4]);
    file.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(Unusable::Unreadable("not an ssdlab drive file".into()));
    }
    file.read_exact(&mut format)?;
    let format = u32::from_le_bytes(format);
    if format != FORMAT {
        return Err(Unusable::Unreadable(format!(
            "the file has format {format}, but this version of ssdlab reads format {FORMAT}"
        )));
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
    file.seek(SeekFrom::Start(frames_at))?;
    let frames = Cursor::new(frames::read(&mut file)?);
    let mut reader = Reader { file, frames, next_array: PAGE_BYTES as u64, frames_at };
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
    /// Checks that the whole file has been read.
    pub fn finish(mut self) -> Result<(), Unusable> {
        match self.frames.fill_buf()? {
            [] if self.next_array == self.frames_at => Ok(()),
            _ => Err(Unusable::Unreadable("the file has extra data at its end".into())),
        }
    }

    /// Returns the checksums of the next array, and the offset of that array in the file.
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

/// A saved-drive file that is being written.
struct Writer {
    file: File,
    /// Bytes of all fields written so far. They are stored after the arrays, in frames with checksums.
    frames: Vec<u8>,
    /// Offset of the next array in the file.
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

/// Writes the file of a saved drive under a temporary name and renames it when it is complete.
pub(super) fn write(
    path: &Path,
    lines: Vec<Line>,
    state: &mut dyn FnMut(&mut Archive<'_>) -> io::Result<()>,
) -> io::Result<()> {
    // Other threads and processes may be writing a file for the same drive, so the temporary name is unique.
    static PARTS: AtomicU64 = AtomicU64::new(0);
    let number = PARTS.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.{number}.part", process::id()));
    let part = path.with_file_name(name);
    let written = write_part(&part, lines, state).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        // An error in removing the file is ignored, because the write error is already reported.
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
    let mut writer = Writer { file, frames: Vec::new(), next_array: PAGE_BYTES as u64 };
    let mut archive = Archive::Save(&mut writer);
    archive.value(&mut Header { version: env!("CARGO_PKG_VERSION").into(), lines })?;
    state(&mut archive)?;
    let Writer { mut file, frames, next_array } = writer;
    frames::write(&frames, &mut file)?;
    // The file is not a valid drive file until this head replaces the preliminary head.
    file.rewind()?;
    file.write_all(&head(next_array))
}
