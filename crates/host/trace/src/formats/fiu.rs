//! FIU (IODedup, SRCMap): `ts pid process lba size op major minor md5`, separated by blanks.
//!
//! Time in ns; LBA and size in sectors of 512 bytes; operation `R` or `W`. The MD5 hashes, one per 4 KiB (per 512 bytes
//! in the "homes" set), are not used. The process name may hold any character, including blanks, so later columns are
//! located from the right. Source: SNIA IOTTA, Koller and Rangaswami, FAST 2010.
//!
//! `89966034855846 4892 syslogd 904265560 8 W 6 0 b14a9b5c5d4a0bd9d8b3c2dd4a6d5f0b`

use super::{Device, Entry, Fault, FormatInfo, FormatRules, Io, LineFormat, SECTOR, Stream, Tables};
use crate::Op;
use crate::fields::{Blanks, whole};

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "fiu",
    help: "FIU IODedup text (ns, sectors, process, MD5)",
    source: "Koller and Rangaswami, FAST 2010",
    parameters: &[],
    role: FormatRules::lines::<Fiu>(),
};

#[derive(Default)]
struct Fiu;

/// Removes the last field from `rest` and returns the field.
fn last<'a>(rest: &mut &'a [u8], name: &'static str) -> Result<&'a [u8], Fault<'a>> {
    let text = rest.trim_ascii_end();
    let start = text.iter().rposition(|&byte| byte == b' ' || byte == b'\t').map_or(0, |blank| blank + 1);
    *rest = &text[..start];
    if start == text.len() { Err(Fault::missing(name)) } else { Ok(&text[start..]) }
}

/// Removes the last field, a number of units of `unit`, and returns the product.
fn last_number<'a>(rest: &mut &'a [u8], name: &'static str, unit: u64) -> Result<u64, Fault<'a>> {
    let text = last(rest, name)?;
    whole(text).map_err(Fault::of(name, text))?.checked_mul(unit).ok_or(Fault::overflow(name, text))
}

/// Fails if the text taken as the process name contains the columns `lba size op major minor`, because the line then
/// holds more than one record.
fn alone(process: &[u8]) -> Result<(), Fault<'_>> {
    let process = process.trim_ascii();
    if !process.iter().any(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let words: Vec<&[u8]> = process.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let is_record =
        |five: &&[&[u8]]| Op::transfer(five[2]).is_some() && [0, 1, 3, 4].into_iter().all(|at| whole(five[at]).is_ok());
    match words.windows(5).find(is_record) {
        Some(_) => Err(Fault::new("process", process, "contains a second record")),
        None => Ok(()),
    }
}

impl LineFormat for Fiu {
    #[inline]
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let mut fields = Blanks::new(line);
        let time_ns = fields.number("ts")?;
        let pid = fields.number("pid")?;
        let mut rest = fields.rest().ok_or(Fault::missing("process"))?;
        last(&mut rest, "md5")?;
        let minor = last_number(&mut rest, "minor", 1)?;
        let major = last_number(&mut rest, "major", 1)?;
        let word = last(&mut rest, "op")?;
        let bytes = last_number(&mut rest, "size", SECTOR)?;
        let offset = last_number(&mut rest, "lba", SECTOR)?;
        alone(rest)?;
        let Some(op) = Op::transfer(word) else { return Ok(Entry::unknown_op("op", word)) };
        let device = Device::Id(tables.devices.device_number(major, minor));
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: 0, stream: Stream::Number(pid) }))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{read, request, streams_of};
    use crate::{Op, Request};

    const MD5: &str = "b14a9b5c5d4a0bd9d8b3c2dd4a6d5f0b";

    #[test]
    fn nanoseconds_sectors_and_pid() {
        let text =
            format!("89966034855846 4892 syslogd 904265560 8 W 6 0 {MD5}\n89966034855900 0 swapper 8 16 R 6 0 {MD5}\n");
        let (requests, report) = read("fiu", &text);
        let first = Request { stream: 1, ..request(0, Op::Write, 904265560 * 512, 4096) };
        assert_eq!(requests, [first, request(54, Op::Read, 4096, 8192)]);
        assert_eq!(report.device.as_deref(), Some("6,0"));
        assert_eq!(streams_of("fiu", &text), ["", "4892"]);
    }

    #[test]
    fn process_names_may_hold_any_character() {
        for process in ["kworker/0:1", "a,b", "gnome terminal 2", "\u{e9}t\u{e9}", "[(null)]"] {
            let (requests, _) = read("fiu", &format!("1 2 {process} 8 8 R 6 0 {MD5}\n"));
            assert_eq!((requests[0].offset, requests[0].bytes), (4096, 4096), "{process}");
        }
    }
}
