//! Windows disk events (ETW) as written by xperf's dumper: the Microsoft production traces of SNIA IOTTA.
//!
//! Columns: `DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum,
//! IrpFlags, DiskSvcTime, I/O Pri, VolSnap, FileObject, FileName`. A block between `BeginHeader` and `EndHeader` names
//! the columns of each event.
//!
//! Times are in microseconds; offset and size are in bytes and hexadecimal; the file name is quoted. Events are written
//! on completion: `--action complete` uses that time, otherwise the start is `TimeStamp - ElapsedTime` (0 if before the
//! recording). `DiskRead`, `DiskWrite` and `DiskFlush` (without offset, size and file) are read as requests; other
//! events are only counted.
//!
//! Source: readme files of the traces; Kavalanekar et al., IISWC 2008; Windows' DiskIo_TypeGroup1.
//!
//! `DiskRead, 12000, store.exe (1234), 5678, 0xfffffa80, 0x01234000, 0x00008000, 400, 2, 0x060043, 390, Normal, ...`

use super::{Device, Entry, Fault, FormatInfo, FormatRules, Io, LineFormat, Skip, Stream, Tables};
use crate::fields::{SURPLUS, hexadecimal, whole};
use crate::{Action, Op, ReadOptions};

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "etw",
    help: "Windows ETW disk events as CSV (Microsoft production traces; us, bytes)",
    source: "Kavalanekar et al., IISWC 2008",
    parameters: &[],
    role: FormatRules::lines::<Etw>(),
};

const TICK_NS: u64 = 1000;
/// Names of the events that are read as requests, with their operations.
const EVENTS: [(&[u8], Op); 3] = [(b"DiskRead", Op::Read), (b"DiskWrite", Op::Write), (b"DiskFlush", Op::Flush)];
/// Default columns of reads and writes, for files without a header.
const TRANSFER: &[u8] =
    b"DiskRead,TimeStamp,Process Name ( PID),ThreadID,IrpPtr,ByteOffset,IOSize,ElapsedTime,DiskNum,\
                          IrpFlags,DiskSvcTime,I/O Pri,VolSnap,FileObject,FileName";
/// Default columns of flushes, for files without a header.
const FLUSH: &[u8] =
    b"DiskFlush,TimeStamp,Process Name ( PID),ThreadID,IrpPtr,ElapsedTime,DiskNum,IrpFlags,DiskSvcTime,\
                       I/O Pri";

#[derive(Clone)]
struct EventColumns {
    count: usize,
    time: usize,
    process: usize,
    offset: Option<usize>,
    size: Option<usize>,
    elapsed: usize,
    disk: usize,
}

impl EventColumns {
    /// Parses the columns in a header line; `None` if a required column is missing.
    fn named(line: &[u8], op: Op) -> Option<Self> {
        let names: Vec<&[u8]> = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
        let at = |name: &str| names.iter().position(|column| *column == name.as_bytes());
        let (offset, size) = (at("ByteOffset"), at("IOSize"));
        if op != Op::Flush && (offset.is_none() || size.is_none()) {
            return None;
        }
        Some(Self {
            count: names.len(),
            time: at("TimeStamp")?,
            process: at("Process Name ( PID)")?,
            offset,
            size,
            elapsed: at("ElapsedTime")?,
            disk: at("DiskNum")?,
        })
    }
}

#[derive(Default)]
struct Etw {
    completed: bool,
    in_header: bool,
    /// Columns of each event in [`EVENTS`].
    columns: [Option<EventColumns>; EVENTS.len()],
}

/// Splits a line at commas outside quotes and trims the fields.
fn split(line: &[u8]) -> Vec<&[u8]> {
    let mut quoted = false;
    let is_end = |byte: &u8| {
        quoted ^= *byte == b'"';
        *byte == b',' && !quoted
    };
    line.split(is_end).map(<[u8]>::trim_ascii).collect()
}

/// Parses a number; the prefix `0x` marks a hexadecimal number.
fn number<'a>(text: &'a [u8], name: &'static str) -> Result<u64, Fault<'a>> {
    let value = if text.starts_with(b"0x") { hexadecimal(text) } else { whole(text) };
    value.map_err(Fault::of(name, text))
}

impl LineFormat for Etw {
    const CLOSING: Option<u8> = Some(b'"');
    const HEADER: &'static [u8] = b"BeginHeader";
    const HEADER_START: &'static [u8] = b"";

    /// Requires that a file begin with a disk event or a header, because any text may contain numbers after commas.
    fn may_begin(head: &[u8]) -> bool {
        let is_disk = |line: &[u8]| EVENTS.iter().any(|(event, _)| line.trim_ascii_start().starts_with(event));
        head.split(|&byte| byte == b'\n').take(64).any(|line| line.starts_with(Self::HEADER) || is_disk(line))
    }

    fn new(options: &ReadOptions) -> Self {
        let plain = |op| EventColumns::named(if op == Op::Flush { FLUSH } else { TRANSFER }, op);
        let completed = options.action == Some(Action::Complete);
        Self { completed, columns: EVENTS.map(|(_, op)| plain(op)), ..Self::default() }
    }

    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let line = line.trim_ascii();
        let comma = line.iter().position(|&byte| byte == b',').unwrap_or(line.len());
        let name = line[..comma].trim_ascii();
        let event = EVENTS.iter().position(|(event, _)| *event == name);
        // In the header, an event's name is followed by column names. In the data, it is followed by numbers, even if
        // `EndHeader` is missing.
        let fields = split(line);
        let has_time = fields.get(1).is_some_and(|time| whole(time).is_ok());
        if line == b"BeginHeader" || self.in_header && !has_time {
            self.in_header = line != b"EndHeader";
            if let Some(event) = event {
                self.columns[event] = EventColumns::named(line, EVENTS[event].1);
            }
            return Ok(Entry::Skip(Skip::Header));
        }
        self.in_header = false;
        let Some(event) = event else {
            // If the name is followed by a time, the line is an event that is not a request. Lines about the recording
            // have no such time.
            return match name {
                _ if has_time => Ok(Entry::Skip(Skip::OtherAction)),
                [b'O', b'S', b' ', ..] => Ok(Entry::Skip(Skip::Header)),
                _ => Err(Fault::new("event", name, "is not an event name followed by a time")),
            };
        };
        let Some(columns) = &self.columns[event] else { return Ok(Entry::unknown_op("event", name)) };
        if let Some(more) = fields.get(columns.count) {
            return Err(Fault::new("", more, SURPLUS));
        }
        // If more text follows a quoted name, the line contains two joined records.
        if let Some(last) = fields.last().filter(|last| last.contains(&b'"'))
            && !(last.len() > 1 && last.starts_with(b"\"") && last.ends_with(b"\""))
        {
            return Err(Fault::new("FileName", last, "is not a single quoted name"));
        }
        let text =
            |at: usize, name| fields.get(at).copied().filter(|text| !text.is_empty()).ok_or(Fault::missing(name));
        let micros = |at, name| {
            let text = text(at, name)?;
            number(text, name)?.checked_mul(TICK_NS).ok_or(Fault::overflow(name, text))
        };
        let time_ns = micros(columns.time, "TimeStamp")?;
        let elapsed_ns = micros(columns.elapsed, "ElapsedTime")?;
        let optional = |at: Option<usize>, name| at.map_or(Ok(0), |at| number(text(at, name)?, name));
        let (offset, bytes) = (optional(columns.offset, "ByteOffset")?, optional(columns.size, "IOSize")?);
        let disk = number(text(columns.disk, "DiskNum")?, "DiskNum")?;
        Ok(Entry::Io(Io {
            time_ns: if self.completed { time_ns } else { time_ns.saturating_sub(elapsed_ns) },
            op: EVENTS[event].1,
            offset,
            bytes,
            device: Device::Id(tables.devices.number(disk)),
            flags: 0,
            stream: Stream::Named(text(columns.process, "Process Name ( PID)")?),
        }))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{detect, error, read, read_with, request, streams_of};
    use crate::{Action, Op, ReadOptions, Request};

    const HEADER: &str = "BeginHeader
                DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,  FileObject, FileName
               DiskWrite,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,  FileObject, FileName
               DiskFlush,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri
EndHeader
OS Version: 6.0.6001, Trace Size: 1024KB
";
    const BODY: &str = r#"                DiskRead,      12000,         store.exe (1234),       5678, 0xfffffa8001234560, 0x0123400000, 0x00008000,         400,        2, 0x060043,         390,  Normal, Original, 0xfffffa8009990000, "C:\data\a, b.edb"
            DiskReadInit,      12500,         store.exe (1234),       5678, 0xfffffa8001234560
               DiskWrite,      13000,            System (   4),       5678, 0xfffffa8001234560, 0x0123500000, 0x00001000,        1500,        2, 0x060043,         390,  Normal, Original, 0xfffffa8009990000, "C:\data\a.edb"
"#;
    const FLUSH: &str = "DiskFlush, 14000, System (   4), 5678, 0xfffffa8001234560, 100, 2, 0x060043, 90, Normal\n";

    /// Goal: the start time of a request is its completion time minus its response time. Method: compares with values
    /// computed by hand: 12,000 - 400 = 11,600 us and 13,000 - 1,500 = 11,500 us.
    #[test]
    fn request_times_are_start_times() {
        let (read_at, write_at) = (0x0001_2340_0000, 0x0001_2350_0000);
        let cut = HEADER.split_once("EndHeader").unwrap().0;
        for text in [format!("{HEADER}{BODY}"), BODY.into(), format!("{cut}{BODY}")] {
            assert_eq!(detect(&text).unwrap(), "etw");
            let (requests, report) = read("etw", &text);
            let with = |stream, request| Request { stream, ..request };
            let begun = [
                with(2, request(0, Op::Write, write_at, 4096)),
                with(1, request(100_000, Op::Read, read_at, 32 << 10)),
            ];
            assert_eq!((requests, report.counts.other_actions), (begun.to_vec(), 1));
            assert_eq!(report.device.as_deref(), Some("2"));
            assert_eq!(streams_of("etw", &text), ["", "store.exe (1234)", "System (   4)"]);
            let options = ReadOptions { action: Some(Action::Complete), ..ReadOptions::default() };
            let times: Vec<_> =
                read_with(text.as_bytes(), &options).unwrap().0.iter().map(|request| request.time_ns).collect();
            assert_eq!(times, [0, 1_000_000]);
        }
    }

    #[test]
    fn flushes_have_no_offset() {
        for text in [format!("{HEADER}{FLUSH}"), FLUSH.into()] {
            let (requests, _) = read("etw", &text);
            assert_eq!(requests, [Request { stream: 1, ..request(0, Op::Flush, 0, 0) }]);
        }
    }

    /// A header that lacks required columns makes its event unknown. Otherwise the header determines the columns of the
    /// event.
    #[test]
    fn the_header_defines_the_columns() {
        let header = "BeginHeader\nDiskRead, TimeStamp, IOSize, ByteOffset, ElapsedTime, DiskNum, Process Name ( PID)\n\
                      DiskWrite, TimeStamp\nEndHeader\n";
        let (requests, report) = read("etw", &format!("{header}DiskRead, 9, 512, 0x1000, 2, 0, a\nDiskWrite, 9\n"));
        assert_eq!(requests, [Request { stream: 1, ..request(0, Op::Read, 4096, 512) }]);
        assert_eq!(report.counts.unknown_op, 1);
    }

    #[test]
    fn errors_name_the_field() {
        let row = BODY.lines().next().unwrap();
        for (text, why) in [
            (row.replace("0x0123400000", "-5"), "field \"ByteOffset\": \"-5\" is negative"),
            (row.replace("0x00008000", ""), "field \"IOSize\" is missing"),
            (row.replace("12000", "x"), "field \"TimeStamp\": \"x\" is not a whole number"),
            (format!("{row}, 7"), "\"7\" follows the last column"),
            (format!("{row}{row}"), "\"12000\" follows the last column"),
            (
                row[..row.len() - 1].into(),
                "field \"FileName\": \"\\\"C:\\\\data\\\\a, b.edb\" is not a single quoted name",
            ),
            ("hello world".into(), "field \"event\": \"hello world\" is not an event name followed by a time"),
        ] {
            let message = error("etw", &format!("{text}\n"));
            assert!(message.starts_with(&format!("memory:1: {why}")), "{message}");
        }
        for text in ["hello, 5\nworld, 6\n", "a,1\n"] {
            assert!(detect(text).is_err(), "{text}");
        }
    }
}
