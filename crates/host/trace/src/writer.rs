//! Trace writers: write the requests of a [`crate::Source`] in any format, compressed according to the file extension.
//!
//! Data goes to a temporary file next to the target, which is renamed when complete. An error or an early drop leaves
//! neither a partial trace nor a temporary file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use ssdlab_core::counters;

use crate::encode::{Encoder, Item, Supported};
use crate::formats;
use crate::{Format, Op, Request, TraceError};

counters! {
    /// Counts of requests written to a trace, and of information lost because the format cannot store it.
    pub struct WriteReport {
        requests: "requests", "Requests written.";
        bytes_out: "bytes", "Bytes written, before compression.";
        unsupported_op: "requests", "Requests omitted because the format cannot store their operation.";
        op_dropped: "requests", "Requests stored as reads because the format does not store operations.";
        widened: "requests", "Requests extended to whole sectors, the format's address unit.";
        time_rounded: "requests", "Timestamps rounded down to the format's resolution.";
        flags_dropped: "requests", "Requests whose flags the format cannot store.";
        streams_dropped: "requests", "Requests whose process name the format cannot store.";
    }
}

/// Writer of a trace.
pub trait TraceWriter: Send {
    /// Appends requests; [`Request::stream`] is an index into `streams` (index 0 means no stream).
    fn write(&mut self, requests: &[Request], streams: &[String]) -> Result<(), TraceError>;

    /// Completes the file and gives it its final name.
    fn finish(self: Box<Self>) -> Result<WriteReport, TraceError>;
}

/// Creates a trace at `path`; a `.gz` or `.zst` extension selects compression.
pub fn open_writer(path: &Path, format: Format) -> Result<Box<dyn TraceWriter>, TraceError> {
    let converter = Converter::new(formats::encoder(format)?);
    Ok(Box::new(FileWriter { converter, file: OutputFile::create(path)? }))
}

/// Number of bytes that are collected in memory before they are written to the file.
const FLUSH_BYTES: usize = 256 << 10;

struct FileWriter {
    converter: Converter,
    file: OutputFile,
}

impl TraceWriter for FileWriter {
    fn write(&mut self, requests: &[Request], streams: &[String]) -> Result<(), TraceError> {
        for request in requests {
            self.converter.request(request, streams);
            if self.converter.out.len() >= FLUSH_BYTES {
                self.file.write(&self.converter.out)?;
                self.converter.out.clear();
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<WriteReport, TraceError> {
        self.converter.end();
        self.file.write(&self.converter.out)?;
        self.file.complete()?;
        Ok(self.converter.report)
    }
}

/// Rounds requests to values that the format can store, and counts what is lost.
pub(crate) struct Converter {
    encoder: Box<dyn Encoder>,
    supported: Supported,
    /// Encoded bytes that the caller has not taken yet.
    pub out: Vec<u8>,
    pub report: WriteReport,
}

impl Converter {
    /// Creates a converter that uses `encoder`, and appends the header of the trace.
    pub fn new(mut encoder: Box<dyn Encoder>) -> Self {
        let mut out = Vec::new();
        encoder.start(&mut out);
        let report = WriteReport { bytes_out: out.len() as u64, ..WriteReport::default() };
        Self { supported: encoder.supported(), encoder, out, report }
    }

    /// Appends one request to the trace.
    pub fn request(&mut self, request: &Request, streams: &[String]) {
        let report = &mut self.report;
        let supported = &self.supported;
        if !supported.ops.contains(&request.op) {
            report.unsupported_op += 1;
            return;
        }
        let before = self.out.len();
        let sector = supported.sector;
        let stream = streams.get(usize::from(request.stream)).map_or("", String::as_str);
        let stream = if (supported.stream)(stream) { stream } else { "" };
        let offset = request.offset / sector * sector;
        let mut bytes = u64::from(request.bytes) + (request.offset - offset);
        if supported.whole_sectors {
            bytes = bytes.next_multiple_of(sector);
        }
        report.requests += 1;
        report.op_dropped += u64::from(!supported.names_op && request.op != Op::Read);
        report.widened += u64::from(bytes != u64::from(request.bytes));
        report.time_rounded += u64::from(!request.time_ns.is_multiple_of(supported.unit_ns));
        report.flags_dropped += u64::from(!supported.flags && request.flags != 0);
        report.streams_dropped += u64::from(request.stream != 0 && stream.is_empty());
        let item = Item {
            time: request.time_ns / supported.unit_ns,
            op: request.op,
            offset,
            bytes,
            flags: request.flags,
            stream,
        };
        // Rounding up may make a request longer than 32 bits can express; the request is then written as two requests.
        let first = if bytes > u64::from(u32::MAX) { 1 << 31 } else { bytes };
        self.encoder.encode(&Item { bytes: first, ..item }, &mut self.out);
        if first < bytes {
            self.encoder.encode(&Item { offset: offset + first, bytes: bytes - first, ..item }, &mut self.out);
        }
        self.report.bytes_out += (self.out.len() - before) as u64;
    }

    /// Appends the trailer of the trace.
    pub fn end(&mut self) {
        let before = self.out.len();
        self.encoder.end(&mut self.out);
        self.report.bytes_out += (self.out.len() - before) as u64;
    }
}

/// Destination for the bytes of a trace, such as a compressor. On completion, it writes its remaining bytes and returns
/// the file.
trait Sink: Write + Send {
    fn complete(self: Box<Self>) -> std::io::Result<File>;
}

impl Sink for BufWriter<File> {
    fn complete(self: Box<Self>) -> std::io::Result<File> {
        Ok(self.into_inner()?)
    }
}

impl Sink for flate2::write::GzEncoder<File> {
    fn complete(self: Box<Self>) -> std::io::Result<File> {
        self.finish()
    }
}

impl Sink for zstd::stream::write::Encoder<'static, File> {
    fn complete(self: Box<Self>) -> std::io::Result<File> {
        self.finish()
    }
}

/// Output file. It has a temporary name until it is completed, and is removed if dropped earlier.
struct OutputFile {
    /// Path of the trace as given by the user.
    path: PathBuf,
    /// File to replace: the user's path with links resolved.
    target: PathBuf,
    temporary: PathBuf,
    sink: Option<Box<dyn Sink>>,
}

impl OutputFile {
    fn create(path: &Path) -> Result<Self, TraceError> {
        // If the path is a symbolic link to a file, the link is kept and the file is replaced. Devices and directories
        // are never replaced.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if target.exists() && !target.is_file() {
            return Err(TraceError::io(path, "exists and is not a regular file; choose another file"));
        }
        let Some(name) = target.file_name() else {
            return Err(TraceError::io(path, "has no file name; add a file name"));
        };
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.tmp", std::process::id()));
        let temporary = target.with_file_name(hidden);
        let failed = |error| TraceError::io(path, format!("cannot be written: {error}; check the directory"));
        let file = File::create(&temporary).map_err(failed)?;
        let mut out = Self { path: path.to_path_buf(), target, temporary, sink: None };
        out.sink = Some(match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Box::new(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            Some("zst") => {
                let level = zstd::DEFAULT_COMPRESSION_LEVEL;
                Box::new(zstd::stream::write::Encoder::new(file, level).map_err(|error| out.failed(&error))?)
            }
            _ => Box::new(BufWriter::new(file)),
        });
        Ok(out)
    }

    fn failed(&self, error: &std::io::Error) -> TraceError {
        TraceError::io(&self.path, format!("writing failed: {error}; the partial file was removed"))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        let written = self.sink.as_mut().map_or(Ok(()), |sink| sink.write_all(bytes));
        written.map_err(|error| self.failed(&error))
    }

    fn complete(&mut self) -> Result<(), TraceError> {
        let Some(sink) = self.sink.take() else { return Ok(()) };
        let renamed = sink.complete().and_then(|file| file.sync_all());
        let renamed = renamed.and_then(|()| std::fs::rename(&self.temporary, &self.target));
        if let Err(error) = renamed {
            self.remove();
            return Err(self.failed(&error));
        }
        Ok(())
    }

    fn remove(&self) {
        // Ignores errors: if the temporary file cannot be removed, nothing else can be done.
        drop(std::fs::remove_file(&self.temporary));
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if self.sink.take().is_some() {
            self.remove();
        }
    }
}
