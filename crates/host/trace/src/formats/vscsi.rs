//! vSCSI traces (VMware vscsiStats, CloudPhysics): little-endian records, no header.
//!
//! - Version 1, 32 bytes: u32 serial, u32 bytes, u32 scatter-gather entries, u16 SCSI command, u16 version, u64 block
//!   (512 bytes), u64 time in us.
//! - Version 2, 40 bytes: u16 command, u16 version, u32 serial, u32 bytes, u32 entries, u64 block, u64 time in us, u64
//!   response time.
//!
//! The version is in the high byte of the version field. Commands other than reads, writes and cache flushes are
//! counted as unknown (the trace lacks the ranges of UNMAP). Source: Waldspurger et al., FAST 2015; vscsi.h of
//! libCacheSim.

use super::{
    Device, Encoder, Entry, Fault, FormatInfo, FormatRules, Io, Item, RecordFormat, Stream, Supported, Tables,
};
use crate::Op;
use crate::decode::{u16_at, u32_at, u64_at};

pub(crate) static VSCSI1: FormatInfo = FormatInfo {
    name: "vscsi1",
    help: "vSCSI binary, 32-byte records (CloudPhysics)",
    source: "Waldspurger et al., FAST 2015",
    parameters: &[],
    role: FormatRules { encoder: Some(|| Box::new(VscsiEncoder::<1>::default())), ..FormatRules::records::<V1>() },
};

pub(crate) static VSCSI2: FormatInfo = FormatInfo {
    name: "vscsi2",
    help: "vSCSI binary, 40-byte records",
    source: "Waldspurger et al., FAST 2015",
    parameters: &[],
    role: FormatRules { encoder: Some(|| Box::new(VscsiEncoder::<2>::default())), ..FormatRules::records::<V2>() },
};

const BLOCK: u64 = 512;
const TICK_NS: u64 = 1000;
/// Number of records that are examined to detect a version of vSCSI.
const SNIFF_RECORDS: usize = 4;

/// Parser of records of `VERSION` 1 (`SIZE` 32) or 2 (`SIZE` 40).
#[derive(Default)]
struct Vscsi<const VERSION: u8, const SIZE: usize>;

type V1 = Vscsi<1, 32>;
type V2 = Vscsi<2, 40>;

/// Returns the operation of a SCSI command (SBC-4).
#[inline]
fn operation(command: u16) -> Option<Op> {
    Some(match command {
        0x28 | 0x88 | 0xA8 | 0x08 => Op::Read,
        0x2A | 0x8A | 0xAA | 0x0A | 0x2E | 0x8E | 0xAE => Op::Write,
        0x35 | 0x91 => Op::Flush,
        _ => return None,
    })
}

impl<const VERSION: u8, const SIZE: usize> Vscsi<VERSION, SIZE> {
    /// Byte offsets of the version, command, size, block and time fields within a record.
    const AT: [usize; 5] = if VERSION == 1 { [14, 12, 4, 16, 24] } else { [2, 0, 8, 16, 24] };

    fn fits(record: &[u8]) -> bool {
        u16_at(record, Self::AT[0]) >> 8 == u16::from(VERSION)
    }
}

impl<const VERSION: u8, const SIZE: usize> RecordFormat for Vscsi<VERSION, SIZE> {
    const HEAD: usize = SIZE;

    fn sniff(head: &[u8]) -> u32 {
        let mut records = head.chunks_exact(SIZE).take(SNIFF_RECORDS).peekable();
        if records.peek().is_some() && records.all(Self::fits) { 100 } else { 0 }
    }

    #[inline]
    fn record<'a>(&mut self, head: &'a [u8], _: &mut Tables) -> Result<(Entry<'a>, usize), Fault<'a>> {
        let Some(record) = head.first_chunk::<SIZE>() else { return Err(Fault::missing("record")) };
        let [version, command, bytes, block, time] = Self::AT;
        if !Self::fits(record) {
            let text = &head[version..version + 2];
            return Err(Fault::new("version", text, "does not match the version of this format"));
        }
        let Some(op) = operation(u16_at(record, command)) else {
            return Ok((Entry::unknown_op("command", &head[command..command + 2]), 0));
        };
        let scale = |at: usize, unit: u64, name: &'static str| {
            u64_at(record, at).checked_mul(unit).ok_or(Fault::overflow(name, &head[at..at + 8]))
        };
        let time_ns = scale(time, TICK_NS, "time")?;
        let offset = if op == Op::Flush { 0 } else { scale(block, BLOCK, "block")? };
        let bytes = u32_at(record, bytes).into();
        Ok((Entry::Io(Io { time_ns, op, offset, bytes, device: Device::File, flags: 0, stream: Stream::None }), 0))
    }
}

/// Writer of either vSCSI version: 16-byte READ and WRITE commands; SYNCHRONIZE CACHE for a flush.
#[derive(Default)]
struct VscsiEncoder<const VERSION: u8> {
    serial: u32,
}

impl<const VERSION: u8> Encoder for VscsiEncoder<VERSION> {
    fn supported(&self) -> Supported {
        Supported { ops: &[Op::Read, Op::Write, Op::Flush], unit_ns: TICK_NS, sector: BLOCK, ..Supported::TRANSFERS }
    }

    fn encode(&mut self, item: &Item<'_>, out: &mut Vec<u8>) {
        let command: u16 = match item.op {
            Op::Read => 0x88,
            Op::Flush => 0x91,
            Op::Write | Op::Trim => 0x8A,
        };
        // Serial number, bytes and scatter-gather entries; command and version.
        let words = [self.serial, item.bytes as u32, 1].map(u32::to_le_bytes);
        let codes = [command, u16::from(VERSION) << 8].map(u16::to_le_bytes);
        let (words, codes) = (words.as_flattened(), codes.as_flattened());
        let parts = if VERSION == 1 { [words, codes] } else { [codes, words] };
        parts.into_iter().for_each(|part| out.extend(part));
        out.extend((item.offset / BLOCK).to_le_bytes());
        out.extend(item.time.to_le_bytes());
        if VERSION == 2 {
            out.extend(0_u64.to_le_bytes());
        }
        self.serial = self.serial.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{detect_bytes, error_bytes, read_bytes, request};
    use crate::{Op, ReadOptions};

    fn v1(command: u16, bytes: u32, block: u64, time: u64) -> Vec<u8> {
        let words = [7, bytes, 1].map(u32::to_le_bytes);
        let kind = [command, 0x100].map(u16::to_le_bytes);
        let end = [block, time].map(u64::to_le_bytes);
        [words.as_flattened(), kind.as_flattened(), end.as_flattened()].concat()
    }

    fn v2(command: u16, bytes: u32, block: u64, time: u64) -> Vec<u8> {
        let kind = [command, 0x204].map(u16::to_le_bytes);
        let words = [7, bytes, 1].map(u32::to_le_bytes);
        let end = [block, time, 99].map(u64::to_le_bytes);
        [kind.as_flattened(), words.as_flattened(), end.as_flattened()].concat()
    }

    fn scene(write: fn(u16, u32, u64, u64) -> Vec<u8>) -> Vec<u8> {
        let rows = [
            (0x2A, 512, 42932745, 5_633_898_000_000),
            (0x28, 4096, 8, 5_633_898_000_007),
            (0x12, 36, 0, 5_633_898_000_008),
        ];
        let more = [
            (0x88, 8192, 1 << 33, 5_633_898_000_009),
            (0x35, 0, 5, 5_633_898_000_010),
            (0x8A, 0, 5, 5_633_898_000_011),
        ];
        rows.iter().chain(&more).flat_map(|&(command, bytes, block, time)| write(command, bytes, block, time)).collect()
    }

    #[test]
    fn both_versions_are_detected_and_agree() {
        let expected = [
            request(0, Op::Write, 42932745 * 512, 512),
            request(7_000, Op::Read, 4096, 4096),
            request(9_000, Op::Read, 1 << 42, 8192),
            request(10_000, Op::Flush, 0, 0),
        ];
        for (format, bytes) in [("vscsi1", scene(v1)), ("vscsi2", scene(v2))] {
            assert_eq!(detect_bytes(&bytes).unwrap(), format);
            let (requests, report) = read_bytes(format, &bytes, &ReadOptions::default()).unwrap();
            assert_eq!(requests, expected);
            assert_eq!((report.counts.unknown_op, report.counts.zero_length), (1, 1));
        }
    }

    #[test]
    fn a_wrong_version_and_a_partial_record_are_errors() {
        let mut bytes = scene(v1);
        bytes[32 + 15] = 9;
        let message = error_bytes("vscsi1", &bytes);
        assert!(
            message.starts_with(
                "memory:record 2 at byte 32: field \"version\": \"\\x00\\t\" does not match the version of this format"
            ),
            "{message}"
        );
        let bytes = scene(v2);
        let message = error_bytes("vscsi2", &bytes[..bytes.len() - 1]);
        assert!(message.contains("the file ends inside record 6 (39 bytes left at byte 200)"), "{message}");
    }
}
