//! Linux block events as text: ftrace's `trace` file, `trace-cmd report` and `perf script`.
//!
//! Lines: `task-pid [cpu] flags seconds: event: fields`. trace-cmd omits the flags; perf writes `task pid` or `task
//! pid/tid`, and `block:` before the event.
//!
//! A request generates many events; only events of one type ([`Action`]) are used: `block_bio_queue`, `block_rq_issue`
//! (the default, because most recordings contain it) or `block_rq_complete`. Other events, such as `block_rq_insert`,
//! are only counted.
//!
//! Fields: `maj,min RWBS [bytes] (command) sector + sectors [priority] [process]`, where completion events lack the
//! bytes and queued bios lack the command; see [`Rwbs`]. Source: include/trace/events/block.h and
//! kernel/trace/trace_output.c of Linux.
//!
//! `  fio-311   [002] d..1.  5012.123456: block_rq_issue: 8,0 WS 4096 () 2099200 + 8 none,0,0 [fio]`

use super::blkparse::device_number;
use super::{Device, Entry, Fault, FormatInfo, FormatRules, Io, LineFormat, SECTOR, Skip, Stream, Tables};
use crate::fields::{Blanks, decimal, whole};
use crate::rwbs::Rwbs;
use crate::{Action, ReadOptions};

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "ftrace",
    help: "block events of ftrace, trace-cmd report or perf script; reads the events of one --action (default: issue)",
    source: "Linux, include/trace/events/block.h",
    parameters: &[],
    role: FormatRules { actions: true, ..FormatRules::lines::<Ftrace>() },
};

/// Events of each [`Action`], in the order of [`Action::ALL`].
const EVENTS: [&[u8]; 3] = [b"block_bio_queue", b"block_rq_issue", b"block_rq_complete"];

#[derive(Default)]
struct Ftrace {
    event: &'static [u8],
}

/// Parts of a line: the task, the time and the event.
struct Prefix<'a> {
    /// Name and process id of the task that caused the event; they precede the CPU number.
    task: &'a [u8],
    time: &'a [u8],
    /// Name of the event, and its fields.
    rest: &'a [u8],
}

/// Finds the time in a line: the first word after the CPU that is a decimal fraction followed by a colon.
fn prefix(line: &[u8]) -> Option<Prefix<'_>> {
    let mut fields = Blanks::new(line);
    let mut task = None;
    while let Some(rest) = fields.rest() {
        let word = fields.next()?;
        if let [b'[', cpu @ .., b']'] = word {
            if whole(cpu).is_ok() {
                task = Some(&line[..line.len() - rest.len()]);
            }
        } else if let (Some(task), [time @ .., b':']) = (task, word)
            && time.contains(&b'.')
            && time.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
        {
            return Some(Prefix { task, time, rest: fields.rest().unwrap_or_default() });
        }
    }
    None
}

/// Parses the process of `task-pid`, `task pid` or `task pid/tid`, optionally followed by a thread group in
/// parentheses.
fn pid(task: &[u8]) -> Result<u64, Fault<'_>> {
    let text = task.trim_ascii();
    let alone = match text.iter().rposition(|&byte| byte == b'(') {
        Some(group) if text.ends_with(b")") => text[..group].trim_ascii_end(),
        _ => text,
    };
    let digits = alone.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (name, digits) = alone.split_at(alone.len() - digits);
    match name.last() {
        Some(b'-' | b'/' | b' ' | b'\t') => whole(digits).map_err(Fault::of("pid", text)),
        _ => Err(Fault::new("pid", text, "is not TASK-PID or TASK PID")),
    }
}

/// Prefixes of lines in trace-cmd and perf output that describe the recording rather than an event.
const NOTES: [&[u8]; 4] = [b"cpus=", b"version =", b"CPU:", b"CPU "];

impl LineFormat for Ftrace {
    const CLOSING: Option<u8> = Some(b']');

    fn new(options: &ReadOptions) -> Self {
        Self { event: EVENTS[options.action.unwrap_or(Action::Issue) as usize] }
    }

    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let Some(Prefix { task, time, rest }) = prefix(line) else {
            let is_note = NOTES.iter().any(|start| line.starts_with(start));
            return if is_note { Ok(Entry::Skip(Skip::Header)) } else { Err(Fault::missing("timestamp")) };
        };
        let time_ns = decimal(time, 9).map_err(Fault::of("timestamp", time))?;
        let pid = pid(task)?;
        // If a second record follows on the same line, its bracketed CPU number could be mistaken for the optional
        // process in brackets at the end of a record.
        if prefix(rest).is_some() {
            return Err(Fault::new("", rest, "contains a second record"));
        }
        let mut fields = Blanks::new(rest);
        let event = fields.text("event")?;
        let name = event.strip_prefix(b"block:").unwrap_or(event);
        if name.strip_suffix(b":") != Some(self.event) {
            return Ok(Entry::Skip(Skip::OtherAction));
        }
        let text = fields.text("device")?;
        let device = device_number(text).ok_or(Fault::new("device", text, "is not MAJOR,MINOR"))?;
        let word = fields.text("RWBS")?;
        if self.event == b"block_rq_issue" {
            fields.number("bytes")?;
        }
        if self.event != b"block_bio_queue" && !command(&mut fields)? {
            return Ok(Entry::Skip(Skip::NonIo));
        }
        // Some kernels give a flush the sector number 2^64 - 1, whose byte address would overflow 64 bits.
        let sector = fields.text("sector")?;
        if fields.next() != Some(b"+") {
            return Err(Fault::new("sectors", sector, "should be followed by + and a count"));
        }
        let bytes = fields.scaled("sectors", SECTOR)?;
        let offset = match bytes {
            0 => 0,
            _ => Blanks::new(sector).scaled("sector", SECTOR)?,
        };
        process(&mut fields)?;
        let Some(rwbs) = Rwbs::parse(word) else { return Ok(Entry::unknown_op("RWBS", word)) };
        let Some(op) = rwbs.op_of(bytes) else { return Ok(Entry::Skip(Skip::NonIo)) };
        let device = Device::Id(tables.devices.device_number(device >> 32, device & 0xFFFF_FFFF));
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: rwbs.flags, stream: Stream::Number(pid) }))
    }
}

/// Skips the SCSI command in parentheses. Returns false if the parentheses are not empty, as in a pass-through request.
fn command<'a>(fields: &mut Blanks<'a>) -> Result<bool, Fault<'a>> {
    let rest = fields.rest().unwrap_or_default();
    let end = rest.iter().position(|&byte| byte == b')').filter(|_| rest.starts_with(b"("));
    let end = end.ok_or(Fault::missing("command"))?;
    *fields = Blanks::new(&rest[end + 1..]);
    Ok(end == 1)
}

/// Checks the last fields of a line: a process in brackets, which may follow a priority such as `none,0,0`.
fn process<'a>(fields: &mut Blanks<'a>) -> Result<(), Fault<'a>> {
    if fields.rest().is_some_and(|rest| !rest.starts_with(b"[")) {
        let priority = fields.next().unwrap_or_default();
        if !priority.contains(&b',') {
            return Err(Fault::new("process", priority, "is not a process in brackets at the end of the line"));
        }
    }
    match fields.rest().map(<[u8]>::trim_ascii_end) {
        Some([b'[', .., b']']) => Ok(()),
        Some(other) => Err(Fault::new("process", other, "is not a process in brackets at the end of the line")),
        None => Err(Fault::missing("process")),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{detect, error, read, read_with, request, streams_of};
    use crate::{Action, Op, ReadOptions, Request, flag};

    /// A write that is queued, inserted, issued and completed; then an issued discard and flush.
    const FTRACE: &str = "# tracer: nop
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
     kworker/u8:1-311     [002] d..1.  5012.123400: block_bio_queue: 8,0 WS 2099200 + 8 [kworker/u8:1]
     kworker/u8:1-311     [002] d..1.  5012.123410: block_rq_insert: 8,0 WS 4096 () 2099200 + 8 none,0,0 [kworker/u8:1]
     kworker/u8:1-311     [002] d..1.  5012.123456: block_rq_issue: 8,0 WS 4096 () 2099200 + 8 none,0,0 [kworker/u8:1]
           fstrim-900     [001] d..1.  5012.123999: block_rq_issue: 8,0 DS 0 () 4196352 + 65536 none,0,0 [fstrim]
           <idle>-0       [001] d.h1.  5012.124100: block_rq_complete: 8,0 WS () 2099200 + 8 none,0,0 [0]
      my task-2 [x-77     [000] d..1.  5012.124200: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [my task-2 [x]
             smart-5      [000] .....  5012.124300: block_rq_issue: 8,0 R 36 (12 00 00 00 24 00) 0 + 0 [smart]
";

    #[test]
    fn issue_events_are_used_with_their_flags() {
        assert_eq!(detect(FTRACE).unwrap(), "ftrace");
        let (requests, report) = read("ftrace", FTRACE);
        let with = |flags, stream, request| Request { flags, stream, ..request };
        // The first event in the file is at 5012.123456 s; 65,536 sectors are 32 MiB.
        let expected = [
            with(flag::SYNC, 1, request(0, Op::Write, 2099200 * 512, 4096)),
            with(flag::SYNC, 2, request(543_000, Op::Trim, 4196352 * 512, 32 << 20)),
            with(flag::PREFLUSH, 3, request(744_000, Op::Flush, 0, 0)),
        ];
        assert_eq!(requests, expected);
        let counts = report.counts;
        assert_eq!((counts.headers, counts.other_actions, counts.non_io), (3, 3, 1));
        assert_eq!(streams_of("ftrace", FTRACE), ["", "311", "900", "77"]);
        assert_eq!(report.device.as_deref(), Some("8,0"));
    }

    #[test]
    fn other_events_are_used_on_request() {
        for (action, time) in [(Action::Queue, "123400"), (Action::Complete, "124100")] {
            let options = ReadOptions { action: Some(action), ..ReadOptions::default() };
            let later = FTRACE.replace(time, "200000");
            let text = format!("{FTRACE}{later}");
            let (requests, _) = read_with(text.as_bytes(), &options).unwrap();
            let micros: u64 = 200_000 - time.parse::<u64>().unwrap();
            let actual: Vec<_> =
                requests.iter().map(|request| (request.time_ns, request.op, request.offset, request.bytes)).collect();
            let at = 2099200 * 512;
            assert_eq!(actual, [(0, Op::Write, at, 4096), (micros * 1000, Op::Write, at, 4096)], "{action:?}");
        }
        let queued = "a-1 [000] 1.0: block_bio_queue: 8,0 R 8 + 8 [a]\n";
        let (requests, report) = read("ftrace", queued);
        assert!(requests.is_empty());
        assert!(report.notes[0].contains("no event has the chosen action"), "{:?}", report.notes);
    }

    #[test]
    fn trace_cmd_and_perf_events_are_read_alike() {
        for text in [
            "cpus=4\nCPU 1 is empty\n  fio-311 [002]  5012.000001: block_rq_issue:       8,0 WS 4096 () 16 + 8 [fio]\n",
            "  fio   311 [002]  5012.000001: block:block_rq_issue: 8,0 WS 4096 () 16 + 8 [fio]\n",
            "  fio   311/311 [002]  5012.000001000: block:block_rq_issue: 8,0 WS 4096 () 16 + 8 [fio]\n",
            "  fio-311  (  311) [002] ....  5012.000001: block_rq_issue: 8,0 WS 4096 () 16 + 8 [fio]\n",
            "  fio-311  (-----) [002] ....  5012.000001: block_rq_issue: 8,0 WS 4096 () 16 + 8 be,0,4 [fio]\n",
        ] {
            assert_eq!(detect(text).unwrap(), "ftrace", "{text}");
            let expected = Request { flags: flag::SYNC, stream: 1, ..request(0, Op::Write, 8192, 4096) };
            assert_eq!(read("ftrace", text).0, [expected], "{text}");
            assert_eq!(streams_of("ftrace", text), ["", "311"]);
        }
    }

    #[test]
    fn errors_name_the_field() {
        for (line, why) in [
            ("fio-3 [0] 1.0: block_rq_issue: 8 W 0 () 8 + 8 [a]", "field \"device\": \"8\" is not MAJOR,MINOR"),
            ("fio-3 [0] 1.0: block_rq_issue: 8,0 W x () 8 + 8 [a]", "field \"bytes\": \"x\" is not a whole number"),
            ("fio-3 [0] 1.0: block_rq_issue: 8,0 W 0 8 + 8 [a]", "field \"command\" is missing"),
            ("fio-3 [0] 1.0: block_rq_issue: 8,0 W 0 () 8 8 [a]", "field \"sectors\": \"8\" should be followed by"),
            ("fio-3 [0] 1.0: block_rq_issue: 8,0 W 0 () 8 + 8", "field \"process\" is missing"),
            ("fio-3 [0] 1.0: block_rq_issue: 8,0 W 0 () 8 + 8 9 [a]", "field \"process\": \"9\" is not a process"),
            ("fio [0] 1.0: block_rq_issue: 8,0 W 0 () 8 + 8 [a]", "field \"pid\": \"fio\" is not TASK-PID"),
            ("fio-3 [0] 1: block_rq_issue: 8,0 W 0 () 8 + 8 [a]", "field \"timestamp\" is missing"),
        ] {
            let message = error("ftrace", &format!("{line}\n"));
            assert!(message.starts_with(&format!("memory:1: {why}")), "{message}");
        }
    }
}
