//! All trace formats, one file each, and their registration table.
//!
//! To add a format, write a file that begins with its columns, units, source and a sample line, implements
//! [`LineFormat`] or [`RecordFormat`], and defines a [`FormatInfo`]. Then add a line to [`FORMATS`].

mod alibaba;
mod blkparse;
mod blktrace;
mod category;
pub(crate) mod columns;
pub(crate) mod csv;
mod disksim;
mod etw;
mod fio;
mod fiu;
mod ftrace;
mod mqsim;
mod msr;
mod objects;
mod spc;
mod systor17;
mod tencent;
pub(crate) mod volume;
mod vscsi;

use std::path::Path;

use ssdlab_core::suggest::{list, nearest};
use ssdlab_core::{Info, Registry};

use crate::column_layout::EXAMPLE;
pub use crate::decode::{Decoder, LineFormat, RecordFormat, decode_lines, decode_records, sniff_lines};
use crate::decode::{Lines, NearMiss, without_mark};
pub use crate::encode::{Encoder, Item, Supported};
use crate::error::shown;
pub use crate::fault::Fault;
pub use crate::intake::{Device, Entry, Io, Skip, Stream, Tables};
pub(crate) use crate::request::SECTOR;
use crate::{ReadOptions, TraceError};

/// Maximum length of a file heading quoted in a message, in bytes.
const HEADING_SHOWN: usize = 80;

/// All registered trace formats. If several formats fit a file equally well, the first of them in this table is
/// detected.
pub static FORMATS: Registry<FormatRules> = Registry::new(
    "trace format",
    &[
        &csv::INFO,
        &volume::INFO,
        &msr::INFO,
        &spc::INFO,
        &systor17::INFO,
        &alibaba::INFO,
        &tencent::INFO,
        &vscsi::VSCSI1,
        &vscsi::VSCSI2,
        &fiu::INFO,
        &blkparse::INFO,
        &blktrace::INFO,
        &fio::FIO2,
        &fio::FIO3,
        &mqsim::INFO,
        &disksim::INFO,
        &mqsim::SSDSIM,
        &objects::ORACLE_GENERAL,
        &objects::LCS,
        &objects::CACHE_CSV,
        &ftrace::INFO,
        &etw::INFO,
        &columns::INFO,
    ],
);

/// A registered trace format.
pub type FormatInfo = Info<FormatRules>;
/// The trace format that was chosen or detected.
pub type Format = &'static FormatInfo;

/// Returns how well the first bytes of a file fit a format, in percent.
pub type Sniff = &'static (dyn Fn(&[u8]) -> u32 + Send + Sync);

/// Creates a decoder at the start of a file.
pub type NewDecoder = &'static (dyn Fn(&ReadOptions) -> Box<dyn Decoder> + Send + Sync);

/// Detection, reading and writing of a trace format.
pub struct FormatRules {
    /// Returns how well the first bytes of a file fit the format, in percent.
    pub sniff: Sniff,
    /// Returns the first fault of a file that nearly fits the format; `None` if the file does not resemble the format.
    pub near: fn(&[u8]) -> Option<NearMiss>,
    /// Creates a decoder at the start of a file.
    pub decoder: NewDecoder,
    /// Creates an encoder; `None` if [`crate::open_writer`] does not support the format.
    pub encoder: Option<fn() -> Box<dyn Encoder>>,
    /// True if the requests address objects of a cache, which have no address on a drive.
    pub objects: bool,
    /// True if timestamps are whole seconds. The requests of each second are then spread evenly over the second.
    pub whole_seconds: bool,
    /// True if the trace has several events per request. [`ReadOptions::action`] then chooses the event to read.
    pub actions: bool,
    /// True if a recording consists of one file per CPU.
    pub parts: bool,
}

impl FormatRules {
    /// Returns the [`FormatRules`] of a text format that is read but never written.
    pub const fn lines<F: LineFormat + Default>() -> Self {
        Self::new(&F::sniff, Lines::<F>::near, &|options| decode_lines(F::new(options), options))
    }

    /// Returns the [`FormatRules`] of a binary format that is read but never written.
    pub const fn records<F: RecordFormat + Default>() -> Self {
        Self::new(&F::sniff, |_| None, &|options| decode_records(F::new(options), options))
    }

    /// Returns the [`FormatRules`] of a format that creates its decoders itself and is never written.
    pub const fn decoded(sniff: Sniff, decoder: NewDecoder) -> Self {
        Self::new(sniff, |_| None, decoder)
    }

    const fn new(sniff: Sniff, near: fn(&[u8]) -> Option<NearMiss>, decoder: NewDecoder) -> Self {
        Self { sniff, near, decoder, encoder: None, objects: false, whole_seconds: false, actions: false, parts: false }
    }
}

/// Magic numbers of unsupported compression formats, each with a tool that decompresses such files.
const COMPRESSED: [(&[u8], &str); 3] = [(b"\xFD7zXZ\0", "xz"), (b"BZh", "bzip2"), (b"\x04\x22\x4D\x18", "lz4")];

/// Parses the name of a format; the error for an unknown name suggests the nearest name.
pub fn parse(name: &str) -> Result<Format, TraceError> {
    FORMATS.find(name).ok_or_else(|| {
        let meant = nearest(name, FORMATS.iter().map(|known| known.name));
        let hint = meant.map_or_else(String::new, |meant| format!("did you mean {meant}? "));
        TraceError::Invalid(format!("unknown trace format {name:?}; {hint}known formats: {}", FORMATS.names()))
    })
}

/// Detects the format of a file from its first (decompressed) bytes. `before` is the path and format of an earlier file
/// of the trace; the error message suggests this format.
pub(crate) fn detect(head: &[u8], path: &Path, before: Option<&(String, Format)>) -> Result<Format, TraceError> {
    let scores = FORMATS.iter().map(|&known| ((known.role.sniff)(head), known)).filter(|(score, _)| *score > 0);
    let best = scores.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, format)| format);
    let path = shown(path);
    let first = without_mark(head).split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
    let is_known = |format: Format| first.starts_with(b"#") || (format.role.sniff)(first) > 0;
    if is_heading(first) && !best.is_some_and(is_known) {
        let heading = String::from_utf8_lossy(&first[..first.len().min(HEADING_SHOWN)]);
        return Err(TraceError::Invalid(format!(
            "{path}: the first line, {heading:?}, is not the heading of a known format; describe the columns, for \
             example --columns time=time:us,op=op,offset=offset,size=size"
        )));
    }
    best.ok_or_else(|| {
        let compression = COMPRESSED.iter().find(|(magic, _)| head.starts_with(magic));
        TraceError::Invalid(if let Some((_, tool)) = compression {
            format!(
                "{path}: {tool} compression is not supported; decompress it into a pipe: {tool} -dc FILE | ssdlab ... -"
            )
        } else if let Some((other, format)) = before {
            format!("{path}: no trace format fits; to read it in the format of {other}, pass --format {}", format.name)
        } else if let Some((name, NearMiss { line, why, layout, .. })) = nearest_format(head) {
            let remedy = layout.map_or_else(
                || "fix the lines, or select another format with --format NAME".into(),
                |layout| format!("read it with --columns {layout}"),
            );
            format!("{path}:{line}: {why}; no trace format fits ({name} comes closest); {remedy}")
        } else {
            let names = FORMATS.names();
            format!(
                "{path}: no trace format fits; select one with --format NAME ({names}), or describe text columns, for \
                 example --columns {EXAMPLE}"
            )
        })
    })
}

pub(crate) fn encoder(format: Format) -> Result<Box<dyn Encoder>, TraceError> {
    let encoder = format.role.encoder.ok_or_else(|| {
        let others = list(FORMATS.iter().filter(|known| known.role.encoder.is_some()).map(|known| known.name));
        TraceError::Invalid(format!("format {} can be read but not written; choose one of {others}", format.name))
    })?;
    Ok(encoder())
}

/// Returns the format that the most lines fit if one faulty field per line is ignored, and the first fault that the
/// file has under this format.
fn nearest_format(head: &[u8]) -> Option<(&'static str, NearMiss)> {
    let misses = FORMATS.iter().filter_map(|known| Some((known.name, (known.role.near)(head)?)));
    // If several formats fit equally well, the first format in the table is returned.
    misses.reduce(|best, next| if next.1.share > best.1.share { next } else { best })
}

/// True if a line has only column names and no data: at least three words and no digit.
fn is_heading(line: &[u8]) -> bool {
    let words = line.split(|byte| b",;\t ".contains(byte)).filter(|word| word.iter().any(u8::is_ascii_alphabetic));
    words.count() >= 3
        && line.iter().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_digit() || b" \t".contains(byte))
}

#[cfg(test)]
mod kinds;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::detect;

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        let message = parse("vcsi1").unwrap_err().to_string();
        assert!(
            message.starts_with(
                "unknown trace format \"vcsi1\"; did you mean vscsi1? known formats: ssdlab-csv, ssdlab-volume"
            ),
            "{message}"
        );
        assert_eq!(parse("Oracle_General").unwrap().name, "oracle-general");
        assert!(!parse("parquetry").unwrap_err().to_string().contains("did you mean"));
    }

    /// Goal: a file is not recognized by the positions of its columns alone. Method: reads rows that fit a format below
    /// unknown headings.
    #[test]
    fn unknown_headings_are_an_error_that_shows_columns() {
        for heading in ["time,op,offset,size", "time_ns,op,offset,bytes", "Time\top\tlba", "a;b;c", "time op addr"] {
            for row in ["0,R,0,512\n10,W,8,512\n", "", "x,y,z"] {
                let message = detect(&format!("{heading}\n{row}")).unwrap_err().to_string();
                assert!(
                    message.contains(&format!("the first line, {heading:?}, is not the heading of a known format")),
                    "{message}"
                );
                assert!(message.contains("--columns time=time:us,op=op,offset=offset,size=size"), "{message}");
            }
        }
        assert_eq!(detect("time_ns,op,sector,bytes\n0,R,0,512\n").unwrap(), "ssdlab-csv");
    }

    /// Every text format is detected from a sample row that its source documents.
    #[test]
    fn every_text_format_is_detected_by_its_rows() {
        let rows = [
            ("ssdlab-csv", "0,W,9887824,4096,0x1a,3889"),
            ("ssdlab-csv", "time_ns,op,sector,bytes,flags,pid"),
            ("msr", "128166372003061629,hm,0,Write,7014912,4096,26"),
            ("spc", "0,20941264,8192,W,0.551706"),
            ("systor17", "Timestamp,Response,IOType,LUN,Offset,Size\n1455592800.0,0.1,R,0,4096,512"),
            ("alibaba", "0,R,126703644672,4096,1577808000000626"),
            ("tencent", "1538323199,105352008,584,1,1576"),
            ("fiu", "89966034855846 4892 syslogd 904265560 8 W 6 0 b14a9b5c5d4a0bd9d8b3c2dd4a6d5f0b"),
            ("blkparse", "  7,0    1        0     0.000000000  3889  Q  WS 9887824 + 8 [(null)]"),
            ("fio2", "fio version 2 iolog\n/a add"),
            ("fio3", "fio version 3 iolog\n0 /a add"),
            ("mqsim", "938513000 4 264719034 16 0"),
            ("disksim", "0.000000\t0\t4536800\t8\t1"),
            ("cache-csv", "5633898,42932745,512,-1"),
            ("ftrace", "  fio-311   [002] d..1.  5012.123456: block_rq_issue: 8,0 WS 4096 () 2099200 + 8 [fio]"),
            ("etw", "  DiskRead, 12000, a.exe (1), 5, 0xf, 0x100, 0x8000, 400, 2, 0x6, 390, Normal, x, 0xf, \"C:\\a\""),
        ];
        for (format, row) in rows {
            for text in [row.to_string(), format!("{row}\n"), format!("{row}\r\n"), format!("\u{feff}\n{row}\n{row}\n")]
            {
                assert_eq!(detect(&text).unwrap(), format, "{text:?}");
            }
        }
    }

    #[test]
    fn a_malformed_line_among_good_ones_does_not_hide_the_format() {
        assert_eq!(detect("0,8,512,r,0.0\nrubbish\n0,8,512,r,0.5\n").unwrap(), "spc");
    }

    #[test]
    fn a_header_identifies_the_format_whatever_the_rows() {
        for (format, header) in [
            ("ssdlab-csv", "time_ns,op,sector,bytes,flags,pid"),
            ("msr", "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"),
            ("systor17", "Timestamp,Response,IOType,LUN,Offset,Size"),
            ("alibaba", "device_id,opcode,offset,length,timestamp"),
            ("tencent", "Timestamp,Offset,Size,IOType,VolumeID"),
        ] {
            for rows in ["", "\nrubbish\n", "\n0,R,0,512,17,1\n", "\n0,R,126703644672,4096,1577808000000626\n"] {
                assert_eq!(detect(&format!("{header}{rows}")).unwrap(), format, "{header}{rows}");
            }
        }
    }

    #[test]
    fn a_bare_digit_for_flags_does_not_take_a_row_from_alibaba() {
        assert_eq!(detect("0,R,0,4096,0\n").unwrap(), "alibaba");
        assert_eq!(detect("0,R,0,4096,0,1\n").unwrap(), "ssdlab-csv");
    }

    #[test]
    fn unsupported_compression_names_the_tool() {
        for (head, tool) in [
            (&b"\xFD7zXZ\0\0\x04\xE6\xD6"[..], "xz"),
            (b"BZh91AY&SY\x1Cb", "bzip2"),
            (b"\x04\x22\x4D\x18\x64\x40", "lz4"),
        ] {
            let message = super::detect(head, "a".as_ref(), None).unwrap_err().to_string();
            let says = format!("a: {tool} compression is not supported; decompress it into a pipe: {tool} -dc FILE | ");
            assert!(message.starts_with(&says), "{message}");
        }
    }

    /// Goal: if every line has a fault, the error names the fault and the format. Method: detects the format of lines
    /// that each have one bad field.
    #[test]
    fn the_closest_format_is_named_with_line_and_field() {
        for (text, start, name) in [
            (
                "128166372003061629,hm,0,Read,383496192.0,32768,5\n128166372003061639,hm,0,Write,0.0,512,5\n",
                "memory:1: field \"Offset\": \"383496192.0\" is not a whole number; no trace",
                "msr",
            ),
            (
                "Some title\n128166372003061629,hm,0,Read,99999999999999999999,32768,5\n1,hm,0,Read,0,512,5\n",
                "memory:2: field \"Offset\": \"99999999999999999999\" does not fit 64 bits; no trace",
                "msr",
            ),
            (
                "-5,hm,0,Read,0,32768,5\n-4,hm,0,Write,0,512,5\n",
                "memory:1: field \"Timestamp\": \"-5\" is negative; no trace",
                "msr",
            ),
            (
                "1,hm,0,Read,0,32768,5,1,hm,0,Read,0,512,5\n",
                "memory:1: \"1\" follows the last column: an extra field, or a second record on this line; no trace",
                "msr",
            ),
            (
                "8,0 1 1 0.1 9 Q W 0x10 + 8 [fio]\n8,0 1 1 0.2 9 Q W 0x20 + 8 [fio]\n",
                "memory:1: field \"sector\": \"0x10\" is not a whole number; no trace",
                "blkparse",
            ),
            (
                "1,hm,0,Read,0,32768,1000\n2,hm,0,Read,0,32768,1000128166372013061629,hm,0,Write,0,4096,10\n",
                "memory:2: field \"ResponseTime\": \"1000128166372013061629\" does not fit 64 bits; no trace",
                "msr",
            ),
            (
                "0 0 100 8 0\n10 0 200 8 120 0 300 8 0\n",
                "memory:2: \"0\" follows the last column: an extra field, or a second record on this line; no trace",
                "mqsim",
            ),
            (
                "0.5 0 100 8 0\n1.5 0 200 8 12.0 0 300 8 0\n",
                "memory:2: field \"flags\": \"12.0\" is not a hexadecimal number; no trace",
                "disksim",
            ),
            ("0,8,512,r\n0,8,512,r\n", "memory:1: field \"Timestamp\" is missing; no trace", "spc"),
            (
                "1,hm,0,Fetch,0,512,5\n2,hm,0,Store,0,512,5\n",
                "memory:1: field \"Type\": \"Fetch\" is not a known operation; no trace",
                "msr",
            ),
            (
                "5,X,0,512,10\n5,X,0,512,11\n",
                "memory:1: field \"opcode\": \"X\" is not a known operation; no",
                "alibaba",
            ),
        ] {
            let message = detect(text).unwrap_err().to_string();
            assert!(message.starts_with(start) && message.contains(&format!("{name} comes closest")), "{message}");
        }
    }

    #[test]
    fn an_unknown_format_is_an_error_with_remedies() {
        let message = detect("hello\nworld\n").unwrap_err().to_string();
        assert!(
            message
                .starts_with("memory: no trace format fits; select one with --format NAME (ssdlab-csv, ssdlab-volume,"),
            "{message}"
        );
        let columns = "or describe text columns, for example --columns time=0:us,op=2,offset=3:sectors,size=4";
        assert!(message.ends_with(columns), "{message}");
    }
}
