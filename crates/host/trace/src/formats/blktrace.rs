//! blktrace binary: `struct blk_io_trace`, 48 bytes plus a tail of `pdu_len` bytes, in the writer's byte order
//! (detected by the magic number).
//!
//! | offset | field |
//! |---|---|
//! | 0 | u32 magic `0x65617400` + version 7 |
//! | 4 | u32 sequence (0 in files made from ftrace) |
//! | 8 | u64 time, ns |
//! | 16 | u64 sector, 512 bytes each |
//! | 24 | u32 bytes |
//! | 28 | u32 action: event in bits 0-7, category mask in the high 16 |
//! | 32 | u32 pid |
//! | 36 | u32 device, major << 20 + minor |
//! | 40 | u32 cpu |
//! | 44 | u16 error |
//! | 46 | u16 pdu_len |
//!
//! A request causes many events; only the events of one type ([`Action`]) are used. The tail is not needed and is
//! skipped (remap targets are always big-endian). Per-CPU files (`sda.blktrace.0`, `.1`, ...) belong together: pass
//! all, and they are merged by time. Source: include/uapi/linux/blktrace_api.h.

use super::category;
use super::{
    Device, Encoder, Entry, Fault, FormatInfo, FormatRules, Io, Item, RecordFormat, SECTOR, Skip, Stream, Supported,
    Tables,
};
use crate::decode::{u16_at, u32_at, u64_at};
use crate::{Action, Op, ReadOptions};

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "blktrace",
    help: "blktrace binary in either byte order; reads the events of one --action (default: queue)",
    source: "Linux, include/uapi/linux/blktrace_api.h",
    parameters: &[],
    role: FormatRules {
        encoder: Some(|| Box::new(BlktraceEncoder)),
        actions: true,
        parts: true,
        ..FormatRules::records::<Blktrace>()
    },
};

const MAGIC: u32 = 0x6561_7407;
/// Supported record version, the low byte of the magic number.
const VERSION: u8 = MAGIC as u8;
/// Numbers of the events queue, issue and complete, in the order of [`Action::ALL`].
const EVENTS: [u32; 3] = [1, 7, 8];

#[derive(Default)]
struct Blktrace {
    action: u32,
}

/// Returns the record version of a file; `None` without the magic number.
fn version(head: &[u8]) -> Option<u8> {
    let bytes = *head.first_chunk::<4>()?;
    let magics = [u32::from_le_bytes(bytes), u32::from_be_bytes(bytes)];
    magics.into_iter().find(|magic| magic >> 8 == MAGIC >> 8).map(|magic| magic as u8)
}

impl RecordFormat for Blktrace {
    const HEAD: usize = 48;

    /// Also recognizes unsupported versions, so that the error message can state the version.
    fn sniff(head: &[u8]) -> u32 {
        if version(head).is_some() { 100 } else { 0 }
    }

    fn new(options: &ReadOptions) -> Self {
        Self { action: EVENTS[options.action.unwrap_or_default() as usize] }
    }

    fn begin(&self, head: &[u8]) -> Result<(), String> {
        match version(head) {
            Some(other) if other != VERSION => Err(format!(
                "blktrace version {other} is not supported (only version {VERSION} is); convert the file to \
                 text with 'blkparse -i FILE > FILE.txt', and read FILE.txt"
            )),
            _ => Ok(()),
        }
    }

    #[inline]
    fn record<'a>(&mut self, bytes: &'a [u8], tables: &mut Tables) -> Result<(Entry<'a>, usize), Fault<'a>> {
        let Some(head) = bytes.first_chunk::<{ Self::HEAD }>() else { return Err(Fault::missing("head")) };
        if u32_at(head, 0) == MAGIC {
            Ok(self.native::<false>(head, tables))
        } else if u32_at(head, 0) == MAGIC.swap_bytes() {
            Ok(self.native::<true>(head, tables))
        } else {
            Err(Fault::new("magic", &head[..4], "is not the magic number of blktrace version 7"))
        }
    }

    fn resync(&self, bytes: &[u8]) -> usize {
        let magic = MAGIC.to_le_bytes();
        let swapped = MAGIC.to_be_bytes();
        let next = bytes.windows(4).skip(1).position(|window| window == magic || window == swapped);
        // If there is no further magic number, skips all but the last three bytes, which may be the beginning of one.
        next.map_or(bytes.len().saturating_sub(3).max(1), |index| index + 1)
    }
}

impl Blktrace {
    /// Parses the head of a record: little-endian, or big-endian if `SWAP`.
    #[inline]
    fn native<const SWAP: bool>(&self, head: &[u8; 48], tables: &mut Tables) -> (Entry<'static>, usize) {
        let narrow = |at| if SWAP { u32_at(head, at).swap_bytes() } else { u32_at(head, at) };
        let wide = |at| if SWAP { u64_at(head, at).swap_bytes() } else { u64_at(head, at) };
        let tail = u16_at(head, 46);
        let tail = usize::from(if SWAP { tail.swap_bytes() } else { tail });
        let (action, bytes) = (narrow(28), u64::from(narrow(24)));
        let mask = u64::from(action >> 16);
        if mask & category::NOTIFY != 0 {
            return (Entry::Skip(Skip::NonIo), tail);
        }
        // Ignores bit 8 of the action, which only says that the record's tail begins with a cgroup id.
        if action & 0xFF != self.action {
            return (Entry::Skip(Skip::OtherAction), tail);
        }
        let Some(op) = operation(mask, bytes) else { return (Entry::Skip(Skip::NonIo), tail) };
        let number = u64::from(narrow(36));
        let device = tables.devices.device_number(number >> 20, number & 0xF_FFFF);
        let io = Io {
            time_ns: wide(8),
            op,
            // For a sector above 2^55 the multiplication saturates, and the offset is rejected as too large.
            offset: wide(16).saturating_mul(SECTOR),
            bytes,
            device: Device::Id(device),
            flags: category::flags(mask),
            stream: Stream::Number(narrow(32).into()),
        };
        (Entry::Io(io), tail)
    }
}

/// Returns the operation of an event with this category mask and `bytes` of data, by the same rules as blkparse; `None`
/// if the event is not a request.
#[inline]
fn operation(mask: u64, bytes: u64) -> Option<Op> {
    let has = |bit| mask & bit != 0;
    match bytes {
        _ if has(category::PC) => None,
        0 if has(category::FLUSH) => Some(Op::Flush),
        _ if has(category::DISCARD) => Some(Op::Trim),
        _ if has(category::WRITE) => Some(Op::Write),
        0 => None,
        _ => Some(Op::Read),
    }
}

/// Writer of blktrace queue events: device 8,0, CPU 0, little-endian; process names must be numbers.
struct BlktraceEncoder;

fn number(name: &str) -> bool {
    name.parse::<u32>().is_ok_and(|pid| pid > 0)
}

impl Encoder for BlktraceEncoder {
    fn supported(&self) -> Supported {
        Supported { ops: &Op::ALL, sector: SECTOR, flags: true, stream: number, ..Supported::TRANSFERS }
    }

    fn encode(&mut self, item: &Item<'_>, out: &mut Vec<u8>) {
        let mut mask = category::of(item.op, item.flags);
        if item.op == Op::Flush {
            mask |= category::FLUSH;
        }
        let pid: u32 = item.stream.parse().unwrap_or(0);
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&0_u32.to_le_bytes());
        out.extend_from_slice(&item.time.to_le_bytes());
        out.extend_from_slice(&(item.offset / SECTOR).to_le_bytes());
        out.extend_from_slice(&(item.bytes as u32).to_le_bytes());
        out.extend_from_slice(&((mask as u32) << 16 | EVENTS[Action::Queue as usize]).to_le_bytes());
        out.extend_from_slice(&pid.to_le_bytes());
        out.extend_from_slice(&(8_u32 << 20).to_le_bytes());
        out.extend_from_slice(&[0; 8]);
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::input::Origin;
    use crate::testing::{detect_bytes, error_bytes, read_bytes, read_with, request};
    use crate::{Placed, ReadOptions, Request, TraceReader, flag};

    struct Event {
        time: u64,
        sector: u64,
        bytes: u32,
        action: u32,
        pid: u32,
        device: u32,
        tail: Vec<u8>,
    }

    fn event(time: u64, sector: u64, bytes: u32, action: u32) -> Event {
        Event { time, sector, bytes, action, pid: 5, device: 7 << 20, tail: Vec::new() }
    }

    impl Event {
        fn bytes(&self, is_big: bool) -> Vec<u8> {
            let mut out = Vec::new();
            let mut put = |value: u64, bytes: usize| match is_big {
                true => out.extend_from_slice(&value.to_be_bytes()[8 - bytes..]),
                false => out.extend_from_slice(&value.to_le_bytes()[..bytes]),
            };
            put(MAGIC.into(), 4);
            put(0, 4);
            put(self.time, 8);
            put(self.sector, 8);
            for word in [self.bytes, self.action, self.pid, self.device, 1] {
                put(word.into(), 4);
            }
            put(0, 2);
            put(self.tail.len() as u64, 2);
            out.extend(&self.tail);
            out
        }

        fn little(&self) -> Vec<u8> {
            self.bytes(false)
        }

        fn big(&self) -> Vec<u8> {
            self.bytes(true)
        }
    }

    fn life() -> Vec<Event> {
        vec![
            event(100, 8, 4096, 0x1a << 16 | 1),
            event(110, 8, 4096, 0x1a << 16 | 4),
            Event { tail: vec![0; 8], ..event(115, 0, 0, 0x11 << 16 | 10) },
            Event { tail: b"message".to_vec(), ..event(117, 0, 0, 0x400 << 16 | 2) },
            event(120, 8, 4096, 0x14a << 16 | 7),
            event(130, u64::MAX, 0, 0x1e << 16 | 1),
            event(140, 16, 4096, 0x901e << 16 | 1),
            Event { tail: vec![1; 12], ..event(145, 16, 4096, 0x1a << 16 | 15) },
            event(150, 24, 8192, 0x2013 << 16 | 1),
            event(155, 0, 36, 0x211 << 16 | 1),
        ]
    }

    #[test]
    fn one_action_is_used_tails_are_skipped_and_notes_are_not_io() {
        let bytes: Vec<u8> = life().iter().flat_map(Event::little).collect();
        let (requests, report) = read_bytes("blktrace", &bytes, &ReadOptions::default()).unwrap();
        let with = |flags, request| Request { flags, stream: 1, ..request };
        let sync = flag::SYNC;
        let expected = [
            with(sync, request(0, Op::Write, 4096, 4096)),
            with(sync | flag::PREFLUSH, request(30, Op::Flush, 0, 0)),
            with(sync | flag::PREFLUSH | flag::FUA | flag::META, request(40, Op::Write, 8192, 4096)),
            with(0, request(50, Op::Trim, 12288, 8192)),
        ];
        assert_eq!(requests, expected);
        let counts = report.counts;
        assert_eq!((counts.records, counts.other_actions, counts.non_io), (10, 4, 2));
        let issue = ReadOptions { action: Some(Action::Issue), ..ReadOptions::default() };
        assert_eq!(read_bytes("blktrace", &bytes, &issue).unwrap().0.len(), 1);
    }

    #[test]
    fn both_byte_orders_give_the_same_requests() {
        let options = ReadOptions::default();
        let [little, big] = [Event::little, Event::big].map(|write| {
            let bytes: Vec<u8> = life().iter().flat_map(write).collect();
            assert_eq!(detect_bytes(&bytes).unwrap(), "blktrace");
            read_bytes("blktrace", &bytes, &options).unwrap().0
        });
        assert_eq!(little, big);
    }

    #[test]
    fn a_bad_magic_number_is_located_and_skipping_resynchronizes() {
        let mut bytes: Vec<u8> = life()[..2].iter().flat_map(Event::little).collect();
        let bad = bytes.len();
        bytes.extend([0xEE; 77]);
        bytes.extend(life()[6].little());
        let message = error_bytes("blktrace", &bytes);
        let expected = format!(
            "memory:record 3 at byte {bad}: field \"magic\": \"\\xee\\xee\\xee\\xee\" is not the magic number of blktrace version 7"
        );
        assert!(message.starts_with(&expected), "{message}");
        let options = ReadOptions { skip_bad: true, ..ReadOptions::default() };
        let (requests, report) = read_bytes("blktrace", &bytes, &options).unwrap();
        assert_eq!((requests.len(), report.counts.bad_lines), (2, 1));
    }

    /// Linux 6.19 writes version 8; all earlier kernels write version 7.
    #[test]
    fn an_unsupported_version_is_named() {
        for bytes in [0x6561_7408_u32.to_le_bytes(), 0x6561_7408_u32.to_be_bytes()] {
            let file = [&bytes[..], &[0; 60]].concat();
            let expected = "memory: blktrace version 8 is not supported (only version 7 is); convert the file to \
                            text with 'blkparse -i FILE > FILE.txt', and read FILE.txt";
            let detected = read_with(&file, &ReadOptions::default()).unwrap_err().to_string();
            assert_eq!((detected.as_str(), error_bytes("blktrace", &file).as_str()), (expected, expected));
        }
    }

    #[test]
    fn a_request_beyond_the_drive_is_found_with_record_and_byte() {
        let bytes: Vec<u8> = life().iter().flat_map(Event::little).collect();
        let before: usize = life()[..8].iter().map(|event| event.little().len()).sum();
        let mut reader = TraceReader::over(&[Origin::Memory(bytes.into())], &ReadOptions::default()).unwrap();
        let ControlFlow::Break(Some(request)) = reader.find_beyond(12_288, 10).unwrap() else { panic!("not found") };
        let place = format!("memory:record 9 at byte {before}");
        assert_eq!(request, Placed { place, op: Op::Trim, offset: 12_288, bytes: 8192 });
    }

    #[test]
    fn a_partial_record_is_an_error() {
        let mut bytes = life()[0].little();
        bytes.extend(&life()[1].little()[..20]);
        let message = error_bytes("blktrace", &bytes);
        assert!(message.contains("the file ends inside record 2 (20 bytes left at byte 48)"), "{message}");
        // A record that lacks its tail also counts as a truncated file. The reader allocates no memory for the missing
        // tail.
        let mut bytes = life()[0].little();
        bytes[46..48].copy_from_slice(&u16::MAX.to_le_bytes());
        assert!(error_bytes("blktrace", &bytes).contains("ends inside record 1 (48 bytes"));
    }
}
