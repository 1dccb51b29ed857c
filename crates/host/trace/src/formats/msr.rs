//! MSR Cambridge CSV: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Timestamp and response time are FILETIME: units of 100 ns since 1601. These numbers exceed 2^53, so a 64-bit float
//! cannot represent them exactly. Offset and size are in bytes; the type is `Read` or `Write`. No header. A device is
//! `host.disk`. Times are mostly in ascending order. Source: SNIA IOTTA, Narayanan et al., FAST 2008.
//!
//! `128166372003061629,hm,0,Write,7014912,4096,26`

use super::{Device, Encoder, Entry, Fault, FormatInfo, FormatRules, Io, Item, LineFormat, Stream, Supported, Tables};
use crate::Op;
use crate::encode::put;
use crate::fields::{Commas, decimal, whole};

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "msr",
    help: "MSR Cambridge CSV (FILETIME, bytes)",
    source: "Narayanan et al., FAST 2008",
    parameters: &[],
    role: FormatRules { encoder: Some(|| Box::new(MsrEncoder)), ..FormatRules::lines::<Msr>() },
};

const TICK_NS: u64 = 100;

/// Parser of MSR Cambridge traces. Caches the last device, because a file usually has only one device.
#[derive(Default)]
struct Msr {
    host: Vec<u8>,
    disk: Vec<u8>,
    device: u32,
}

impl LineFormat for Msr {
    const HEADER: &'static [u8] = b"Timestamp,Hostname";
    const HEADER_START: &'static [u8] = b"Timestamp";
    // The column layout has no column for the host, because a file has only one host.
    const LAYOUT: &'static str = "time=0:100ns,device=2,op=3,offset=4,size=5";

    fn separator(&self) -> Option<u8> {
        Some(b',')
    }

    #[inline]
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let mut fields = Commas::new(line);
        let time_ns = fields.scaled("Timestamp", TICK_NS)?;
        let host = fields.text("Hostname")?;
        let disk = fields.text("DiskNumber")?;
        let word = fields.text("Type")?;
        let offset = fields.number("Offset")?;
        let bytes = fields.number("Size")?;
        // The response time is not used. Some copies of the traces omit it.
        if let Some(response) = fields.next() {
            if !response.is_empty() {
                let digits = response.strip_prefix(b"-").unwrap_or(response);
                decimal(digits, 0).map_err(Fault::of("ResponseTime", response))?;
            }
            fields.end()?;
        }
        let Some(op) = Op::transfer(word) else { return Ok(Entry::unknown_op("Type", word)) };
        if host != self.host || disk != self.disk {
            whole(disk).map_err(Fault::of("DiskNumber", disk))?;
            self.device = tables.devices.id(&[host, b".", disk].concat());
            self.host = host.to_vec();
            self.disk = disk.to_vec();
        }
        let device = Device::Id(self.device);
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: 0, stream: Stream::None }))
    }
}

/// Writer of MSR Cambridge traces. Uses host `ssdlab`, disk 0, times from 2007-02-22 and response times of 0.
struct MsrEncoder;

const EPOCH_TICKS: u64 = 128_166_372_000_000_000;

impl Encoder for MsrEncoder {
    fn supported(&self) -> Supported {
        Supported { unit_ns: TICK_NS, ..Supported::TRANSFERS }
    }

    fn encode(&mut self, item: &Item<'_>, out: &mut Vec<u8>) {
        let word = if item.op == Op::Read { "Read" } else { "Write" };
        let ticks = EPOCH_TICKS.saturating_add(item.time);
        put(out, format_args!("{ticks},ssdlab,0,{word},{},{},0\n", item.offset, item.bytes));
    }
}

#[cfg(test)]
mod tests {
    use crate::Op;
    use crate::testing::{error, read, request};

    #[test]
    fn filetime_ticks_are_exact_64_bit_numbers() {
        let text = "128166372003061629,hm,0,Read,383496192,32768,413\n128166372016382155,hm,0,Write,2822144,4096,461\n";
        let (requests, report) = read("msr", text);
        let second = (128166372016382155 - 128166372003061629) * 100;
        assert_eq!(requests, [request(0, Op::Read, 383496192, 32768), request(second, Op::Write, 2822144, 4096)]);
        assert_eq!(report.device.as_deref(), Some("hm.0"));
    }

    #[test]
    fn disks_of_one_host_are_different_devices() {
        let text = "10,hm,0,Read,0,512,1\n11,hm,1,Read,0,512,1\n12,hm,0,Read,512,512,1\n13,prn,0,Read,0,512,1\n14,hm,1,Read,0,512,1\n";
        let (requests, report) = read("msr", text);
        assert_eq!(requests.len(), 2);
        assert_eq!(report.other_devices, [("hm.1".into(), 2), ("prn.0".into(), 1)]);
        let [note] = &report.notes[..] else { panic!("{:?}", report.notes) };
        assert!(
            note.starts_with("only device hm.0 is replayed; 2 other devices have 3 requests (hm.1, prn.0)"),
            "{note}"
        );
    }

    #[test]
    fn an_error_names_line_and_field() {
        let message = error("msr", "10,hm,0,Read,0,512,1\n11,hm,0,Read,0,40x6,1\n");
        assert_eq!(message, "memory:2: field \"Size\": \"40x6\" is not a whole number; fix it or pass --skip-bad");
        let message = error("msr", "10,hm,0,Read\n");
        assert_eq!(message, "memory:1: field \"Offset\" is missing; fix it or pass --skip-bad");
        assert!(
            error("msr", "999999999999999999,hm,0,Read,0,512,1\n")
                .contains("exceeds 64 bits when converted from this format's unit")
        );
    }

    #[test]
    fn a_disk_number_is_a_whole_number() {
        for (disk, why) in [("-1", "is negative"), ("NaN", "is not a whole number")] {
            let message = error("msr", &format!("10,hm,0,Read,0,512,1\n11,hm,{disk},Read,0,512,1\n"));
            assert_eq!(message, format!("memory:2: field \"DiskNumber\": \"{disk}\" {why}; fix it or pass --skip-bad"));
        }
    }

    #[test]
    fn an_unknown_type_is_counted() {
        let (requests, report) = read("msr", "10,hm,0,Read,0,512,1\n11,hm,0,Erase,0,512,1\n");
        assert_eq!((requests.len(), report.counts.unknown_op), (1, 1));
    }
}
