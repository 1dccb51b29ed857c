//! Alibaba block traces 2020: `device_id,opcode,offset,length,timestamp`.
//!
//! Opcode `R` or `W`; offset and length in bytes; Unix time in microseconds. No header. Hundreds of devices are
//! interleaved, so select one. Source: github.com/alibaba/block-traces, Li et al., IISWC 2020.
//!
//! `0,R,126703644672,4096,1577808000000626`

use super::{Device, Encoder, Entry, Fault, FormatInfo, FormatRules, Io, Item, LineFormat, Stream, Supported, Tables};
use crate::Op;
use crate::encode::put;
use crate::fields::Commas;

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "alibaba",
    help: "Alibaba block traces 2020 CSV (device, bytes, us)",
    source: "Li et al., IISWC 2020",
    parameters: &[],
    role: FormatRules { encoder: Some(|| Box::new(AlibabaEncoder)), ..FormatRules::lines::<Alibaba>() },
};

#[derive(Default)]
struct Alibaba;

impl LineFormat for Alibaba {
    const HEADER: &'static [u8] = b"device_id,opcode";
    const HEADER_START: &'static [u8] = b"device_id";
    const LAYOUT: &'static str = "device=0,op=1,offset=2,size=3,time=4:us";

    #[inline]
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let mut fields = Commas::new(line);
        let device = fields.number("device_id")?;
        let word = fields.text("opcode")?;
        let offset = fields.number("offset")?;
        let bytes = fields.number("length")?;
        let time_ns = fields.scaled("timestamp", 1000)?;
        fields.end()?;
        let Some(op) = Op::transfer(word) else { return Ok(Entry::unknown_op("opcode", word)) };
        let device = Device::Id(tables.devices.number(device));
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: 0, stream: Stream::None }))
    }
}

/// Writer of Alibaba traces. Uses device 0 and times since 1970.
struct AlibabaEncoder;

impl Encoder for AlibabaEncoder {
    fn supported(&self) -> Supported {
        Supported { unit_ns: 1000, ..Supported::TRANSFERS }
    }

    fn encode(&mut self, item: &Item<'_>, out: &mut Vec<u8>) {
        let letter = if item.op == Op::Read { 'R' } else { 'W' };
        put(out, format_args!("0,{letter},{},{},{}\n", item.offset, item.bytes, item.time));
    }
}

#[cfg(test)]
mod tests {
    use crate::Op;
    use crate::testing::{read, read_device, request};

    const ROWS: &str =
        "0,R,126703644672,4096,1577808000000626\n3,W,8192,8192,1577808000000700\n0,W,0,512,1577808000001626\n";

    #[test]
    fn bytes_and_microseconds() {
        let (requests, _) = read("alibaba", ROWS);
        assert_eq!(requests, [request(0, Op::Read, 126703644672, 4096), request(1_000_000, Op::Write, 0, 512)]);
    }

    #[test]
    fn interleaved_devices_are_selected_by_name() {
        let (requests, report) = read_device("alibaba", ROWS, "3").unwrap();
        assert_eq!(requests, [request(0, Op::Write, 8192, 8192)]);
        assert_eq!(report.other_devices, [("0".into(), 2)]);
        let error = read_device("alibaba", ROWS, "7").unwrap_err().to_string();
        assert_eq!(error, "device \"7\" is not in the trace; its devices are 0, 3");
    }
}
