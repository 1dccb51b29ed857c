//! Checks for trace formats.

use std::fmt::{self, Debug, Display, Formatter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use ssdlab_trace::{Format, Op, ReadOptions, Request, Source, TraceReader, fuzz, open_writer};

use crate::case::{Check, Checked, Verdict, World, check};

/// A trace format and a small valid file of the format.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Description of the trace format.
    pub info: Format,
    /// Contents of the valid file.
    pub bytes: &'static [u8],
}

/// All checks of trace formats, with their names.
pub const CHECKS: &[Check<Example>] = trace_format_checks!([table]);

/// A line of a text file, or a piece of a binary file.
#[derive(Clone, Debug)]
struct Line(Vec<u8>);

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// Byte sequences that are difficult to parse.
const TOKENS: [&[u8]; 12] = [
    b"",
    b"\n",
    b"\r\n",
    b",",
    b" ",
    b"-1",
    b"0",
    b"18446744073709551616",
    b"1e99",
    b"NaN",
    b"\0\0\0\0",
    b"\xFF\xFF\xFF\xFF",
];

/// Checks that damaged files are read or rejected without a panic, and that the reader keeps its contract.
pub fn damaged_files_are_refused(example: Example) -> Checked {
    let Example { info, bytes } = example;
    let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    let token = prop::sample::select(&TOKENS[..]);
    let damage = prop::option::weighted(0.3, (any::<prop::sample::Index>(), 0..8_usize, token));
    let line = (prop::sample::select(lines), damage).prop_map(|(line, damage)| {
        let mut line = line.to_vec();
        if let Some((at, length, token)) = damage {
            let at = at.index(line.len() + 1);
            let end = (at + length).min(line.len());
            line.splice(at..end, token.iter().copied());
        }
        Line(line)
    });
    check_file(info, "damaged_files_are_refused", 500, prop::collection::vec(line, 0..12), |lines| {
        let bytes: Vec<u8> = lines.iter().flat_map(|Line(bytes)| bytes).copied().collect();
        fuzz::body(Some(info), &bytes);
        Ok(())
    })
}

/// Checks that requests written to a file are read back with the same operations and addresses. Skips formats that
/// cannot be written.
pub fn written_files_are_read_back(example: Example) -> Checked {
    let Example { info, .. } = example;
    if info.role.encoder.is_none() {
        return Ok(Verdict::Skipped("the format has no encoder"));
    }
    let request =
        (0..5_000_000_u64, 0..1_u64 << 40, 1..5000_u32, any::<bool>()).prop_map(|(gap, sector, sectors, reads)| {
            let op = if reads { Op::Read } else { Op::Write };
            Written(Request { time_ns: gap, offset: sector * 512, bytes: sectors * 512, op, flags: 0, stream: 0 })
        });
    check_file(info, "written_files_are_read_back", 30, prop::collection::vec(request, 1..40), |written| {
        let mut time_ns = 0;
        let requests: Vec<Request> = written
            .iter()
            .map(|Written(request)| {
                time_ns += request.time_ns;
                Request { time_ns, ..*request }
            })
            .collect();
        let read = round_trip(info, &requests)?;
        let what = |request: &Request| (request.op, request.offset, request.bytes);
        match (1..).zip(requests.iter().zip(&read)).find(|(_, (one, two))| what(one) != what(two)) {
            Some((number, (one, two))) => {
                Err(format!("request {number} was written as {one:?}, but is read back as {two:?}"))
            }
            None if requests.len() != read.len() => {
                Err(format!("{} requests were written, but {} were read back", requests.len(), read.len()))
            }
            None => Ok(()),
        }
    })
}

/// Runs `holds` on random contents of a file.
fn check_file<O: Clone + Debug + Display>(
    info: Format,
    name: &'static str,
    cases: u32,
    contents: impl Strategy<Value = Vec<O>>,
    holds: impl Fn(&[O]) -> Result<(), String>,
) -> Checked {
    let device = format!("file of format {}", info.name);
    let worlds = contents.prop_map(move |operations| World { device: device.clone(), operations });
    check(format!("trace format {}", info.name), name, cases, worlds, |_, operations| holds(operations))
}

/// A request to be stored in a trace file; its time is relative to the previous request.
#[derive(Clone, Copy, Debug)]
struct Written(Request);

impl Display for Written {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Request { time_ns, offset, bytes, op, .. } = self.0;
        write!(f, "after {time_ns} ns: {op:?} of {bytes} bytes at {offset}")
    }
}

/// A file that is removed on drop.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // Ignores the error: a remaining temporary file does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn round_trip(info: Format, requests: &[Request]) -> Result<Vec<Request>, String> {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let name = format!("ssdlab-conformance-{}-{number}.{}", std::process::id(), info.name);
    let file = Temporary(std::env::temp_dir().join(name));
    let mut read = Vec::new();
    let mut trip = || {
        let mut writer = open_writer(&file.0, info)?;
        writer.write(requests, &[String::new()])?;
        writer.finish()?;
        let options = ReadOptions { format: Some(info), ..ReadOptions::default() };
        let mut reader = TraceReader::open(std::slice::from_ref(&file.0), &options)?;
        while reader.fill(&mut read, 100)? > 0 {}
        Ok::<(), ssdlab_trace::TraceError>(())
    };
    trip().map_err(|error| error.to_string())?;
    Ok(read)
}
