//! blkparse's default text: `maj,min cpu seq time pid ACTION RWBS [sector + sectors] [process]`.
//!
//! Time in seconds with nine digits, sectors of 512 bytes. A request passes through many events, so
//! exactly one ([`Action`]) is taken. RWBS: a leading `F` (flush first), then `R`, `W`, `D` (discard),
//! `F` (flush) or `N` (no data), then any of `F` (forced unit access), `A` (read-ahead), `S` (sync), `M`
//! (metadata): `FWFS` writes after a flush, durably. Events without sector, messages (`m`), the lines of
//! different CPUs and the summary at the end are all part of the format.
//! Source: blktrace's blkparse_fmt.c and the kernel's blk_fill_rwbs.
//!
//! `  7,0    1        0     0.000000000  3889  Q  WS 9887824 + 8 [varmail]`

use super::blktrace::device_name;
use crate::decode::LineFormat;
use crate::fault::Fault;
use crate::fields::{Blanks, whole};
use crate::intake::{Device, Entry, Io, Skip, Stream, Tables};
use crate::{Op, ReadOptions, flag};

const SECTOR: u64 = 512;

/// Parser.
pub(crate) struct Blkparse {
    action: u8,
    /// Inside the summary that follows the events.
    summary: bool,
}

/// Lines that begin blkparse's summary.
const SUMMARY: [&[u8]; 5] = [b"CPU", b"Total (", b"Throughput (", b"Input file ", b"Skips:"];

impl LineFormat for Blkparse {
    fn new(options: &ReadOptions) -> Self {
        Self { action: options.action.letter(), summary: false }
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
        fields.number("cpu")?;
        fields.number("sequence")?;
        let time_ns = fields.decimal("time", 9)?;
        let pid = fields.number("pid")?;
        let action = fields.text("action")?;
        if action != [self.action] {
            let known = action.len() <= 2 && action.iter().all(u8::is_ascii_alphabetic);
            return match action {
                b"m" => Ok(Entry::Skip(Skip::NonIo)),
                _ if known => Ok(Entry::Skip(Skip::OtherAction)),
                _ => Err(Fault::new("action", action, "is not one of blkparse's letters")),
            };
        }
        let letters = fields.text("RWBS")?;
        let Some((op, flags)) = operation(letters) else { return Ok(Entry::Skip(Skip::UnknownOp)) };
        let (offset, bytes) = match extent(&mut fields)? {
            Extent::Sectors(offset, bytes) => (offset, bytes),
            Extent::None => (0, 0),
            Extent::Command => return Ok(Entry::Skip(Skip::NonIo)),
        };
        let (op, offset) = match op {
            Letter::Op(Op::Flush) => (Op::Flush, 0),
            // A flush without data: the operation letter says nothing.
            _ if bytes == 0 && flags & flag::PREFLUSH != 0 => (Op::Flush, 0),
            Letter::Op(op) => (op, offset),
            Letter::NoData => return Ok(Entry::Skip(Skip::NonIo)),
        };
        let device = Device::Id(tables.devices.keyed(device, |number| device_name(number >> 32, number & 0xFFFF_FFFF)));
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags, stream: Stream::Number(pid) }))
    }
}

/// `7,0` as one number.
fn device_number(text: &[u8]) -> Option<u64> {
    let comma = text.iter().position(|&byte| byte == b',')?;
    let (major, minor) = (whole(&text[..comma]).ok()?, whole(&text[comma + 1..]).ok()?);
    Some(u64::from(u32::try_from(major).ok()?) << 32 | u64::from(u32::try_from(minor).ok()?))
}

enum Letter {
    Op(Op),
    NoData,
}

/// Operation and flags of an RWBS field; `None` for letters not known.
#[inline]
fn operation(letters: &[u8]) -> Option<(Letter, u8)> {
    let (preflush, letters) = match letters {
        // A single F is the flush operation; with more behind it, it is the flush that comes first.
        [b'F', rest @ ..] if rest.first().is_some_and(|letter| b"RWDFN".contains(letter)) => (flag::PREFLUSH, rest),
        _ => (0, letters),
    };
    let (&first, rest) = letters.split_first()?;
    let op = match first {
        b'R' => Letter::Op(Op::Read),
        b'W' => Letter::Op(Op::Write),
        b'D' => Letter::Op(Op::Trim),
        b'F' => Letter::Op(Op::Flush),
        b'N' => Letter::NoData,
        _ => return None,
    };
    // Secure erase is a discard.
    let rest = if first == b'D' { rest.strip_prefix(b"E").unwrap_or(rest) } else { rest };
    let flags = rest.iter().try_fold(preflush, |flags, letter| {
        Some(
            flags
                | match letter {
                    b'F' => flag::FUA,
                    b'A' => flag::AHEAD,
                    b'S' => flag::SYNC,
                    b'M' => flag::META,
                    _ => return None,
                },
        )
    })?;
    Some((op, flags))
}

/// What stands between RWBS and the process.
enum Extent {
    /// `sector + count`, in bytes.
    Sectors(u64, u64),
    /// Nothing.
    None,
    /// A pass-through command: `bytes (cdb)`.
    Command,
}

#[inline]
fn extent<'a>(fields: &mut Blanks<'a>) -> Result<Extent, Fault<'a>> {
    let starts_number = fields.rest().and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit);
    if !starts_number {
        return Ok(Extent::None);
    }
    let offset = fields.scaled("sector", SECTOR)?;
    match fields.next() {
        Some(b"+") => Ok(Extent::Sectors(offset, fields.scaled("sectors", SECTOR)?)),
        Some([b'(', ..]) => Ok(Extent::Command),
        None | Some([b'[', ..]) => Ok(Extent::None),
        Some(other) => Err(Fault::new("sectors", other, "should be + and a count")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{error, read, read_with, request};
    use crate::{Action, Format, ReadOptions, Request};

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
        let (requests, report) = read(Format::Blkparse, TEXT);
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
    fn one_action_only() {
        for (action, count) in [(Action::Queue, 5), (Action::Issue, 2), (Action::Complete, 1)] {
            let options = ReadOptions { action, format: Some(Format::Blkparse), ..ReadOptions::default() };
            assert_eq!(read_with(TEXT.as_bytes(), &options).unwrap().0.len(), count, "{action:?}");
        }
    }

    #[test]
    fn flush_forms_are_told_apart() {
        let read = |letters: &str| operation(letters.as_bytes());
        let flush_first = flag::PREFLUSH;
        assert!(matches!(read("F"), Some((Letter::Op(Op::Flush), 0))));
        assert!(matches!(read("FF"), Some((Letter::Op(Op::Flush), flags)) if flags == flush_first));
        assert!(matches!(read("FN"), Some((Letter::NoData, flags)) if flags == flush_first));
        assert!(
            matches!(read("FWFS"), Some((Letter::Op(Op::Write), flags)) if flags == flush_first | flag::FUA | flag::SYNC)
        );
        assert!(matches!(read("WFS"), Some((Letter::Op(Op::Write), flags)) if flags == flag::FUA | flag::SYNC));
        assert!(matches!(read("FS"), Some((Letter::Op(Op::Flush), flags)) if flags == flag::SYNC));
        assert!(matches!(read("DE"), Some((Letter::Op(Op::Trim), 0))));
        assert!(read("ZA").is_none() && read("WZ").is_none());
    }

    #[test]
    fn pass_through_commands_are_no_io() {
        let (requests, report) =
            read(Format::Blkparse, "8,0 0 1 0.0 9 Q R 252 (12 00 00 00 fc) [udev]\n8,0 0 2 0.1 9 Q R 8 + 8 [dd]\n");
        assert_eq!((requests.len(), report.counts.non_io), (1, 1));
    }

    #[test]
    fn text_before_the_summary_is_malformed() {
        assert!(
            error(Format::Blkparse, "garbage\n")
                .starts_with("memory:1: field \"device\": \"garbage\" is not MAJOR,MINOR")
        );
        assert!(error(Format::Blkparse, "8,0 0 1 0.0 9 Q R 8 * 8 [dd]\n").contains("should be + and a count"));
    }
}
