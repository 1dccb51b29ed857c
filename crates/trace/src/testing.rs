//! Test helpers that read traces from memory and generate workloads.

use std::sync::Arc;

use crate::input::Origin;
use crate::{Arrival, DeviceChoice, Files, Format, Generator, IngestReport, Op, Pattern, ReadOptions, Request, Source};
use crate::{TraceError, TraceReader, Workload};

/// Creates a request without flags and stream.
pub(crate) fn request(time_ns: u64, op: Op, offset: u64, bytes: u32) -> Request {
    Request { time_ns, offset, bytes, op, flags: 0, stream: 0 }
}

type Outcome = Result<(Vec<Request>, IngestReport), TraceError>;

fn reader(files: &[&[u8]], options: &ReadOptions) -> Result<TraceReader, TraceError> {
    let origins: Vec<Origin> = files.iter().map(|&bytes| Origin::Memory(Arc::from(bytes))).collect();
    TraceReader::over(&origins, options)
}

fn drain(mut reader: TraceReader) -> Result<(Vec<Request>, TraceReader), TraceError> {
    let mut requests = Vec::new();
    while reader.fill(&mut requests, 1000)? > 0 {}
    Ok((requests, reader))
}

fn read_every(files: &[&[u8]], options: &ReadOptions) -> Outcome {
    let (requests, reader) = drain(reader(files, options)?)?;
    assert_eq!(requests.len() as u64, reader.report().counts.requests);
    assert!(requests.is_sorted_by_key(|request| request.time_ns));
    Ok((requests, reader.report().clone()))
}

fn options(format: Format) -> ReadOptions {
    ReadOptions { format: Some(format), ..ReadOptions::default() }
}

/// Reads with the given options.
pub(crate) fn read_with(bytes: &[u8], options: &ReadOptions) -> Outcome {
    read_every(&[bytes], options)
}

/// Reads valid text of a format.
pub(crate) fn read(format: Format, text: &str) -> (Vec<Request>, IngestReport) {
    read_with(text.as_bytes(), &options(format)).unwrap()
}

pub(crate) fn read_bytes(format: Format, bytes: &[u8], options: &ReadOptions) -> Outcome {
    read_with(bytes, &ReadOptions { format: Some(format), ..options.clone() })
}

/// Reads every device.
pub(crate) fn read_all(format: Format, text: &str) -> (Vec<Request>, IngestReport) {
    let options = ReadOptions { device: DeviceChoice::All, ..options(format) };
    read_with(text.as_bytes(), &options).unwrap()
}

pub(crate) fn read_device(format: Format, text: &str, name: &str) -> Outcome {
    let options = ReadOptions { device: DeviceChoice::Named(name.into()), ..options(format) };
    read_with(text.as_bytes(), &options)
}

/// Reads one device of several files.
pub(crate) fn read_files(format: Format, files: Files, device: &str, texts: &[&str]) -> (Vec<Request>, IngestReport) {
    let parts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    read_every(&parts, &ReadOptions { files, device: DeviceChoice::Named(device.into()), ..options(format) }).unwrap()
}

pub(crate) fn read_several(format: Option<Format>, files: Files, texts: &[&[u8]]) -> Outcome {
    read_every(texts, &ReadOptions { format, files, ..ReadOptions::default() })
}

/// Returns the stream names of a trace.
pub(crate) fn streams_of(format: Format, trace: impl AsRef<[u8]>) -> Vec<String> {
    let reader = reader(&[trace.as_ref()], &options(format)).unwrap();
    drain(reader).unwrap().1.streams().to_vec()
}

/// Returns the error message of invalid text.
pub(crate) fn error(format: Format, text: &str) -> String {
    error_bytes(format, text.as_bytes())
}

/// Returns the error message of invalid bytes.
pub(crate) fn error_bytes(format: Format, bytes: &[u8]) -> String {
    read_with(bytes, &options(format)).unwrap_err().to_string()
}

pub(crate) fn detect(text: &str) -> Result<Format, TraceError> {
    detect_bytes(text.as_bytes())
}

pub(crate) fn detect_bytes(bytes: &[u8]) -> Result<Format, TraceError> {
    Ok(reader(&[bytes], &ReadOptions::default())?.format())
}

/// Creates a workload of 100,000 requests in 64 MiB.
pub(crate) fn workload(pattern: Pattern) -> Workload {
    Workload {
        pattern,
        arrival: Arrival::Closed,
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

/// Returns the error message of an invalid workload; empty if valid.
pub(crate) fn refusal(workload: &Workload) -> String {
    Generator::new(workload).err().map_or_else(String::new, |error| error.to_string())
}
