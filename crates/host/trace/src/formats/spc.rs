//! SPC-1 / UMass (Financial, WebSearch): `ASU,LBA,Size,Opcode,Timestamp[,...]`.
//!
//! The LBA counts blocks of 512 bytes; the size is in bytes (not always whole blocks); the opcode is `r` or `w` in
//! either case; the time is in seconds with a fraction. LBAs are relative to the ASU, so each ASU is a device. Source:
//! UMass Trace Repository, "SPC trace file format specification" 1.0.1.
//!
//! `0,20941264,8192,W,0.551706`

use super::{Device, Encoder, Entry, Fault, FormatInfo, FormatRules, Io, Item, LineFormat, Stream, Supported, Tables};
use crate::Op;
use crate::encode::put;
use crate::fields::Commas;

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "spc",
    help: "SPC-1 / UMass Financial and WebSearch (ASU, 512 B blocks, seconds)",
    source: "SPC trace file format specification 1.0.1",
    parameters: &[],
    role: FormatRules { encoder: Some(|| Box::new(SpcEncoder)), ..FormatRules::lines::<Spc>() },
};

const BLOCK: u64 = 512;

#[derive(Default)]
struct Spc;

impl LineFormat for Spc {
    const LAYOUT: &'static str = "device=0,offset=1:sectors,size=2,op=3,time=4:s";

    #[inline]
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let mut fields = Commas::new(line);
        let asu = fields.number("ASU")?;
        let offset = fields.scaled("LBA", BLOCK)?;
        let bytes = fields.number("Size")?;
        let word = fields.text("Opcode")?;
        let time_ns = fields.decimal("Timestamp", 9)?;
        // The specification allows additional fields of any type. But if an additional field is an opcode, the line
        // contains a second record.
        while let Some(more) = fields.next() {
            if Op::transfer(more).is_some() {
                return Err(Fault::new("", more, "is the opcode of a second record on this line"));
            }
        }
        let Some(op) = Op::transfer(word) else { return Ok(Entry::unknown_op("Opcode", word)) };
        let device = Device::Id(tables.devices.number(asu));
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: 0, stream: Stream::None }))
    }
}

/// Writer of SPC traces. Writes ASU 0, and times in seconds with nine decimals.
struct SpcEncoder;

impl Encoder for SpcEncoder {
    fn supported(&self) -> Supported {
        Supported { sector: BLOCK, ..Supported::TRANSFERS }
    }

    fn encode(&mut self, item: &Item<'_>, out: &mut Vec<u8>) {
        let letter = if item.op == Op::Read { 'r' } else { 'w' };
        let (seconds, ns) = (item.time / 1_000_000_000, item.time % 1_000_000_000);
        put(out, format_args!("0,{},{},{letter},{seconds}.{ns:09}\n", item.offset / BLOCK, item.bytes));
    }
}

#[cfg(test)]
mod tests {
    use crate::Op;
    use crate::testing::{read, read_all, request};

    #[test]
    fn blocks_bytes_and_seconds() {
        let (requests, _) = read("spc", "0,303567,3584,w,0.000000\n0,303574,3584,R,0.026214\n");
        assert_eq!(
            requests,
            [request(0, Op::Write, 303567 * 512, 3584), request(26_214_000, Op::Read, 303574 * 512, 3584)]
        );
    }

    #[test]
    fn partial_blocks_and_further_fields_are_allowed() {
        let (requests, _) = read("spc", "0,1,1000,r,0.5,1,2\n");
        assert_eq!(requests, [request(0, Op::Read, 512, 1000)]);
    }

    #[test]
    fn each_asu_has_its_own_addresses() {
        let text = "0,8,4096,r,0.0\n1,0,4096,w,0.1\n0,0,4096,r,0.2\n";
        let (requests, report) = read("spc", text);
        assert_eq!((requests.len(), report.counts.other_device), (2, 1));
        let (requests, _) = read_all("spc", text);
        assert_eq!(requests.iter().map(|r| r.offset).collect::<Vec<_>>(), [4096, 1 << 20, 0]);
    }
}
