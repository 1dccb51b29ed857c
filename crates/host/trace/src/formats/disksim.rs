//! DiskSim's default ASCII: `arrival devno blkno bcount flags`, separated by spaces or tabs.
//!
//! The arrival time is in milliseconds, with a decimal fraction (which distinguishes it from MQSim). Blocks have 512
//! bytes; flags are hexadecimal, and bit 0 means read. The "validate" traces shipped with DiskSim have other columns.
//! Source: DiskSim 4.0 reference manual, section 5.1.
//!
//! `0.000000 0 4536800 8 1`

use super::{Device, Encoder, Entry, Fault, FormatInfo, FormatRules, Io, Item, LineFormat, Stream, Supported, Tables};
use crate::Op;
use crate::encode::put;
use crate::fields::Blanks;

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "disksim",
    help: "DiskSim ASCII (ms with a fraction, 512 B blocks)",
    source: "DiskSim 4.0 reference manual, section 5.1",
    parameters: &[],
    role: FormatRules { encoder: Some(|| Box::new(DiskSimEncoder)), ..FormatRules::lines::<DiskSim>() },
};

const BLOCK: u64 = 512;
const READ: u64 = 1;

#[derive(Default)]
struct DiskSim;

impl LineFormat for DiskSim {
    /// Requires that times in the first column have a fraction; whole numbers indicate MQSim.
    fn may_begin(head: &[u8]) -> bool {
        let fraction = |line: &[u8]| Blanks::new(line).next().is_some_and(|column| column.contains(&b'.'));
        head.split(|&byte| byte == b'\n').take(64).any(fraction)
    }

    #[inline]
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let mut fields = Blanks::new(line);
        let time_ns = fields.decimal("arrival", 6)?;
        let device = fields.number("devno")?;
        let offset = fields.scaled("blkno", BLOCK)?;
        let bytes = fields.scaled("bcount", BLOCK)?;
        let text = fields.text("flags")?;
        let digits = text.strip_prefix(b"0x").unwrap_or(text);
        let flags = std::str::from_utf8(digits).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let flags = flags.ok_or(Fault::new("flags", text, "is not a hexadecimal number"))?;
        fields.end()?;
        let op = if flags & READ != 0 { Op::Read } else { Op::Write };
        let device = Device::Id(tables.devices.number(device));
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: 0, stream: Stream::None }))
    }
}

/// Writes DiskSim traces. The device number is always 0; times are in milliseconds with six decimals.
struct DiskSimEncoder;

impl Encoder for DiskSimEncoder {
    fn supported(&self) -> Supported {
        Supported { sector: BLOCK, whole_sectors: true, ..Supported::TRANSFERS }
    }

    fn encode(&mut self, item: &Item<'_>, out: &mut Vec<u8>) {
        let (ms, ns) = (item.time / 1_000_000, item.time % 1_000_000);
        let flags = if item.op == Op::Read { READ } else { 0 };
        let (block, count) = (item.offset / BLOCK, item.bytes / BLOCK);
        put(out, format_args!("{ms}.{ns:06} 0 {block} {count} {flags}\n"));
    }
}

#[cfg(test)]
mod tests {
    use crate::Op;
    use crate::testing::{detect, read, request};

    #[test]
    fn milliseconds_tabs_and_the_read_bit() {
        let (requests, _) = read("disksim", "0.000000\t0\t4536800\t8\t1\n1.5 0  8 16 0\n2.25 0 0 8 1b\n");
        let expected = [
            request(0, Op::Read, 4536800 * 512, 4096),
            request(1_500_000, Op::Write, 4096, 8192),
            request(2_250_000, Op::Read, 0, 4096),
        ];
        assert_eq!(requests, expected);
    }

    #[test]
    fn a_fractional_first_column_distinguishes_it_from_mqsim() {
        assert_eq!(detect("0.0 0 8 8 1\n1.5 0 8 8 0\n").unwrap(), "disksim");
        assert_eq!(detect("0 0 8 8 1\n1500 0 8 8 0\n").unwrap(), "mqsim");
        assert_eq!(detect("0 0 8 8 1\n1500.25 0 8 8 0\n").unwrap(), "disksim");
    }
}
