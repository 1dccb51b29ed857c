//! fio's I/O logs (`write_iolog`), versions 2 and 3.
//!
//! - Version 2, after the line `fio version 2 iolog`: `file action [offset bytes]`, or `file wait us`. Waits are
//!   relative and add up; waits below 100 us are ignored, as the manual states, but their number is reported.
//! - Version 3, after the line `fio version 3 iolog`: `us file action [offset bytes]`, with the time since the start.
//!   The manual says ms, but files hold us.
//!
//! Actions are read, write, trim, sync and datasync (both flushes); add, open and close are bookkeeping. Every file of
//! a log is a device. A flush may have an offset and a size. Comments begin with `#` and a blank, because file names
//! may begin with `#`. Source: fio 3.33, HOWTO "Trace file format" and iolog.c.
//!
//! `1990294 /dev/sda write 4096 8192`

use super::{
    Device, Encoder, Entry, Fault, FormatInfo, FormatRules, Io, Item, LineFormat, Skip, Stream, Supported, Tables,
};
use crate::Op;
use crate::decode::without_mark;
use crate::encode::put;
use crate::fields::Blanks;

pub(crate) static FIO2: FormatInfo = FormatInfo {
    name: "fio2",
    help: "fio I/O log version 2 (waits between requests in us)",
    source: "fio 3.33, HOWTO",
    parameters: &[],
    role: FormatRules { encoder: Some(|| Box::new(FioEncoder::<2>::default())), ..FormatRules::lines::<Fio<2>>() },
};

pub(crate) static FIO3: FormatInfo = FormatInfo {
    name: "fio3",
    help: "fio I/O log version 3 (times in us)",
    source: "fio 3.33, HOWTO",
    parameters: &[],
    role: FormatRules { encoder: Some(|| Box::new(FioEncoder::<3>::default())), ..FormatRules::lines::<Fio<3>>() },
};

const TICK_NS: u64 = 1000;
/// Minimum wait in ns: shorter waits in a version 2 log do not advance the clock.
const WAIT_MIN_NS: u64 = 100_000;

/// Parser of fio logs; `VERSION` is 2 or 3.
#[derive(Default)]
struct Fio<const VERSION: u8> {
    /// Current time of a version 2 log in ns, which is the sum of all waits so far.
    clock_ns: u64,
    /// File name in the last entry; `device` is the id of the device with this name.
    file: Vec<u8>,
    device: u32,
}

/// Returns the version given in the title line of a log.
fn version(line: &[u8]) -> Option<&[u8]> {
    line.strip_prefix(b"fio version ")?.split(u8::is_ascii_whitespace).next()
}

fn is_comment(line: &[u8]) -> bool {
    line == b"#" || line.starts_with(b"# ")
}

impl<const VERSION: u8> LineFormat for Fio<VERSION> {
    const COMMENTS: bool = false;

    /// The title line must come first, because any line of two words could otherwise be an entry.
    fn may_begin(head: &[u8]) -> bool {
        Self::sniff(head) == 100
    }

    /// Detects the version from the title line alone. Version 3 also accepts titles with an unknown version, so that
    /// the error message can state that version.
    fn sniff(head: &[u8]) -> u32 {
        let mut lines = without_mark(head).split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        match lines.find(|line| !line.is_empty() && !is_comment(line)).and_then(version) {
            Some([digit]) if *digit == b'0' + VERSION => 100,
            Some(other) if VERSION == 3 && other != b"2" => 1,
            _ => 0,
        }
    }

    fn begin(&mut self, first: &[u8]) -> Result<bool, String> {
        match version(first) {
            Some([digit]) if *digit == b'0' + VERSION => Ok(true),
            Some([digit @ (b'2' | b'3')]) => {
                let other = char::from(*digit);
                Err(format!("the fio log has version {other}, not {VERSION}; pass --format fio{other}"))
            }
            Some(other) => Err(format!(
                "fio log version {} is not supported (only versions 2 and 3 are); record the log again with fio 3",
                other.escape_ascii()
            )),
            None => Ok(!is_comment(first)),
        }
    }

    #[inline]
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        if version(line).is_some() || is_comment(line) {
            return Ok(Entry::Skip(Skip::Header));
        }
        let mut fields = Blanks::new(line);
        let time_ns = if VERSION == 3 { fields.scaled("timestamp", TICK_NS)? } else { self.clock_ns };
        let file = fields.text("filename")?;
        let action = fields.text("action")?;
        let op = match action {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            b"add" | b"open" | b"close" => {
                fields.end()?;
                return Ok(Entry::Skip(Skip::OtherAction));
            }
            b"wait" if VERSION == 2 => {
                let text = fields.rest().unwrap_or_default();
                let wait = fields.scaled("wait", TICK_NS)?;
                fields.end()?;
                if wait < WAIT_MIN_NS {
                    return Ok(Entry::Skip(Skip::ShortWait));
                }
                let clock = self.clock_ns.checked_add(wait);
                self.clock_ns = clock.ok_or(Fault::new("wait", text, "makes the total of all waits exceed 64 bits"))?;
                return Ok(Entry::Skip(Skip::OtherAction));
            }
            _ if action.iter().all(u8::is_ascii_alphabetic) => {
                let _extent = (fields.next(), fields.next());
                fields.end()?;
                return Ok(Entry::unknown_op("action", action));
            }
            _ => return Err(Fault::new("action", action, "contains characters other than letters")),
        };
        let (offset, bytes) = match op {
            Op::Flush if fields.rest().is_none() => (0, 0),
            _ => (fields.number("offset")?, fields.number("length")?),
        };
        fields.end()?;
        if file != self.file {
            self.device = tables.devices.id(file);
            self.file = file.to_vec();
        }
        let device = Device::Id(self.device);
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: 0, stream: Stream::None }))
    }
}

/// Writer of fio logs of either version. The log has one file, named `device`.
#[derive(Default)]
struct FioEncoder<const VERSION: u8> {
    /// Time of the last entry written, in the unit of [`Self::UNIT_NS`].
    clock: u64,
}

const FILE: &str = "device";

impl<const VERSION: u8> FioEncoder<VERSION> {
    /// Unit of the times in the log. In version 2, this is the shortest wait that the parser adds to the clock. With a
    /// finer unit, shorter gaps would be lost and times would drift.
    const UNIT_NS: u64 = if VERSION == 2 { WAIT_MIN_NS } else { TICK_NS };

    fn entry(&self, out: &mut Vec<u8>, rest: std::fmt::Arguments<'_>) {
        if VERSION == 3 {
            put(out, format_args!("{} {FILE} {rest}\n", self.clock));
        } else {
            put(out, format_args!("{FILE} {rest}\n"));
        }
    }
}

impl<const VERSION: u8> Encoder for FioEncoder<VERSION> {
    fn supported(&self) -> Supported {
        Supported { ops: &Op::ALL, unit_ns: Self::UNIT_NS, ..Supported::TRANSFERS }
    }

    fn start(&mut self, out: &mut Vec<u8>) {
        put(out, format_args!("fio version {VERSION} iolog\n"));
        self.entry(out, format_args!("add"));
        self.entry(out, format_args!("open"));
    }

    fn encode(&mut self, item: &Item<'_>, out: &mut Vec<u8>) {
        if VERSION == 2 && item.time > self.clock {
            self.entry(out, format_args!("wait {}", (item.time - self.clock) * (Self::UNIT_NS / TICK_NS)));
        }
        self.clock = item.time;
        match item.op {
            Op::Flush => self.entry(out, format_args!("sync 0 0")),
            op => self.entry(out, format_args!("{} {} {}", op.name(), item.offset, item.bytes)),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.entry(out, format_args!("close"));
    }
}

#[cfg(test)]
mod tests {
    use crate::Op;
    use crate::testing::{detect, error, read, read_all, request};

    #[test]
    fn version_2_waits_are_relative_and_short_ones_are_ignored() {
        let text = "fio version 2 iolog\n/a add\n/a open\n/a write 0 4096\n/a wait 150\n/a read 4096 512\n/a wait 100\n/a wait 99\n/a datasync 0 0\n/a trim 0 8192\n/a close\n";
        assert_eq!(detect(text).unwrap(), "fio2");
        let (requests, report) = read("fio2", text);
        let expected = [
            request(0, Op::Write, 0, 4096),
            request(150_000, Op::Read, 4096, 512),
            request(250_000, Op::Flush, 0, 0),
            request(250_000, Op::Trim, 0, 8192),
        ];
        assert_eq!(requests, expected);
        let counts = report.counts;
        assert_eq!((counts.headers, counts.other_actions, counts.short_waits), (1, 5, 1));
    }

    #[test]
    fn version_3_times_are_microseconds() {
        let text = "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n100 /dev/sda write 4096 8192\n1990294 /dev/sda sync\n1990295 /dev/sda close\n";
        assert_eq!(detect(text).unwrap(), "fio3");
        let (requests, _) = read("fio3", text);
        assert_eq!(requests, [request(0, Op::Write, 4096, 8192), request(1_990_194_000, Op::Flush, 0, 0)]);
    }

    #[test]
    fn every_file_of_a_log_is_a_device() {
        let text = "fio version 3 iolog\n0 a add\n0 b add\n1 a read 0 4096\n2 b read 0 512\n3 a read 8192 512\n";
        let (requests, report) = read("fio3", text);
        assert_eq!((requests.len(), &report.other_devices[..]), (2, &[("b".to_string(), 1)][..]));
        let (requests, _) = read_all("fio3", text);
        assert_eq!(requests.iter().map(|r| r.offset).collect::<Vec<_>>(), [0, 1 << 20, 8192]);
    }

    #[test]
    fn comments_may_precede_the_title() {
        let text = "# by hand\n#\n\nfio version 3 iolog\n100 a read 0 4096\n";
        let (requests, report) = read(detect(text).unwrap(), text);
        assert_eq!((requests, report.counts.headers), (vec![request(0, Op::Read, 0, 4096)], 3));
        assert_eq!(detect("# of fio\nfio version 2 iolog\na read 0 4096\n").unwrap(), "fio2");
    }

    #[test]
    fn another_version_is_named() {
        let log = |version| format!("# by hand\nfio version {version} iolog\n1 a read 0 4096\n");
        let text = log("9");
        assert_eq!(detect(&text).unwrap(), "fio3");
        for (format, version, message) in [
            (
                "fio3",
                "9",
                "fio log version 9 is not supported (only versions 2 and 3 are); record the log again with fio 3",
            ),
            ("fio3", "2", "the fio log has version 2, not 3; pass --format fio2"),
            ("fio2", "3", "the fio log has version 3, not 2; pass --format fio3"),
        ] {
            assert_eq!(error(format, &log(version)), format!("memory:2: {message}"));
        }
    }

    #[test]
    fn unknown_words_are_counted_and_garbage_is_an_error() {
        let (requests, report) = read("fio2", "fio version 2 iolog\na inval 0 0\na read 0 512\n");
        assert_eq!((requests.len(), report.counts.unknown_op), (1, 1));
        assert!(error("fio2", "fio version 2 iolog\na 17 0\n").contains("memory:2: field \"action\": \"17\""));
    }
}
