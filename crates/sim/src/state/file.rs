//! Files that hold a drive: a header that says of which kind and shape, then the state, in checked frames.

use std::fs::{self, File};
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use ssdlab_core::Archive;
use ssdlab_ftl::Line;

use super::frames::{FrameReader, FrameWriter};
use super::shape::difference;

/// What a file begins with.
const MAGIC: &[u8; 14] = b"ssdlab drive\x1a\n";
/// Raised with every change of what is archived.
const FORMAT: u32 = 2;

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
    Differs(String),
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

/// Opens a file whose drive has this shape: what follows is its state.
pub(super) fn open(path: &Path, lines: &[Line]) -> Result<impl BufRead + use<>, Unusable> {
    let mut file = File::open(path)?;
    let (mut magic, mut format) = ([0; MAGIC.len()], [0; 4]);
    file.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(Unusable::Unreadable("it is no drive that ssdlab saved".into()));
    }
    file.read_exact(&mut format)?;
    let format = u32::from_le_bytes(format);
    if format != FORMAT {
        return Err(Unusable::Differs(format!("it has format {format}, and this version of ssdlab reads {FORMAT}")));
    }
    let mut frames = FrameReader::new(file);
    let mut header = Header::default();
    Archive::Load(&mut frames).value(&mut header)?;
    match difference(&header.lines, lines) {
        None => Ok(frames),
        Some(difference) => Err(Unusable::Differs(difference)),
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
    file.write_all(MAGIC)?;
    file.write_all(&FORMAT.to_le_bytes())?;
    let mut frames = FrameWriter::new(file);
    let mut archive = Archive::Save(&mut frames);
    archive.value(&mut Header { version: env!("CARGO_PKG_VERSION").into(), lines })?;
    state(&mut archive)?;
    frames.finish().map(drop)
}
