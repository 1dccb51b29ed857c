//! A trace format: defines how a trace file is read.

use ssdlab::NameTaken;
use ssdlab::trace_format::{self, Entry, Fault, FormatInfo, FormatRules, Io, LineFormat, Op, Stream, Tables};

/// Adds the format to ssdlab. The format of a file is detected, or set with `--format mine`.
pub fn register() -> Result<(), NameTaken> {
    trace_format::register(&MINE)
}

/// Registry entry of the format: name, help text, parameters and parser.
static MINE: FormatInfo = FormatInfo {
    name: "mine",
    help: "Lines with time in microseconds, device, R or W, offset and length: `17us sda R 4096+512`.",
    // The program or paper that describes the format.
    source: "",
    parameters: &[],
    // `FormatRules { encoder: ..., ..FormatRules::lines::<Mine>() }` also writes the format.
    role: FormatRules::lines::<Mine>(),
};

/// State of the parser, such as data from earlier lines; each file starts with a new state.
#[derive(Default)]
struct Mine;

impl LineFormat for Mine {
    /// Parses a line, which is neither blank nor a comment.
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let text = std::str::from_utf8(line).map_err(|_| Fault::new("", line, "is not text"))?;
        let mut words = text.split(' ');
        let time_us = number("time", words.next().and_then(|time| time.strip_suffix("us")))?;
        // A drive replays the requests of a single device. If a trace has several devices, the user selects one.
        let device = tables.device(words.next().ok_or(Fault::missing("device"))?.as_bytes());
        let op = match words.next().ok_or(Fault::missing("op"))? {
            "R" => Op::Read,
            "W" => Op::Write,
            // A line with an unknown operation is counted and skipped.
            other => return Ok(Entry::unknown_op("op", other.as_bytes())),
        };
        let mut extent = words.next().unwrap_or_default().split('+');
        let (offset, bytes) = (number("offset", extent.next())?, number("length", extent.next())?);
        // Times may have any origin: ssdlab subtracts the first request's time.
        Ok(Entry::Io(Io { time_ns: time_us * 1000, op, offset, bytes, device, flags: 0, stream: Stream::None }))
    }
}

/// Reads a number. An error names the field; ssdlab adds the file name and line number.
fn number<'a>(field: &'static str, text: Option<&'a str>) -> Result<u64, Fault<'a>> {
    let text = text.ok_or(Fault::missing(field))?;
    text.parse().map_err(|_| Fault::new(field, text.as_bytes(), "is not a whole number"))
}

#[cfg(test)]
mod tests {
    use super::{MINE, register};
    use ssdlab::trace_format::{Op, ReadOptions, Request, Source, TraceReader};

    #[test]
    fn a_file_of_the_format_is_detected_and_read() {
        register().unwrap();
        let path = std::env::temp_dir().join("ssdlab-mine.txt");
        std::fs::write(&path, "17us sda R 4096+512\n20us sda W 8192+1024\n").unwrap();
        let mut reader = TraceReader::open(&[path], &ReadOptions::default()).unwrap();
        let mut requests = Vec::new();
        while reader.fill(&mut requests, 10).unwrap() > 0 {}
        let request = |time_ns, op, offset, bytes| Request { time_ns, offset, bytes, op, flags: 0, stream: 0 };
        assert_eq!(requests, [request(0, Op::Read, 4096, 512), request(3000, Op::Write, 8192, 1024)]);
        assert_eq!(reader.format().name, MINE.name);
    }
}

/// Parses damaged copies of a small file. A copy that breaks a rule is reduced to few lines.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::trace_format!(super::MINE, "17us sda R 4096+512\n20us sda W 8192+1024\n");
}
