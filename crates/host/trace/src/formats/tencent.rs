//! Tencent CBS: `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! Times are whole Unix seconds; the requests of each second are spread over that second in file order (see
//! [`crate::spread`]). Offset and size are in sectors of 512 bytes; the type is 0 for read, 1 for write. Thousands of
//! volumes are interleaved. Source: SNIA IOTTA, Zhang et al., ATC 2020.
//!
//! `1538323199,105352008,584,1,1576`

use super::{Device, Entry, Fault, FormatInfo, FormatRules, Io, LineFormat, SECTOR, Stream, Tables};
use crate::Op;
use crate::fields::Commas;

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "tencent",
    help: "Tencent CBS CSV (whole seconds, sectors, volume)",
    source: "Zhang et al., ATC 2020",
    parameters: &[],
    role: FormatRules { whole_seconds: true, ..FormatRules::lines::<Tencent>() },
};

#[derive(Default)]
struct Tencent;

impl LineFormat for Tencent {
    const HEADER: &'static [u8] = b"Timestamp,Offset";
    const HEADER_START: &'static [u8] = b"Timestamp";

    #[inline]
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let mut fields = Commas::new(line);
        let time_ns = fields.scaled("Timestamp", 1_000_000_000)?;
        let offset = fields.scaled("Offset", SECTOR)?;
        let bytes = fields.scaled("Size", SECTOR)?;
        let kind = fields.number("IOType")?;
        let volume = fields.number("VolumeID")?;
        fields.end()?;
        let op = match kind {
            0 => Op::Read,
            1 => Op::Write,
            _ => return Ok(Entry::unknown_op("IOType", b"")),
        };
        let device = Device::Id(tables.devices.number(volume));
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: 0, stream: Stream::None }))
    }
}

#[cfg(test)]
mod tests {
    use crate::Op;
    use crate::testing::{read, request};

    #[test]
    fn sectors_and_seconds_spread_in_file_order() {
        let text =
            "1538323199,105352008,584,1,1576\n1538323199,8,8,0,1576\n1538323199,0,8,0,9\n1538323200,0,8,0,1576\n";
        let (requests, report) = read("tencent", text);
        let expected = [
            request(0, Op::Write, 105352008 * 512, 584 * 512),
            request(500_000_000, Op::Read, 4096, 4096),
            request(1_000_000_000, Op::Read, 0, 4096),
        ];
        assert_eq!(requests, expected);
        assert_eq!(report.counts.other_device, 1);
    }
}
