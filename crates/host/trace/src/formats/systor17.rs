//! SYSTOR'17 (VDI storage): `Timestamp,Response,IOType,LUN,Offset,Size`, with that header line.
//!
//! Times are Unix seconds with nine decimals (actual resolution: microseconds; recorded in Japan). Offset and size are
//! in bytes. The type is `R`, `W` or blank; requests with a blank type are counted as unknown. LUNs are 0 to 4 and 6.
//! The trace has one file per hour. Some requests are missing between files, and the requests are not sorted by time.
//! Pass all files; they are merged. Source: SNIA IOTTA, Lee et al., SYSTOR 2017.
//!
//! `1455592800.002345000,0.001232,R,0,1234567168,4096`

use super::{Device, Entry, Fault, FormatInfo, FormatRules, Io, LineFormat, Stream, Tables};
use crate::Op;
use crate::fields::{Commas, decimal};

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "systor17",
    help: "SYSTOR'17 VDI storage CSV (seconds, LUN, bytes)",
    source: "Lee et al., SYSTOR 2017",
    parameters: &[],
    role: FormatRules::lines::<Systor17>(),
};

#[derive(Default)]
struct Systor17;

impl LineFormat for Systor17 {
    const HEADER: &'static [u8] = b"Timestamp,Response";
    const HEADER_START: &'static [u8] = b"Timestamp";
    const LAYOUT: &'static str = "time=0:s,op=2,device=3,offset=4,size=5";

    #[inline]
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let mut fields = Commas::new(line);
        let time_ns = fields.decimal("Timestamp", 9)?;
        let response = fields.next().ok_or(Fault::missing("Response"))?;
        if !response.is_empty() {
            decimal(response, 9).map_err(Fault::of("Response", response))?;
        }
        let word = fields.next().ok_or(Fault::missing("IOType"))?;
        let lun = fields.number("LUN")?;
        let offset = fields.number("Offset")?;
        let bytes = fields.number("Size")?;
        fields.end()?;
        let Some(op) = Op::transfer(word) else { return Ok(Entry::unknown_op("IOType", word)) };
        let device = Device::Id(tables.devices.number(lun));
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: 0, stream: Stream::None }))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{read, read_files, request};
    use crate::{Files, Op};

    const HEADER: &str = "Timestamp,Response,IOType,LUN,Offset,Size\n";

    #[test]
    fn header_blank_types_and_nine_digits() {
        let text = format!(
            "{HEADER}1455592800.000001000,0.001,R,0,4096,512\n1455592800.000002000,0.001,,0,0,0\n1455592801.000001000,,W,0,0,4096\n"
        );
        let (requests, report) = read("systor17", &text);
        assert_eq!(requests, [request(0, Op::Read, 4096, 512), request(1_000_000_000, Op::Write, 0, 4096)]);
        assert_eq!((report.counts.headers, report.counts.unknown_op), (1, 1));
    }

    #[test]
    fn hourly_files_are_merged_by_time() {
        let hour = |rows: &[(&str, u32)]| {
            let rows: String = rows.iter().map(|(time, offset)| format!("{time},0,R,0,{offset},512\n")).collect();
            format!("{HEADER}{rows}")
        };
        let later = hour(&[("3600.5", 3), ("3601.0", 4)]);
        let earlier = hour(&[("3599.0", 1), ("3599.5", 2), ("3602.0", 5)]);
        let (requests, report) = read_files("systor17", Files::Merged, "0", &[&later, &earlier]);
        assert_eq!(requests.iter().map(|r| r.offset).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert_eq!(report.counts.out_of_order, 0);
    }
}
