//! Code shared by the fuzzers and by a short test that runs in stable Rust. For any input bytes, the reader must not
//! panic, must fulfil its documented contract and must use bounded memory.

use std::sync::Arc;

use crate::formats::{self, columns, csv};
use crate::input::Origin;
use crate::writer::Converter;
use crate::{
    Action, Columns, DeviceChoice, Format, Op, Profile, ReadOptions, Request, Source, TraceError, TraceReader,
};

/// Reads `data` as `format` (or as the detected format), strictly and leniently, and with different device selections.
/// Checks the whole contract of [`TraceReader`].
pub fn body(format: Option<Format>, data: &[u8]) {
    let variant = data.len();
    for skip_bad in [false, true] {
        let device = [DeviceChoice::All, DeviceChoice::First, DeviceChoice::Overlay][variant % 3].clone();
        let action = Action::ALL[variant / 3 % Action::ALL.len()];
        let columns = (format == Some(&columns::INFO)).then(Columns::default);
        let options = ReadOptions { format, columns, device, action: Some(action), skip_bad, ..ReadOptions::default() };
        if let Ok((requests, streams)) = read(data, &options) {
            round_trip(&requests, &streams);
        }
    }
}

/// Reads a trace to the end with all checks; returns the requests and stream names.
fn read(data: &[u8], options: &ReadOptions) -> Result<(Vec<Request>, Vec<String>), TraceError> {
    let mut reader = TraceReader::over(&[Origin::Memory(Arc::from(data))], options)?;
    let mut profile = Profile::new();
    let mut requests = Vec::new();
    loop {
        let before = requests.len();
        let count = reader.fill(&mut requests, 777)?;
        assert_eq!(requests.len(), before + count);
        if count == 0 {
            break;
        }
        profile.add(&requests[before..]);
    }
    assert!(requests.is_sorted_by_key(|request| request.time_ns), "times decrease");
    assert!(requests.first().is_none_or(|request| request.time_ns == 0), "the first request does not have time 0");
    for request in &requests {
        let empty = request.op == Op::Flush;
        assert_eq!(request.bytes == 0, empty, "{request:?}");
        assert!(request.offset.checked_add(request.bytes.into()).is_some(), "{request:?}");
        assert!(usize::from(request.stream) < reader.streams().len(), "{request:?}");
    }
    let report = reader.report();
    assert_eq!(report.counts.requests, requests.len() as u64);
    assert_eq!(profile.total_requests(), report.counts.requests);
    assert!(options.skip_bad || report.counts.bad_lines == 0);
    let progress = reader.progress();
    assert!(progress.total.is_some_and(|total| progress.done <= total));
    Ok((requests, reader.streams().to_vec()))
}

/// Checks that requests survive a round trip through the lossless format `ssdlab-csv`.
fn round_trip(requests: &[Request], streams: &[String]) {
    let whole = |request: &Request| request.offset.is_multiple_of(512);
    // A trace without requests cannot be read back: the reader reports an error.
    if requests.is_empty() || !requests.iter().all(whole) {
        return;
    }
    let Ok(encoder) = formats::encoder(&csv::INFO) else { return };
    let mut converter = Converter::new(encoder);
    requests.iter().for_each(|request| converter.request(request, streams));
    converter.end();
    // The writer drops names that the format cannot store, such as names with a comma, and counts their requests.
    if converter.report.streams_dropped > 0 {
        return;
    }
    let options = ReadOptions { format: Some(&csv::INFO), ..ReadOptions::default() };
    let (again, names) = read(&converter.out, &options).unwrap_or_else(|error| panic!("own trace unreadable: {error}"));
    assert_eq!(requests.len(), again.len());
    for (wrote, got) in requests.iter().zip(&again) {
        assert_eq!(streams[usize::from(wrote.stream)], names[usize::from(got.stream)]);
        assert_eq!(*wrote, Request { stream: wrote.stream, ..*got });
    }
}
