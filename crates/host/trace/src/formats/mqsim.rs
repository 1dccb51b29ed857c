//! MQSim ASCII and the identical SSDsim format: `arrival device start_sector sectors type`, separated by blanks.
//!
//! Time in ns (MQSim's XML may select another unit; only the default, ns, is read here); sectors of 512 bytes; type 0 =
//! write and 1 = read (the reverse of most formats). Several devices are interleaved; MQSim itself replays all devices
//! on one drive; `--device overlay` does the same. Source: github.com/CMU-SAFARI/MQSim. SSDsim's `time device lsn size
//! operation` has the same columns and codes.
//!
//! `938513000 4 264719034 16 0`

use super::{
    Device, Encoder, Entry, Fault, FormatInfo, FormatRules, Io, Item, LineFormat, SECTOR, Stream, Supported, Tables,
};
use crate::Op;
use crate::encode::put;
use crate::fields::Blanks;

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "mqsim",
    help: "MQSim ASCII (ns, sectors, 0 = write)",
    source: "github.com/CMU-SAFARI/MQSim",
    parameters: &[],
    role: FormatRules { encoder: Some(|| Box::new(MqSimEncoder)), ..FormatRules::lines::<MqSim>() },
};

pub(crate) static SSDSIM: FormatInfo = FormatInfo {
    name: "ssdsim",
    help: "SSDsim ASCII; same as MQSim",
    source: "",
    parameters: &[],
    role: FormatRules { encoder: Some(|| Box::new(MqSimEncoder)), ..FormatRules::lines::<MqSim>() },
};

#[derive(Default)]
struct MqSim;

impl LineFormat for MqSim {
    #[inline]
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let mut fields = Blanks::new(line);
        let time_ns = fields.number("arrival")?;
        let device = fields.number("device")?;
        let offset = fields.scaled("start_sector", SECTOR)?;
        let bytes = fields.scaled("sectors", SECTOR)?;
        let kind = fields.number("type")?;
        fields.end()?;
        let op = match kind {
            0 => Op::Write,
            1 => Op::Read,
            _ => return Ok(Entry::unknown_op("type", b"")),
        };
        let device = Device::Id(tables.devices.number(device));
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: 0, stream: Stream::None }))
    }
}

/// Writer of MQSim traces. Uses device 0.
struct MqSimEncoder;

impl Encoder for MqSimEncoder {
    fn supported(&self) -> Supported {
        Supported { sector: SECTOR, whole_sectors: true, ..Supported::TRANSFERS }
    }

    fn encode(&mut self, item: &Item<'_>, out: &mut Vec<u8>) {
        let code = u8::from(item.op == Op::Read);
        put(out, format_args!("{} 0 {} {} {code}\n", item.time, item.offset / SECTOR, item.bytes / SECTOR));
    }
}

#[cfg(test)]
mod tests {
    use crate::Op;
    use crate::testing::{error, read, request};

    #[test]
    fn zero_writes_and_one_reads() {
        for format in ["mqsim", "ssdsim"] {
            let (requests, report) =
                read(format, "938513000 4 264719034 16 0\n938828000 3 197570570 16 0\n938944000 4 0 32 1\n");
            assert_eq!(requests, [request(0, Op::Write, 264719034 * 512, 8192), request(431_000, Op::Read, 0, 16384)]);
            assert_eq!((report.device.as_deref(), report.counts.other_device), (Some("4"), 1));
        }
    }

    #[test]
    fn a_sixth_column_is_another_format() {
        assert!(error("mqsim", "1 0 0 8 1 7\n").contains("\"7\" follows the last column"));
    }
}
