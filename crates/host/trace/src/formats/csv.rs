//! `ssdlab-csv`, the text format of ssdlab: `time_ns,op,sector,bytes,flags,pid`, with these headings as the first line.
//!
//! - Time in ns; sector of 512 bytes; size in bytes.
//! - Operation: `R`, `W`, `D` (discard) or `F` (flush).
//! - Flags: blktrace's category mask in hexadecimal ([`super::category`]); optional.
//! - Pid: any name without a comma; empty for none; optional.
//!
//! This is the only text format that keeps every field of a [`crate::Request`]. Offsets must be whole sectors; the
//! writer widens other requests and counts them. If the last line has no line end and fewer fields than the line before
//! it, the file is truncated.
//!
//! `468101,W,9884656,16384,0x1a,3950`

use super::category;
use super::{
    Device, Encoder, Entry, Fault, FormatInfo, FormatRules, Io, Item, LineFormat, SECTOR, Stream, Supported, Tables,
};
use crate::Op;
use crate::encode::put;
use crate::fields::{Commas, hexadecimal, whole};

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "ssdlab-csv",
    help: "CSV with columns time_ns,op,sector,bytes,flags,pid; stores every field of a request",
    source: "",
    parameters: &[],
    role: FormatRules { encoder: Some(|| Box::new(CsvEncoder)), ..FormatRules::lines::<Csv>() },
};

/// Letters of the operations, in the order of [`Op::ALL`].
const LETTERS: &[u8; 4] = b"RWDF";
const HEADER: &str = "time_ns,op,sector,bytes,flags,pid";

#[derive(Default)]
struct Csv;

impl LineFormat for Csv {
    const HEADER: &'static [u8] = b"time_ns,op,sector,bytes";
    const LAYOUT: &'static str = "time=0,op=1,offset=2:sectors,size=3,stream=5";

    fn separator(&self) -> Option<u8> {
        Some(b',')
    }

    #[inline]
    fn line<'a>(&mut self, line: &'a [u8], _: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let mut fields = Commas::new(line);
        let time_ns = fields.number("time_ns")?;
        let word = fields.text("op")?;
        let op = LETTERS.iter().position(|letter| word == [*letter]).map(|at| Op::ALL[at]);
        let offset = fields.scaled("sector", SECTOR)?;
        let bytes = fields.number("bytes")?;
        let flags = match fields.next() {
            None | Some(b"") => 0,
            // A single digit may lack the prefix `0x`, because it has the same value in decimal and hexadecimal. It
            // must be followed by a pid field; otherwise the line could belong to an Alibaba trace.
            Some([digit @ b'0'..=b'9']) if fields.rest().is_some() => u64::from(digit - b'0'),
            Some(text) => hexadecimal(text).map_err(Fault::of("flags", text))?,
        };
        let stream = match fields.next() {
            None | Some(b"") => Stream::None,
            Some(text) => match whole(text) {
                Ok(pid) if text[0] != b'0' || text.len() == 1 => Stream::Number(pid),
                _ => Stream::Named(text),
            },
        };
        fields.end()?;
        let Some(op) = op else { return Ok(Entry::unknown_op("op", word)) };
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device: Device::File, flags: category::flags(flags), stream }))
    }
}

struct CsvEncoder;

/// True if a process name fits in a field and will not be read back as "no process".
fn plain(name: &str) -> bool {
    name != "0" && name.trim_ascii() == name && !name.contains([',', '\n', '\r'])
}

impl Encoder for CsvEncoder {
    fn supported(&self) -> Supported {
        Supported { ops: &Op::ALL, sector: SECTOR, flags: true, stream: plain, ..Supported::TRANSFERS }
    }

    fn start(&mut self, out: &mut Vec<u8>) {
        put(out, format_args!("{HEADER}\n"));
    }

    fn encode(&mut self, item: &Item<'_>, out: &mut Vec<u8>) {
        let letter = char::from(LETTERS[item.op as usize]);
        let mask = category::of(item.op, item.flags);
        let sector = item.offset / SECTOR;
        put(out, format_args!("{},{letter},{sector},{},{mask:#x},{}\n", item.time, item.bytes, item.stream));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{detect, error, read, request, streams_of};
    use crate::{Op, Request, flag};

    #[test]
    fn every_op_flag_and_pid() {
        let text = "time_ns,op,sector,bytes,flags,pid\n\
                    0,R,42714672,4096,0x811,2979\n\
                    10,W,8,4096,0x901e,3889\n\
                    20,F,0,0,0x1e,2979\n\
                    30,D,16,1048576,0x2002,0\n\
                    40,W,0,512,,\n50,R,0,512\n";
        let (requests, report) = read("ssdlab-csv", text);
        let with = |flags, stream, request| Request { flags, stream, ..request };
        let expected = [
            with(flag::AHEAD, 1, request(0, Op::Read, 42714672 * 512, 4096)),
            with(flag::FUA | flag::META | flag::SYNC | flag::PREFLUSH, 2, request(10, Op::Write, 4096, 4096)),
            with(flag::SYNC | flag::PREFLUSH, 1, request(20, Op::Flush, 0, 0)),
            request(30, Op::Trim, 8192, 1 << 20),
            request(40, Op::Write, 0, 512),
            request(50, Op::Read, 0, 512),
        ];
        assert_eq!(requests, expected);
        assert_eq!((report.counts.headers, report.counts.records), (1, 7));
        assert_eq!(streams_of("ssdlab-csv", text), ["", "2979", "3889"]);
    }

    #[test]
    fn comments_are_skipped_and_do_not_hide_the_format() {
        let rows = "0,R,0,512,0x11,7\n";
        let bare = read("ssdlab-csv", rows).0;
        for comments in ["# made\n", "# made by me on Monday\n", "#\n# made in 2024, by me\n"] {
            for header in ["", "time_ns,op,sector,bytes,flags,pid\n"] {
                let text = format!("{comments}{header}{rows}{comments}");
                assert_eq!(detect(&text).unwrap(), "ssdlab-csv", "{text}");
                assert_eq!(read("ssdlab-csv", &text).0, bare, "{text}");
            }
        }
        assert!(detect("# made by hand\nhello\n").is_err());
    }

    #[test]
    fn flags_are_hexadecimal_and_columns_six() {
        assert_eq!(
            read("ssdlab-csv", "0,W,0,512,8,7\n1,R,0,512,0,\n").0,
            read("ssdlab-csv", "0,W,0,512,0x8,7\n1,R,0,512,0x0,\n").0
        );
        assert!(error("ssdlab-csv", "0,R,0,512,17,1\n").contains("field \"flags\": \"17\" does not start with 0x"));
        assert!(error("ssdlab-csv", "0,R,0,512,0x1,1,9\n").contains("follows the last column"));
    }
}
