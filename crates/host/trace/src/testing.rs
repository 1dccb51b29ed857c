//! Test helpers that read traces from memory and generate workloads.

#![cfg(test)]

use std::path::PathBuf;
use std::sync::Arc;

use crate::formats::parse;
use crate::input::Origin;
use crate::{Arrival, DeviceChoice, Files, Generator, IngestReport, Op, Pattern, ReadOptions, Request, Source};
use crate::{TraceError, TraceReader, Workload};

/// Creates a request with neither flags nor a stream.
pub(crate) fn request(time_ns: u64, op: Op, offset: u64, bytes: u32) -> Request {
    Request { time_ns, offset, bytes, op, flags: 0, stream: 0 }
}

type Outcome = Result<(Vec<Request>, IngestReport), TraceError>;

fn reader(files: &[&[u8]], options: &ReadOptions) -> Result<TraceReader, TraceError> {
    let origins: Vec<Origin> = files.iter().map(|&bytes| Origin::Memory(Arc::from(bytes))).collect();
    TraceReader::over(&origins, options)
}

/// Reads a source to its end.
pub(crate) fn drain(source: &mut impl Source) -> Result<Vec<Request>, TraceError> {
    let mut requests = Vec::new();
    while source.fill(&mut requests, 10)? > 0 {}
    Ok(requests)
}

/// Temporary directory of a test.
pub(crate) struct Directory(pub PathBuf);

impl Directory {
    /// Creates an empty directory; `name` must be unique among the tests.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ssdlab-trace-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read_every(files: &[&[u8]], options: &ReadOptions) -> Outcome {
    let mut reader = reader(files, options)?;
    let requests = drain(&mut reader)?;
    assert_eq!(requests.len() as u64, reader.report().counts.requests);
    assert!(requests.is_sorted_by_key(|request| request.time_ns));
    Ok((requests, reader.report().clone()))
}

/// Returns the options for reading the given format.
pub(crate) fn options(format: &str) -> ReadOptions {
    ReadOptions { format: Some(parse(format).unwrap()), ..ReadOptions::default() }
}

/// Reads a trace from memory with the given options.
pub(crate) fn read_with(bytes: &[u8], options: &ReadOptions) -> Outcome {
    read_every(&[bytes], options)
}

/// Reads a valid trace in a text format, with default options.
pub(crate) fn read(format: &str, text: &str) -> (Vec<Request>, IngestReport) {
    read_with(text.as_bytes(), &options(format)).unwrap()
}

pub(crate) fn read_bytes(format: &str, bytes: &[u8], options: &ReadOptions) -> Outcome {
    read_with(bytes, &ReadOptions { format: parse(format).ok(), ..options.clone() })
}

/// Reads the requests of all devices in a trace.
pub(crate) fn read_all(format: &str, text: &str) -> (Vec<Request>, IngestReport) {
    let options = ReadOptions { device: DeviceChoice::All, ..options(format) };
    read_with(text.as_bytes(), &options).unwrap()
}

pub(crate) fn read_device(format: &str, text: &str, name: &str) -> Outcome {
    let options = ReadOptions { device: DeviceChoice::Named(name.into()), ..options(format) };
    read_with(text.as_bytes(), &options)
}

/// Reads the requests of one device from several trace files.
pub(crate) fn read_files(format: &str, files: Files, device: &str, texts: &[&str]) -> (Vec<Request>, IngestReport) {
    let parts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    read_every(&parts, &ReadOptions { files, device: DeviceChoice::Named(device.into()), ..options(format) }).unwrap()
}

pub(crate) fn read_several(format: Option<&str>, files: Files, texts: &[&[u8]]) -> Outcome {
    let format = format.map(|name| parse(name).unwrap());
    read_every(texts, &ReadOptions { format, files, ..ReadOptions::default() })
}

/// Returns the stream names of a trace.
pub(crate) fn streams_of(format: &str, trace: impl AsRef<[u8]>) -> Vec<String> {
    let mut reader = reader(&[trace.as_ref()], &options(format)).unwrap();
    drain(&mut reader).unwrap();
    reader.streams().to_vec()
}

/// Reads an invalid trace from text and returns the error message.
pub(crate) fn error(format: &str, text: &str) -> String {
    error_bytes(format, text.as_bytes())
}

/// Reads an invalid trace from bytes and returns the error message.
pub(crate) fn error_bytes(format: &str, bytes: &[u8]) -> String {
    read_with(bytes, &options(format)).unwrap_err().to_string()
}

/// Returns the name of the detected format.
pub(crate) fn detect(text: &str) -> Result<&'static str, TraceError> {
    detect_bytes(text.as_bytes())
}

pub(crate) fn detect_bytes(bytes: &[u8]) -> Result<&'static str, TraceError> {
    Ok(reader(&[bytes], &ReadOptions::default())?.format().name)
}

/// Creates a workload of 100,000 requests to an address range of 64 MiB.
pub(crate) fn workload(pattern: &str, changes: &[(&str, u64)]) -> Workload {
    Workload {
        pattern: Pattern::named(pattern, changes).unwrap(),
        arrival: Arrival::Closed,
        queues: Vec::new(),
        requests: 100_000,
        reads: 0.3,
        sizes: vec![(4096, 3.0), (16384, 1.0)],
        align_bytes: 4096,
        span_bytes: 64 << 20,
        seed: 42,
    }
}

pub(crate) fn generate(workload: &Workload) -> Vec<Request> {
    let mut generator = Generator::new(workload).unwrap();
    let mut requests = Vec::new();
    while generator.fill(&mut requests, 777).unwrap() > 0 {}
    assert_eq!(generator.progress().total, Some(requests.len() as u64));
    assert!(requests.iter().all(|r| r.end() <= workload.span_bytes && r.offset.is_multiple_of(4096)));
    requests
}

/// Returns the error message for a workload; empty if the workload is valid.
pub(crate) fn refusal(workload: &Workload) -> String {
    Generator::new(workload).err().map_or_else(String::new, |error| error.to_string())
}
