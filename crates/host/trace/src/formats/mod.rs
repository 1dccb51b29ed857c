//! All trace formats, one file each, and their registration table.
//!
//! To add a format: write its file (start with columns, units, source and a sample line; then implement `LineFormat` or
//! `RecordFormat` of `decode.rs`), and add a variant to [`Format`] and an entry to `FORMATS`.

mod alibaba;
mod blkparse;
mod blktrace;
mod category;
mod columns;
mod csv;
mod disksim;
mod etw;
mod fio;
mod fiu;
mod ftrace;
#[cfg(test)]
mod kinds;
mod mqsim;
mod msr;
mod objects;
mod spc;
mod systor17;
mod tencent;
pub(crate) mod volume;
mod vscsi;

use crate::column_layout::EXAMPLE;
use crate::decode::{Decoder, Lines, NearMiss, Records, sniff_lines, without_mark};
use crate::encode::Encoder;
use crate::error::shown;
use crate::{ReadOptions, TraceError};
use ssdlab_core::suggest::{list, named, nearest};

/// Maximum number of characters of a heading shown in a message.
const HEADING_SHOWN: usize = 80;

/// Format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `ssdlab-csv`, our own text format; lossless.
    Csv,
    /// Our own binary format for one volume of a fleet.
    Volume,
    /// MSR Cambridge traces.
    Msr,
    /// SPC-1 traces and UMass traces (Financial, WebSearch).
    Spc,
    /// SYSTOR'17 traces.
    Systor17,
    /// Alibaba block traces of 2020.
    Alibaba,
    /// Tencent CBS traces.
    Tencent,
    /// vSCSI traces with 32-byte records.
    VscsiV1,
    /// vSCSI traces with 40-byte records.
    VscsiV2,
    /// FIU traces (IODedup).
    Fiu,
    /// Text output of blkparse.
    Blkparse,
    /// Binary output of blktrace.
    Blktrace,
    /// fio I/O log, version 2.
    FioV2,
    /// fio I/O log, version 3.
    FioV3,
    /// MQSim traces (ASCII).
    MqSim,
    /// DiskSim traces (ASCII).
    DiskSim,
    /// SSDsim traces (ASCII); same as MQSim.
    SsdSim,
    /// libCacheSim's oracleGeneral traces, binary.
    OracleGeneral,
    /// libCacheSim's lcs traces, binary.
    Lcs,
    /// libCacheSim's CSV traces.
    CacheCsv,
    /// Linux block events as text: ftrace, trace-cmd, perf script.
    Ftrace,
    /// Windows disk events as text.
    Etw,
    /// Any text in columns.
    Columns,
}

/// Registration of a trace format.
struct Registration {
    format: Format,
    name: &'static str,
    help: &'static str,
    /// Returns how well the first bytes of a file fit the format, in percent. The first format in the table wins ties.
    sniff: fn(&[u8]) -> u32,
    /// Finds a fault in a file that prevents the detection of the format.
    near: fn(&[u8]) -> Option<NearMiss>,
    decoder: fn(&ReadOptions) -> Box<dyn Decoder>,
    encoder: Option<fn() -> Box<dyn Encoder>>,
}

macro_rules! formats {
    ($($format:ident, $name:literal, $help:literal, $sniff:expr, $decoder:ty, $encoder:expr;)+) => {
        impl Format {
            /// All trace formats.
            pub const ALL: [Self; FORMATS.len()] = [$(Self::$format),+];
        }

        const FORMATS: &[Registration] = &[$(Registration {
            format: Format::$format,
            name: $name,
            help: $help,
            sniff: $sniff,
            near: <$decoder>::near,
            decoder: <$decoder>::boxed,
            encoder: $encoder,
        }),+];
    };
}

// Formats in the order of the enum, whose number is the index into the table.
formats! {
    Csv, "ssdlab-csv", "time_ns,op,sector,bytes,flags,pid; keeps every field",
        sniff_lines::<csv::Csv>, Lines<csv::Csv>, Some(|| Box::new(csv::CsvEncoder));
    Volume, "ssdlab-volume", "binary; one volume of a fleet, written by 'ssdlab fleet'",
        volume::Volume::sniff, Records<volume::Volume>, None;
    Msr, "msr", "MSR Cambridge CSV (FILETIME, bytes)",
        sniff_lines::<msr::Msr>, Lines<msr::Msr>, Some(|| Box::new(msr::MsrEncoder));
    Spc, "spc", "SPC-1 / UMass Financial and WebSearch (ASU, 512 B blocks, seconds)",
        sniff_lines::<spc::Spc>, Lines<spc::Spc>, Some(|| Box::new(spc::SpcEncoder));
    Systor17, "systor17", "SYSTOR'17 VDI storage CSV (seconds, LUN, bytes)",
        sniff_lines::<systor17::Systor17>, Lines<systor17::Systor17>, None;
    Alibaba, "alibaba", "Alibaba block traces 2020 CSV (device, bytes, us)",
        sniff_lines::<alibaba::Alibaba>, Lines<alibaba::Alibaba>, Some(|| Box::new(alibaba::AlibabaEncoder));
    Tencent, "tencent", "Tencent CBS CSV (whole seconds, sectors, volume)",
        sniff_lines::<tencent::Tencent>, Lines<tencent::Tencent>, None;
    VscsiV1, "vscsi1", "vSCSI binary, 32-byte records (CloudPhysics)",
        vscsi::V1::sniff, Records<vscsi::V1>, Some(|| Box::new(vscsi::VscsiEncoder::<1>::default()));
    VscsiV2, "vscsi2", "vSCSI binary, 40-byte records",
        vscsi::V2::sniff, Records<vscsi::V2>, Some(|| Box::new(vscsi::VscsiEncoder::<2>::default()));
    Fiu, "fiu", "FIU IODedup text (ns, sectors, process, MD5)",
        sniff_lines::<fiu::Fiu>, Lines<fiu::Fiu>, None;
    Blkparse, "blkparse", "blkparse default text; only one action is read",
        sniff_lines::<blkparse::Blkparse>, Lines<blkparse::Blkparse>, None;
    Blktrace, "blktrace", "blktrace binary, either byte order; only one action is read",
        blktrace::sniff, Records<blktrace::Blktrace>, Some(|| Box::new(blktrace::BlktraceEncoder));
    FioV2, "fio2", "fio I/O log version 2 (relative waits in us)",
        fio::sniff::<2>, Lines<fio::Fio<2>>, Some(|| Box::new(fio::FioEncoder::<2>::default()));
    FioV3, "fio3", "fio I/O log version 3 (times in us)",
        fio::sniff::<3>, Lines<fio::Fio<3>>, Some(|| Box::new(fio::FioEncoder::<3>::default()));
    MqSim, "mqsim", "MQSim ASCII (ns, sectors, 0 = write)",
        sniff_lines::<mqsim::MqSim>, Lines<mqsim::MqSim>, Some(|| Box::new(mqsim::MqSimEncoder));
    DiskSim, "disksim", "DiskSim ASCII (ms with a fraction, 512 B blocks)",
        sniff_lines::<disksim::DiskSim>, Lines<disksim::DiskSim>, Some(|| Box::new(disksim::DiskSimEncoder));
    SsdSim, "ssdsim", "SSDsim ASCII; same as MQSim",
        sniff_lines::<mqsim::MqSim>, Lines<mqsim::MqSim>, Some(|| Box::new(mqsim::MqSimEncoder));
    OracleGeneral, "oracle-general", "libCacheSim oracleGeneral binary, for caches (objects without operations)",
        objects::OracleGeneral::sniff, Records<objects::OracleGeneral>,
        Some(|| Box::new(objects::ObjectEncoder::<objects::OracleGeneral>::default()));
    Lcs, "lcs", "libCacheSim lcs binary, for caches (objects)",
        objects::Lcs::sniff, Records<objects::Lcs>, Some(|| Box::new(objects::ObjectEncoder::<objects::Lcs>::default()));
    CacheCsv, "cache-csv", "libCacheSim CSV, for caches: clock_time,obj_id,obj_size,next_access_vtime",
        sniff_lines::<objects::CacheCsv>, Lines<objects::CacheCsv>,
        Some(|| Box::new(objects::ObjectEncoder::<objects::CacheCsv>::default()));
    Ftrace, "ftrace", "block events of ftrace, trace-cmd report or perf script; only one action is read (by default \
                       issue)",
        sniff_lines::<ftrace::Ftrace>, Lines<ftrace::Ftrace>, None;
    Etw, "etw", "Windows ETW disk events as CSV (Microsoft production traces; us, bytes)",
        sniff_lines::<etw::Etw>, Lines<etw::Etw>, None;
    Columns, "columns", "any text in columns, described by --columns",
        |_| 0, Lines<columns::ColumnText>, None;
}

/// Magic numbers of unsupported compressions, with the tool that decompresses them.
const COMPRESSED: [(&[u8], &str); 3] = [(b"\xFD7zXZ\0", "xz"), (b"BZh", "bzip2"), (b"\x04\x22\x4D\x18", "lz4")];

impl Format {
    fn registration(self) -> &'static Registration {
        &FORMATS[self as usize]
    }

    /// Returns the format's name on the command line, such as `msr`.
    pub fn name(self) -> &'static str {
        self.registration().name
    }

    /// Returns a one-line description of the format.
    pub fn help(self) -> &'static str {
        self.registration().help
    }

    /// True if the format's requests are for objects of a cache, which have no address.
    pub fn holds_objects(self) -> bool {
        matches!(self, Self::OracleGeneral | Self::Lcs | Self::CacheCsv)
    }

    /// True if [`crate::open_writer`] supports the format.
    pub fn writable(self) -> bool {
        self.registration().encoder.is_some()
    }

    /// Parses the name of a format; the error for an unknown name suggests the nearest name.
    pub fn parse(name: &str) -> Result<Self, TraceError> {
        let known = FORMATS.iter().map(|known| known.name);
        let meant = named(name, known.clone());
        if let Some(known) = FORMATS.iter().find(|known| Some(known.name) == meant) {
            return Ok(known.format);
        }
        let meant = nearest(name, known.clone());
        let hint = meant.map_or_else(String::new, |meant| format!("did you mean {meant}? "));
        let names = list(known);
        Err(TraceError::Invalid(format!("{name:?} is not a trace format; {hint}known: {names}")))
    }

    /// Detects the format of a file from its first (decompressed) bytes. `before` is another file of the trace, and its
    /// format.
    pub(crate) fn detect(
        head: &[u8],
        path: &std::path::Path,
        before: Option<&(String, Self)>,
    ) -> Result<Self, TraceError> {
        let mut best = (0, None);
        for known in FORMATS {
            let score = (known.sniff)(head);
            if score > best.0 {
                best = (score, Some(known.format));
            }
        }
        let first = without_mark(head).split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
        let is_known = |format: Format| first.starts_with(b"#") || (format.registration().sniff)(first) > 0;
        if is_heading(first) && !best.1.is_some_and(is_known) {
            return Err(TraceError::Invalid(format!(
                "{}: the first line, {:?}, is not the heading of a known format; describe the columns, for example \
                 --columns time=time:us,op=op,offset=offset,size=size",
                shown(path),
                String::from_utf8_lossy(&first[..first.len().min(HEADING_SHOWN)])
            )));
        }
        best.1.ok_or_else(|| {
            if let Some((_, tool)) = COMPRESSED.iter().find(|(magic, _)| head.starts_with(magic)) {
                return TraceError::Invalid(format!(
                    "{}: {tool} compression is not supported; decompress it into a pipe: {tool} -dc FILE | ssdlab ... -",
                    shown(path)
                ));
            }
            if let Some((other, format)) = before {
                return TraceError::Invalid(format!(
                    "{}: no trace format fits; to read it like {other}: --format {}",
                    shown(path),
                    format.name()
                ));
            }
            if let Some((name, miss)) = nearest_format(head) {
                let remedy = miss.layout.map_or_else(
                    || "fix the lines, or select another format with --format NAME".into(),
                    |layout| format!("read it with --columns {layout}"),
                );
                return TraceError::Invalid(format!(
                    "{}:{}: {}; no trace format fits, {name} comes closest: {remedy}",
                    shown(path),
                    miss.line,
                    miss.why
                ));
            }
            let names = list(FORMATS.iter().map(|known| known.name));
            TraceError::Invalid(format!(
                "{}: no trace format fits; select one with --format NAME ({names}), or describe text columns, for \
                 example --columns {}",
                shown(path),
                EXAMPLE
            ))
        })
    }

    pub(crate) fn decoder(self, options: &ReadOptions) -> Box<dyn Decoder> {
        (self.registration().decoder)(options)
    }

    pub(crate) fn encoder(self) -> Result<Box<dyn Encoder>, TraceError> {
        let encoder = self.registration().encoder.ok_or_else(|| {
            let others = FORMATS.iter().filter(|known| known.encoder.is_some()).map(|known| known.name);
            let (name, others) = (self.name(), list(others));
            TraceError::Invalid(format!("{name} can be read but not written; write one of {others}"))
        })?;
        Ok(encoder())
    }
}

/// Returns the format that most lines of a file would fit except for one field each, and the first such fault.
fn nearest_format(head: &[u8]) -> Option<(&'static str, NearMiss)> {
    let named = FORMATS.iter().filter(|known| known.format != Format::Columns);
    let misses = named.filter_map(|known| Some((known.name, (known.near)(head)?)));
    // The first format in the table wins ties.
    misses.reduce(|best, next| if next.1.share > best.1.share { next } else { best })
}

/// True if a line has only column names and no data: at least three words and no digit.
fn is_heading(line: &[u8]) -> bool {
    let words = line.split(|byte| b",;\t ".contains(byte)).filter(|word| word.iter().any(u8::is_ascii_alphabetic));
    words.count() >= 3
        && line.iter().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_digit() || b" \t".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::detect;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (index, format) in Format::ALL.into_iter().enumerate() {
            assert_eq!((format as usize, format.registration().format), (index, format));
            assert_eq!(Format::parse(format.name()).unwrap(), format);
            assert!(!format.help().is_empty());
        }
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        let message = Format::parse("vcsi1").unwrap_err().to_string();
        assert!(
            message
                .starts_with("\"vcsi1\" is not a trace format; did you mean vscsi1? known: ssdlab-csv, ssdlab-volume"),
            "{message}"
        );
        assert_eq!(Format::parse("Oracle_General").unwrap(), Format::OracleGeneral);
        assert!(!Format::parse("parquetry").unwrap_err().to_string().contains("did you mean"));
    }

    /// Goal: columns are not assigned to a format by position alone. Method: unknown headings above rows that fit a
    /// format.
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
        assert_eq!(detect("time_ns,op,sector,bytes\n0,R,0,512\n").unwrap(), Format::Csv);
    }

    /// One row of every text format, as given by its source.
    #[test]
    fn every_text_format_is_detected_by_its_rows() {
        let rows = [
            (Format::Csv, "0,W,9887824,4096,0x1a,3889"),
            (Format::Csv, "time_ns,op,sector,bytes,flags,pid"),
            (Format::Msr, "128166372003061629,hm,0,Write,7014912,4096,26"),
            (Format::Spc, "0,20941264,8192,W,0.551706"),
            (Format::Systor17, "Timestamp,Response,IOType,LUN,Offset,Size\n1455592800.0,0.1,R,0,4096,512"),
            (Format::Alibaba, "0,R,126703644672,4096,1577808000000626"),
            (Format::Tencent, "1538323199,105352008,584,1,1576"),
            (Format::Fiu, "89966034855846 4892 syslogd 904265560 8 W 6 0 b14a9b5c5d4a0bd9d8b3c2dd4a6d5f0b"),
            (Format::Blkparse, "  7,0    1        0     0.000000000  3889  Q  WS 9887824 + 8 [(null)]"),
            (Format::FioV2, "fio version 2 iolog\n/a add"),
            (Format::FioV3, "fio version 3 iolog\n0 /a add"),
            (Format::MqSim, "938513000 4 264719034 16 0"),
            (Format::DiskSim, "0.000000\t0\t4536800\t8\t1"),
            (Format::CacheCsv, "5633898,42932745,512,-1"),
            (Format::Ftrace, "  fio-311   [002] d..1.  5012.123456: block_rq_issue: 8,0 WS 4096 () 2099200 + 8 [fio]"),
            (
                Format::Etw,
                "  DiskRead, 12000, a.exe (1), 5, 0xf, 0x100, 0x8000, 400, 2, 0x6, 390, Normal, x, 0xf, \"C:\\a\"",
            ),
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
        assert_eq!(detect("0,8,512,r,0.0\nrubbish\n0,8,512,r,0.5\n").unwrap(), Format::Spc);
    }

    #[test]
    fn a_header_identifies_the_format_whatever_the_rows() {
        for (format, header) in [
            (Format::Csv, "time_ns,op,sector,bytes,flags,pid"),
            (Format::Msr, "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"),
            (Format::Systor17, "Timestamp,Response,IOType,LUN,Offset,Size"),
            (Format::Alibaba, "device_id,opcode,offset,length,timestamp"),
            (Format::Tencent, "Timestamp,Offset,Size,IOType,VolumeID"),
        ] {
            for rows in ["", "\nrubbish\n", "\n0,R,0,512,17,1\n", "\n0,R,126703644672,4096,1577808000000626\n"] {
                assert_eq!(detect(&format!("{header}{rows}")).unwrap(), format, "{header}{rows}");
            }
        }
    }

    #[test]
    fn a_bare_digit_for_flags_does_not_take_a_row_from_alibaba() {
        assert_eq!(detect("0,R,0,4096,0\n").unwrap(), Format::Alibaba);
        assert_eq!(detect("0,R,0,4096,0,1\n").unwrap(), Format::Csv);
    }

    #[test]
    fn unsupported_compression_names_the_tool() {
        for (head, tool) in [
            (&b"\xFD7zXZ\0\0\x04\xE6\xD6"[..], "xz"),
            (b"BZh91AY&SY\x1Cb", "bzip2"),
            (b"\x04\x22\x4D\x18\x64\x40", "lz4"),
        ] {
            let message = Format::detect(head, "a".as_ref(), None).unwrap_err().to_string();
            let says = format!("a: {tool} compression is not supported; decompress it into a pipe: {tool} -dc FILE | ");
            assert!(message.starts_with(&says), "{message}");
        }
    }

    /// Goal: a file with a fault in every line reports the fault. Method: lines of a format with one bad field each.
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
