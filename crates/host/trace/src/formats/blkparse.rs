//! blkparse default text: `maj,min cpu seq time pid ACTION RWBS [sector + sectors] [process]`.
//!
//! Times are in seconds with nine digits, sectors have 512 bytes; see [`Rwbs`] for RWBS. A request causes many events;
//! only the events of one type ([`crate::Action`]) are used. Events without a sector, messages (`m`), lines of
//! different CPUs and a final summary are part of the format.
//!
//! The reference time (time 0) is the time of the first event of the first CPU. Earlier events have negative times,
//! which blkparse prints as unsigned numbers, with the seconds truncated to 32 bits. Source: blkparse_fmt.c of
//! blktrace.
//!
//! `  7,0    1        0     0.000000000  3889  Q  WS 9887824 + 8 [varmail]`

use super::{Device, Entry, Fault, FormatInfo, FormatRules, Io, LineFormat, SECTOR, Skip, Stream, Tables};
use memchr::memchr_iter;

use crate::ReadOptions;
use crate::fields::{Blanks, TOO_LARGE, decimal, whole};
use crate::rwbs::Rwbs;

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "blkparse",
    help: "blkparse text in its default layout; reads the events of one --action (default: queue)",
    source: "blktrace, blkparse_fmt.c",
    parameters: &[],
    role: FormatRules { actions: true, ..FormatRules::lines::<Blkparse>() },
};

/// Timestamp that blkparse prints for the last nanosecond before the reference time. It is -1 ns as an unsigned 64-bit
/// number, with the seconds truncated to 32 bits.
const WRAPPED_NS: u64 = u64::MAX - 4 * (1 << 32) * 1_000_000_000;
/// Maximum time by which an event may precede the reference time. Parsed times are counted from this long before the
/// reference time, so that they are never negative.
const BEFORE_NS: u64 = 3600 * 1_000_000_000;

#[derive(Default)]
struct Blkparse {
    action: u8,
    /// True once the summary after the events has begun.
    summary: bool,
}

/// Words that begin the lines of the blkparse summary.
const SUMMARY: [&[u8]; 5] = [b"CPU", b"Total (", b"Throughput (", b"Input file ", b"Skips:"];

impl LineFormat for Blkparse {
    const CLOSING: Option<u8> = Some(b']');

    fn new(options: &ReadOptions) -> Self {
        Self { action: options.action.unwrap_or_default().letter(), ..Self::default() }
    }

    #[inline]
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        if !line.trim_ascii_start().first().is_some_and(u8::is_ascii_digit) {
            let begin = SUMMARY.iter().any(|start| line.starts_with(start));
            self.summary |= begin;
            if self.summary {
                return Ok(Entry::Skip(Skip::Header));
            }
        }
        let mut fields = Blanks::new(line);
        let text = fields.text("device")?;
        let device = device_number(text).ok_or(Fault::new("device", text, "is not MAJOR,MINOR"))?;
        alone(fields.rest().unwrap_or_default())?;
        fields.number("cpu")?;
        fields.number("sequence")?;
        let time_ns = time(fields.text("time")?)?;
        let pid = fields.number("pid")?;
        let action = fields.text("action")?;
        if action != [self.action] {
            let known = action.len() <= 2 && action.iter().all(u8::is_ascii_alphabetic);
            return match action {
                b"m" => Ok(Entry::Skip(Skip::NonIo)),
                _ if known => Ok(Entry::Skip(Skip::OtherAction)),
                _ => Err(Fault::new("action", action, "is not a blkparse action")),
            };
        }
        let word = fields.text("RWBS")?;
        let Some(rwbs) = Rwbs::parse(word) else { return Ok(Entry::unknown_op("RWBS", word)) };
        let Some((offset, bytes)) = extent(&mut fields)? else { return Ok(Entry::Skip(Skip::NonIo)) };
        process(&fields)?;
        let Some(op) = rwbs.op_of(bytes) else { return Ok(Entry::Skip(Skip::NonIo)) };
        let device = Device::Id(tables.devices.device_number(device >> 32, device & 0xFFFF_FFFF));
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: rwbs.flags, stream: Stream::Number(pid) }))
    }
}

/// Parses a device number such as `7,0`: the major number in the upper half, the minor number in the lower half.
pub(super) fn device_number(text: &[u8]) -> Option<u64> {
    let comma = text.iter().position(|&byte| byte == b',')?;
    let (major, minor) = (whole(&text[..comma]).ok()?, whole(&text[comma + 1..]).ok()?);
    Some(u64::from(u32::try_from(major).ok()?) << 32 | u64::from(u32::try_from(minor).ok()?))
}

/// Parses a time; returns it in ns, counted from [`BEFORE_NS`] before the reference time.
#[inline]
fn time(text: &[u8]) -> Result<u64, Fault<'_>> {
    let printed = decimal(text, 9).map_err(Fault::of("time", text))?;
    match WRAPPED_NS.checked_sub(printed) {
        // 1 ns before the reference time is printed as 2^64 - 1 ns, with the seconds truncated to 32 bits.
        Some(before) if before < BEFORE_NS => Ok(BEFORE_NS - 1 - before),
        _ => printed.checked_add(BEFORE_NS).ok_or(Fault::new("time", text, TOO_LARGE)),
    }
}

/// Fails if another record begins in `rest`, which is the part of the line after the device.
#[inline]
fn alone(rest: &[u8]) -> Result<(), Fault<'_>> {
    for comma in memchr_iter(b',', rest) {
        let digits = rest[..comma].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let record = &rest[comma - digits..];
        let mut fields = Blanks::new(record);
        let device = fields.next().and_then(device_number);
        let numbers = fields.number("cpu").and(fields.number("sequence"));
        if device.is_some() && numbers.is_ok() && fields.next().is_some_and(|text| decimal(text, 9).is_ok()) {
            return Err(Fault::new("", record, "is a second record on this line"));
        }
    }
    Ok(())
}

/// Checks the last field of a line, a process in brackets, which may follow a time in parentheses. A truncated line has
/// no such field.
#[inline]
fn process<'a>(fields: &Blanks<'a>) -> Result<(), Fault<'a>> {
    match fields.rest().map(<[u8]>::trim_ascii_end) {
        None => Err(Fault::missing("process")),
        Some([b'[' | b'(', .., b']']) => Ok(()),
        Some(other) => Err(Fault::new("process", other, "is not a process in brackets at the end of the line")),
    }
}

/// Parses the fields between RWBS and the process, `sector + count`, and converts both numbers to bytes. Returns zeros
/// if the fields are missing. Returns `None` for a pass-through command, which has the fields `bytes (cdb)` instead.
#[inline]
fn extent<'a>(fields: &mut Blanks<'a>) -> Result<Option<(u64, u64)>, Fault<'a>> {
    let starts_number = fields.rest().and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit);
    if !starts_number {
        return Ok(Some((0, 0)));
    }
    let offset = fields.scaled("sector", SECTOR)?;
    match fields.rest() {
        Some([b'+', ..]) => {
            fields.next();
            Ok(Some((offset, fields.scaled("sectors", SECTOR)?)))
        }
        Some([b'(', ..]) => Ok(None),
        None | Some([b'[', ..]) => Ok(Some((0, 0))),
        Some(_) => Err(Fault::new("sectors", fields.next().unwrap_or_default(), "should be + followed by a count")),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{error, options, read, read_with, request};
    use crate::{Action, Op, ReadOptions, Request, flag};

    const TEXT: &str = "  7,0    1        0     0.000000000  3889  Q  WS 9887824 + 8 [(null)]
  7,0    1        0     0.000029345  3889  G  WS 9887824 + 8 [(null)]
  7,0    1        0     0.000030447  3889  P   N [(null)]
  7,0    1        0     0.000031359  3889  U   N [(null)] 1
  7,0    1        0     0.000033643  3889  D  WS 9887824 + 8 [(null)]
  7,0    0        0     0.000468101  3950  Q  RA 9884656 + 32 [my [odd] name]
  7,0    0        0     0.000500000    14  C  WS 9887824 + 8 [0]
  7,0    0        0     0.246089602    44  D  FN [(null)]
  7,0    0        0     0.286755797  3738  Q FWFSM 25468912 + 8 [(null)]
  7,0    0        0     0.286800000  3738  Q FWS [(null)]
  7,0    0        0     0.286800001  3738  m   N cfq 3738 alloced
  7,0    0        0     0.286900000  3738  Q  DS 16 + 2048 [fstrim]
CPU0 (7,0):
 Reads Queued:           1,       16KiB	 Writes Queued:           2,       8KiB
Total (7,0):
 IO unplugs:             1        	 Timer unplugs:           0

Throughput (R/W): 0KiB/s / 0KiB/s
Events (7,0): 11 entries
Skips: 0 forward (0 -   0.0%)
";

    #[test]
    fn queue_events_with_their_letters() {
        let (requests, report) = read("blkparse", TEXT);
        let with = |flags, stream, request| Request { flags, stream, ..request };
        let expected = [
            with(flag::SYNC, 1, request(0, Op::Write, 9887824 * 512, 4096)),
            with(flag::AHEAD, 2, request(468_101, Op::Read, 9884656 * 512, 16384)),
            with(
                flag::PREFLUSH | flag::FUA | flag::SYNC | flag::META,
                3,
                request(286_755_797, Op::Write, 25468912 * 512, 4096),
            ),
            with(flag::PREFLUSH | flag::SYNC, 3, request(286_800_000, Op::Flush, 0, 0)),
            with(flag::SYNC, 3, request(286_900_000, Op::Trim, 8192, 1 << 20)),
        ];
        assert_eq!(requests, expected);
        let counts = report.counts;
        assert_eq!((counts.other_actions, counts.non_io, counts.headers), (6, 1, 7));
    }

    #[test]
    fn only_one_action_is_used() {
        for (action, count) in [(Action::Queue, 5), (Action::Issue, 2), (Action::Complete, 1)] {
            let options = ReadOptions { action: Some(action), ..options("blkparse") };
            assert_eq!(read_with(TEXT.as_bytes(), &options).unwrap().0.len(), count, "{action:?}");
        }
    }

    /// Goal: requests before the reference time come first. Method: reads a request at -50 us, printed as 2^64 ns - 50
    /// us with the seconds cut to 32 bits: 18446744073.709501616 s - 4 * 4294967296 s = 1266874889.709501616 s.
    #[test]
    fn times_before_the_reference_time_are_negative() {
        let line = |time, letters, sector| format!("8,0 1 1 {time} 901 Q {letters} {sector} + 8 [fio]\n");
        let text = line("0.000000000", "W", 800)
            + &line("0.000200000", "W", 808)
            + &line("1266874889.709501616", "R", 1600)
            + &line("0.000010000", "R", 1616);
        let (requests, report) = read("blkparse", &text);
        let with = |request| Request { stream: 1, ..request };
        let expected = [
            with(request(0, Op::Read, 1600 * 512, 4096)),
            with(request(50_000, Op::Write, 800 * 512, 4096)),
            with(request(60_000, Op::Read, 1616 * 512, 4096)),
            with(request(250_000, Op::Write, 808 * 512, 4096)),
        ];
        assert_eq!((requests, report.counts.late), (expected.to_vec(), 0));
        // 1 ns and 1 s before the reference time, and real times in the year 2010.
        for (time, before) in [("1266874889.709551615", 1), ("1266874888.709551616", 1_000_000_000)] {
            let (requests, _) = read("blkparse", &(line("0.0", "W", 8) + &line(time, "R", 16)));
            assert_eq!(requests[1].time_ns, before, "{time}");
        }
        let (requests, _) = read("blkparse", &(line("1266874889.8", "W", 8) + &line("1266874890.0", "R", 16)));
        assert_eq!(requests[1].time_ns, 200_000_000);
    }

    /// A barrier write (Linux before 2.6.37) is read as a write with the flag for a flush before it.
    #[test]
    fn barriers_flush_before_they_write() {
        let text = "8,16 2 1 0.0 16766 Q W 4096 + 8 [flush-8:16]\n8,16 2 1 0.00001 1200 Q WBS 8192 + 8 [jbd2/sdb1-8]\n\
                    8,16 2 1 0.00002 1200 Q WB 8200 + 8 [kjournald]\n8,16 2 1 0.00003 1200 Q R 8208 + 8 [cat]\n";
        let requests = read("blkparse", text).0;
        let actual: Vec<_> = requests.iter().map(|request| (request.op, request.offset / 512, request.flags)).collect();
        let flushed = flag::PREFLUSH;
        let expected = [
            (Op::Write, 4096, 0),
            (Op::Write, 8192, flushed | flag::SYNC),
            (Op::Write, 8200, flushed),
            (Op::Read, 8208, 0),
        ];
        assert_eq!(actual, expected);
    }

    #[test]
    fn a_truncated_line_or_two_joined_records_are_an_error() {
        let first = "8,0 1 1 0.000000001 1 Q W 0 + 16 [a b]";
        for (rest, why) in [
            ("  8,0 1 3 0.000000003 1 Q W 16 + 8 [z]", "8,0 1 3 0.000000003 1 Q W 16 + 8 [z]\" is a second record"),
            ("8,0 1 3 0.000000003 1 C W 16 + 8 [0]", "8,0 1 3 0.000000003 1 C W 16 + 8 [0]\" is a second record"),
        ] {
            for before in [first, "8,0 1 1 0.1 1 P N [x]", "8,0 1 1 0.1 1 m N cfq 1 alloced", "8,0 1 1 0.1 1 U N [x] 1"]
            {
                let message = error("blkparse", &format!("{before}{rest}\n"));
                assert!(message.starts_with("memory:1: ") && message.contains(why), "{before}{rest}: {message}");
            }
        }
        for cut in [first.len() - 1, first.len() - 6, first.len() - 7] {
            let message = error("blkparse", &first[..cut]);
            assert!(message.starts_with("memory:1: field \"process\""), "{message}");
        }
        assert_eq!(read("blkparse", "8,0 1 1 0.0 1 C W 0 + 8 [0]\n8,0 1 1 0.0 1 Q W 0 + 8 [a,b,1 2,3 4]").0.len(), 1);
    }

    #[test]
    fn pass_through_commands_are_not_io() {
        let (requests, report) =
            read("blkparse", "8,0 0 1 0.0 9 Q R 252 (12 00 00 00 fc) [udev]\n8,0 0 2 0.1 9 Q R 8 + 8 [dd]\n");
        assert_eq!((requests.len(), report.counts.non_io), (1, 1));
    }

    #[test]
    fn text_before_the_summary_is_malformed() {
        assert!(
            error("blkparse", "garbage\n").starts_with("memory:1: field \"device\": \"garbage\" is not MAJOR,MINOR")
        );
        assert!(error("blkparse", "8,0 0 1 0.0 9 Q R 8 * 8 [dd]\n").contains("should be + followed by a count"));
    }
}
