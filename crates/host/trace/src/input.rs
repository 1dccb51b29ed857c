//! Input file of a trace: decompressed bytes in a sliding window of bounded size.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::TraceError;
use crate::compression::{Compression, Counted, Foreign, Members, head_of};
use crate::error::shown;

/// Size of the window in bytes: several times the longest line, small enough for the CPU cache.
const WINDOW_BYTES: usize = 256 << 10;

/// Size in bytes of one read from the file.
const AHEAD_BYTES: usize = 128 << 10;

/// Source of a trace's bytes, which can be opened several times.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// A file: the path to open, and the path to show in messages.
    File(PathBuf, PathBuf),
    /// Bytes in memory, for tests and fuzzing.
    Memory(Arc<[u8]>),
}

impl Origin {
    /// Returns the files at the given pairs of a path to open and a path to show in messages.
    pub fn files(named: &[(PathBuf, PathBuf)]) -> Vec<Self> {
        named.iter().map(|(path, name)| Self::File(path.clone(), name.clone())).collect()
    }

    /// Returns the path to show in messages.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(_, name) => name,
            Self::Memory(_) => Path::new("memory"),
        }
    }

    fn reader(&self) -> Result<(Box<dyn Read + Send>, u64), TraceError> {
        let (file, path) = match self {
            Self::Memory(bytes) => return Ok((Box::new(Cursor::new(Arc::clone(bytes))), bytes.len() as u64)),
            Self::File(file, name) => (file, name),
        };
        let failed = |error: io::Error| {
            let hint = if error.kind() == io::ErrorKind::NotFound { "; check the path" } else { "" };
            TraceError::io(path, format!("cannot be opened: {error}{hint}"))
        };
        // Checks the file type before opening, because opening a pipe without a writer would block forever.
        let about = std::fs::metadata(file).map_err(failed)?;
        if about.is_dir() {
            return Err(TraceError::io(path, "is a directory; pass the trace files inside it"));
        }
        if !about.is_file() {
            let why = "is a pipe or a device, which cannot be read twice; save its data as a file";
            return Err(TraceError::io(path, why));
        }
        let file = File::open(file).map_err(failed)?;
        Ok((Box::new(file), about.len()))
    }
}

/// Sliding window over the decompressed bytes of one file.
pub struct Input {
    /// Path to show in messages.
    path: PathBuf,
    /// Device of all requests of the file if the format has no device names.
    pub device: Vec<u8>,
    reader: Box<dyn Read + Send>,
    compression: Option<Compression>,
    window: Vec<u8>,
    start: usize,
    end: usize,
    position: u64,
    /// Read error that occurred after the bytes in the window had been read. It is reported once these bytes are
    /// consumed.
    fault: Option<io::Error>,
    read: Arc<AtomicU64>,
    size: u64,
}

impl Input {
    /// Opens `origin` and detects its compression; `device` is the device name of the file, for formats without device
    /// names.
    pub(crate) fn open(origin: &Origin, device: Vec<u8>) -> Result<Self, TraceError> {
        let path = origin.path().to_path_buf();
        let (inner, size) = origin.reader()?;
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner, count: Arc::clone(&read) };
        let mut file = BufReader::with_capacity(AHEAD_BYTES, counted);
        let failed = |error: io::Error| TraceError::io(&path, format!("cannot be read: {error}"));
        let head = head_of(&mut file).map_err(failed)?;
        let compression = Compression::of(&head);
        let reader: Box<dyn Read + Send> = match compression {
            Some(compression) => Box::new(Members::new(compression, head, file).map_err(failed)?),
            None => Box::new(Cursor::new(head).chain(file)),
        };
        let window = vec![0; WINDOW_BYTES];
        let fault = None;
        Ok(Self { path, device, reader, compression, window, start: 0, end: 0, position: 0, fault, read, size })
    }

    /// True if the file is empty (0 bytes before decompression).
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Returns the decompressed bytes in the window.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.window[self.start..self.end]
    }

    /// Drops the first `count` bytes of the window.
    #[inline]
    pub fn advance(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start);
        self.start += count;
        self.position += count as u64;
    }

    /// Reads more bytes into the window; returns false at the end of the file or if the window is full.
    pub fn refill(&mut self) -> Result<bool, TraceError> {
        self.window.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let before = self.end;
        if let Some(fault) = self.fault.take() {
            return Err(self.broken(&fault));
        }
        while self.end < WINDOW_BYTES {
            match self.reader.read(&mut self.window[self.end..]) {
                Ok(0) => break,
                Ok(got) => self.end += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Bytes that precede a read error are delivered before the error is reported.
                Err(error) if self.end > before => {
                    self.fault = Some(error);
                    break;
                }
                Err(error) => return Err(self.broken(&error)),
            }
        }
        if self.position == 0 && before == 0 && is_utf16(&self.window[..self.end]) {
            return Err(TraceError::io(&self.path, "is UTF-16 text; convert it with 'iconv -f UTF-16 -t UTF-8'"));
        }
        Ok(self.end > before)
    }

    fn broken(&self, error: &io::Error) -> TraceError {
        let path = shown(&self.path);
        let at = self.position + (self.end - self.start) as u64;
        let Some(name) = self.compression.map(Compression::name) else {
            return TraceError::io(&self.path, format!("cannot be read after {at} bytes: {error}"));
        };
        if let Some(Foreign { at }) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
            return TraceError::Foreign { path, name, at: *at };
        }
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => format!("ends early, after {at} decompressed bytes"),
            _ => format!("is damaged after {at} decompressed bytes ({error})"),
        };
        TraceError::Truncated { path, why: format!("the {name} stream {why}") }
    }

    /// Returns the offset of the window's first byte in the decompressed data.
    pub fn position(&self) -> u64 {
        self.position
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes of the file read so far (before decompression), and the size of the file.
    pub fn progress(&self) -> (u64, u64) {
        (self.read.load(Ordering::Relaxed).min(self.size), self.size)
    }
}

/// Number of leading characters that must look like UTF-16. No binary record starts with this many ASCII bytes that
/// alternate with zeros.
const UTF16_SHOWS: usize = 8;

/// True if the data start like UTF-16 text, as written by Windows spreadsheets and shells.
fn is_utf16(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xFF\xFE").or_else(|| head.strip_prefix(b"\xFE\xFF")).unwrap_or(head);
    let plain = |byte: u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    let pairs = || text.chunks_exact(2).take(UTF16_SHOWS);
    pairs().count() == UTF16_SHOWS
        && (pairs().all(|pair| plain(pair[0]) && pair[1] == 0) || pairs().all(|pair| pair[0] == 0 && plain(pair[1])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn memory(bytes: &[u8]) -> Result<Input, TraceError> {
        Input::open(&Origin::Memory(bytes.into()), Vec::new())
    }

    fn all(bytes: &[u8]) -> Result<Vec<u8>, TraceError> {
        let mut input = memory(bytes)?;
        let mut out = Vec::new();
        while input.refill()? {
            out.extend_from_slice(input.bytes());
            input.advance(input.bytes().len());
        }
        Ok(out)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn compression_is_detected_by_its_magic_number() {
        let text: Vec<u8> = (0..600_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        assert_eq!(all(&text).unwrap(), text);
        assert_eq!(all(&gzip(&text)).unwrap(), text);
        assert_eq!(all(&zstd::encode_all(&text[..], 1).unwrap()).unwrap(), text);
    }

    #[test]
    fn concatenated_members_are_one_file() {
        assert_eq!(all(&[gzip(b"one "), gzip(b"two")].concat()).unwrap(), b"one two");
        let frame = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
        assert_eq!(all(&[frame(b"one "), frame(b"two")].concat()).unwrap(), b"one two");
    }

    #[test]
    fn a_truncated_stream_is_an_error_with_a_remedy() {
        let text: Vec<u8> = (0..100_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        for (whole, name) in [(gzip(&text), "gzip"), (zstd::encode_all(&text[..], 1).unwrap(), "zstd")] {
            let error = all(&whole[..whole.len() - 9]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("memory: the {name} stream ends early, after ")), "{error}");
            assert!(
                error.ends_with("fetch the file again, or pass --skip-bad to read the part before the damage"),
                "{error}"
            );
        }
    }

    /// Goal: damage that only the final checksum reveals is an error at any length of the data. Method: reads
    /// compressed data after changing one byte of the checksum.
    #[test]
    fn a_wrong_checksum_is_an_error() {
        for bytes in [10, 100_000, 600_000_u32] {
            let text: Vec<u8> = (0..bytes).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
            let mut whole = gzip(&text);
            let crc = whole.len() - 8;
            whole[crc] ^= 1;
            let error = all(&whole).unwrap_err().to_string();
            assert!(error.starts_with(&format!("memory: the gzip stream is damaged after {bytes} ")), "{error}");
        }
    }

    /// Goal: foreign bytes after compressed data are reported with their offset. Method: reads one or two compressed
    /// members, followed by foreign bytes. There are fewer or more foreign bytes than a header has.
    #[test]
    fn foreign_bytes_after_compressed_data_are_reported_with_their_offset() {
        let frame = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
        for (whole, name) in [(gzip(b"one"), "gzip"), (frame(b"one"), "zstd")] {
            for whole in [whole.clone(), [&*whole, &*whole].concat()] {
                for foreign in [&b"\n"[..], b"\0\0\0\0\0\0\0\0", b"0,R,0,512\n1,R,0,512\n", &[7; 300_000]] {
                    let error = all(&[&whole, foreign].concat()).unwrap_err().to_string();
                    let at = whole.len();
                    let expected = format!(
                        "memory: the bytes from {at} on are not {name} data; cut them off with 'head -c {at}', or pass \
                         --skip-bad to ignore them"
                    );
                    assert_eq!(error, expected);
                }
            }
        }
    }

    #[test]
    fn zstd_frames_without_data_are_skipped() {
        let skippable = [&[0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0][..], b"any"].concat();
        let frame = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
        let whole = [&*skippable, &*frame(b"one "), &*skippable, &*frame(b"two"), &*skippable].concat();
        assert_eq!(all(&whole).unwrap(), b"one two");
    }

    #[test]
    fn missing_files_directories_and_devices_have_their_own_errors() {
        let open =
            |path: &str| Input::open(&Origin::File(path.into(), path.into()), Vec::new()).err().unwrap().to_string();
        assert!(open("no/such/trace.csv").contains("cannot be opened"), "{}", open("no/such/trace.csv"));
        assert!(open("src").contains("is a directory; pass the trace files inside it"));
        #[cfg(unix)]
        assert!(
            open("/dev/null").contains("is a pipe or a device, which cannot be read twice; save its data as a file")
        );
        assert!(memory(b"").unwrap().is_empty());
    }
}
