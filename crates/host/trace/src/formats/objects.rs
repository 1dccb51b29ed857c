//! libCacheSim formats: requests for objects of a cache, which have an id and a size but no address.
//!
//! - `oracleGeneral`, little-endian records of 24 bytes: u32 time in s, u64 object, u32 bytes, i64 number of the
//!   object's next request (from 1; -1 for none). There are no operations.
//! - `lcs`: a header of 8,192 bytes between two magic numbers (version, statistics), then the same fields. Version 2
//!   adds operation (8 bits) and tenant (24 bits) after the size. Version 3 has a u64 size and adds a time to live
//!   (u32, in s, 0 = unlimited), which is used as the stream. Versions 4 to 8 add fields at the end, which are ignored.
//!   The writer uses version 2.
//! - CSV: the fields of oracleGeneral with the headings below.
//!
//! An object is read as a request at the offset given by the object's id. A request to a drive is written as an object
//! with the request's offset as its id. For object-cache simulators, this makes no difference. Objects of 0 bytes are
//! not replayed, as in libCacheSim. Source: oracleGeneralBin.h, lcs.h, enum.h and traceConv of libCacheSim.
//!
//! `5633898,42932745,512,-1`

use super::{
    Device, Encoder, Entry, Fault, FormatInfo, FormatRules, Io, Item, LineFormat, RecordFormat, Skip, Stream,
    Supported, Tables,
};
use rustc_hash::FxHashMap;

use crate::Op;
use crate::decode::{u32_at, u64_at};
use crate::encode::put;
use crate::fields::{Commas, whole};

pub(crate) static ORACLE_GENERAL: FormatInfo = FormatInfo {
    name: "oracle-general",
    help: "libCacheSim oracleGeneral binary, for cache simulation (object accesses, not marked as reads or writes)",
    source: "libCacheSim, oracleGeneralBin.h",
    parameters: &[],
    role: objects::<OracleGeneral>(FormatRules::records::<OracleGeneral>()),
};

pub(crate) static LCS: FormatInfo = FormatInfo {
    name: "lcs",
    help: "libCacheSim lcs binary, for cache simulation (object accesses)",
    source: "libCacheSim, lcs.h",
    parameters: &[],
    role: objects::<Lcs>(FormatRules::records::<Lcs>()),
};

pub(crate) static CACHE_CSV: FormatInfo = FormatInfo {
    name: "cache-csv",
    help: "libCacheSim CSV, for cache simulation: clock_time,obj_id,obj_size,next_access_vtime",
    source: "libCacheSim",
    parameters: &[],
    role: objects::<CacheCsv>(FormatRules::lines::<CacheCsv>()),
};

/// Returns the [`FormatRules`] of an object format that is read and written.
const fn objects<F: ObjectFormat + Default>(rules: FormatRules) -> FormatRules {
    FormatRules { encoder: Some(|| Box::new(ObjectEncoder::<F>::default())), objects: true, ..rules }
}

const SECOND_NS: u64 = 1_000_000_000;
const HEADER: &str = "clock_time,obj_id,obj_size,next_access_vtime";
/// Magic number at both ends of the header of an lcs file.
const MAGIC: u64 = 0x1234_5678_9abc_def0;
const LCS_HEADER: usize = 8192;
/// Size in bytes of the rest of a record, after its first 24 bytes, for lcs versions 1 to 8.
const LCS_TAILS: [usize; 8] = [0, 4, 12, 16, 20, 28, 44, 76];
/// Number of records that are examined to detect oracleGeneral.
const SNIFF_RECORDS: usize = 64;

fn read(seconds: u32, offset: u64, bytes: u32) -> Entry<'static> {
    let (time_ns, bytes) = (u64::from(seconds) * SECOND_NS, bytes.into());
    Entry::Io(Io { time_ns, op: Op::Read, offset, bytes, device: Device::File, flags: 0, stream: Stream::None })
}

#[derive(Default)]
struct OracleGeneral;

impl RecordFormat for OracleGeneral {
    const HEAD: usize = 24;

    /// The format has no magic number, so records are checked: times must not decrease, and an object's next request
    /// must come later.
    fn sniff(head: &[u8]) -> u32 {
        let records = || head.chunks_exact(Self::HEAD).take(SNIFF_RECORDS);
        let fits = |(number, record): (u64, &[u8])| match u64_at(record, 16) as i64 {
            -1 | i64::MAX => true,
            next => next > number as i64 && next < 1 << 40,
        };
        let ordered = records().is_sorted_by_key(|record| u32_at(record, 0));
        if records().len() > 0 && ordered && (0..).zip(records()).all(fits) { 90 } else { 0 }
    }

    fn record<'a>(&mut self, head: &'a [u8], _: &mut Tables) -> Result<(Entry<'a>, usize), Fault<'a>> {
        Ok((read(u32_at(head, 0), u64_at(head, 4), u32_at(head, 12)), 0))
    }
}

#[derive(Default)]
struct Lcs {
    /// Version of the lcs file; 0 before the header has been read.
    version: usize,
}

impl RecordFormat for Lcs {
    // Length of the part shared by the records of all versions. The file header is parsed as the first record.
    const HEAD: usize = 24;

    fn sniff(head: &[u8]) -> u32 {
        if head.len() >= Self::HEAD && u64_at(head, 0) == MAGIC { 100 } else { 0 }
    }

    fn record<'a>(&mut self, record: &'a [u8], _: &mut Tables) -> Result<(Entry<'a>, usize), Fault<'a>> {
        if self.version == 0 {
            if u64_at(record, 0) != MAGIC {
                return Err(Fault::new("start_magic", &record[..8], "is not the magic number of lcs"));
            }
            let version = usize::try_from(u64_at(record, 8)).unwrap_or(usize::MAX);
            if !(1..=LCS_TAILS.len()).contains(&version) {
                return Err(Fault::new("version", &record[8..16], "must be 1 to 8"));
            }
            self.version = version;
            return Ok((Entry::Skip(Skip::Header), LCS_HEADER - Self::HEAD));
        }
        if u64_at(record, 0) == MAGIC {
            return Err(Fault::new("", b"", "a second file begins here: split the input into two files"));
        }
        let tail = LCS_TAILS[self.version - 1];
        let (bytes, kind) = match self.version {
            1 => (u64::from(u32_at(record, 12)), 0),
            2 => (u64::from(u32_at(record, 12)), record[16]),
            _ => (u64_at(record, 12), record[20]),
        };
        let Some(op) = operation(kind) else { return Ok((Entry::unknown_op("op", b""), tail)) };
        let time_ns = u64::from(u32_at(record, 0)) * SECOND_NS;
        let offset = u64_at(record, 4);
        // In versions from 3 on, the time to live follows the shared part. It is unknown until the whole record is
        // here.
        let has_ttl = self.version >= 3 && record.len() >= Self::HEAD + tail;
        let ttl_s = if has_ttl { u32_at(record, Self::HEAD) } else { 0 };
        let stream = Stream::Number(ttl_s.into());
        Ok((Entry::Io(Io { time_ns, op, offset, bytes, device: Device::File, flags: 0, stream }), tail))
    }
}

/// Returns the effect of a libCacheSim operation on a cache; a missing operation is a read.
fn operation(kind: u8) -> Option<Op> {
    Some(match kind {
        // libCacheSim operations that count as reads: nop, get, gets and read.
        0..=2 | 12 => Op::Read,
        // libCacheSim operations that count as writes: set, add, cas, replace, append, prepend, incr, decr, write and
        // update.
        3..=8 | 10 | 11 | 13 | 14 => Op::Write,
        // libCacheSim's `delete`.
        9 => Op::Trim,
        _ => return None,
    })
}

/// Parses the next field as a 32-bit number.
fn narrow<'a>(fields: &mut Commas<'a>, name: &'static str) -> Result<u32, Fault<'a>> {
    let text = fields.text(name)?;
    let number = whole(text).map_err(Fault::of(name, text))?;
    u32::try_from(number).map_err(|_| Fault::new(name, text, "exceeds 32 bits"))
}

#[derive(Default)]
struct CacheCsv;

impl LineFormat for CacheCsv {
    const HEADER: &'static [u8] = b"clock_time,obj";
    const LAYOUT: &'static str = "time=0:s,op='R',offset=1,size=2";
    const KEY: &'static str = "obj_id";

    fn line<'a>(&mut self, line: &'a [u8], _: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let mut fields = Commas::new(line);
        let seconds = narrow(&mut fields, "clock_time")?;
        let object = fields.number("obj_id")?;
        let bytes = narrow(&mut fields, "obj_size")?;
        let next = fields.text("next_access_vtime")?;
        if next != b"-1" {
            whole(next).map_err(Fault::of("next_access_vtime", next))?;
        }
        fields.end()?;
        Ok(read(seconds, object, bytes))
    }
}

/// Encoding of one object format. [`ObjectEncoder`] collects all requests and encodes them at the end of the trace.
trait ObjectFormat: Send + 'static {
    /// True if the format stores operations.
    const OPERATIONS: bool = false;

    /// Appends the header of the file.
    fn start(_requests: &[ObjectRequest], _out: &mut Vec<u8>) {}

    /// Appends a request; `next` is the number (from 1) of the object's next request, or -1.
    fn put(request: &ObjectRequest, next: i64, out: &mut Vec<u8>);
}

struct ObjectRequest {
    seconds: u32,
    object: u64,
    bytes: u32,
    op: Op,
}

/// Writer of object formats. Holds all requests until the end, because each request stores the number of its object's
/// next request.
#[derive(Default)]
struct ObjectEncoder<L> {
    requests: Vec<ObjectRequest>,
    format: std::marker::PhantomData<L>,
}

impl<L: ObjectFormat> Encoder for ObjectEncoder<L> {
    fn supported(&self) -> Supported {
        Supported {
            ops: if L::OPERATIONS { &[Op::Read, Op::Write, Op::Trim] } else { &[Op::Read, Op::Write] },
            names_op: L::OPERATIONS,
            unit_ns: SECOND_NS,
            ..Supported::TRANSFERS
        }
    }

    fn encode(&mut self, item: &Item<'_>, _: &mut Vec<u8>) {
        self.requests.push(ObjectRequest {
            seconds: u32::try_from(item.time).unwrap_or(u32::MAX),
            object: item.offset,
            bytes: item.bytes as u32,
            op: item.op,
        });
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        L::start(&self.requests, out);
        let mut later: FxHashMap<u64, i64> = FxHashMap::default();
        let mut next = vec![-1; self.requests.len()];
        for (at, request) in self.requests.iter().enumerate().rev() {
            next[at] = later.insert(request.object, at as i64 + 1).unwrap_or(-1);
        }
        for (request, next) in self.requests.iter().zip(next) {
            L::put(request, next, out);
        }
    }
}

impl ObjectFormat for OracleGeneral {
    fn put(request: &ObjectRequest, next: i64, out: &mut Vec<u8>) {
        out.extend(request.seconds.to_le_bytes());
        out.extend(request.object.to_le_bytes());
        out.extend(request.bytes.to_le_bytes());
        out.extend(next.to_le_bytes());
    }
}

impl ObjectFormat for CacheCsv {
    fn start(_: &[ObjectRequest], out: &mut Vec<u8>) {
        put(out, format_args!("{HEADER}\n"));
    }

    fn put(request: &ObjectRequest, next: i64, out: &mut Vec<u8>) {
        put(out, format_args!("{},{},{},{next}\n", request.seconds, request.object, request.bytes));
    }
}

impl ObjectFormat for Lcs {
    const OPERATIONS: bool = true;

    fn start(requests: &[ObjectRequest], out: &mut Vec<u8>) {
        let sizes: FxHashMap<u64, u64> =
            requests.iter().map(|request| (request.object, request.bytes.into())).collect();
        let of = |op| requests.iter().filter(|request| request.op == op).count() as u64;
        let time = |request: Option<&ObjectRequest>| request.map_or(0, |request| request.seconds.into());
        let begin = out.len();
        let figures = [
            MAGIC,
            2,
            // First statistics of the header: their version, the number of requests, the number of objects, and the
            // total bytes of the requests and of the objects.
            1,
            requests.len() as u64,
            sizes.len() as u64,
            requests.iter().map(|request| u64::from(request.bytes)).sum(),
            sizes.values().sum(),
            time(requests.first()),
            time(requests.last()),
            of(Op::Read),
            of(Op::Write),
            of(Op::Trim),
            sizes.values().copied().min().unwrap_or(0),
            sizes.values().copied().max().unwrap_or(0),
        ];
        out.extend(figures.into_iter().flat_map(u64::to_le_bytes));
        // Other programs only display the remaining statistics of the header. They are zero here, as in older files.
        out.resize(begin + LCS_HEADER - 8, 0);
        out.extend(MAGIC.to_le_bytes());
    }

    fn put(request: &ObjectRequest, next: i64, out: &mut Vec<u8>) {
        let operation: u32 = match request.op {
            Op::Read | Op::Flush => 12,
            Op::Write => 13,
            Op::Trim => 9,
        };
        out.extend(request.seconds.to_le_bytes());
        out.extend(request.object.to_le_bytes());
        out.extend(request.bytes.to_le_bytes());
        out.extend(operation.to_le_bytes());
        out.extend(next.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{detect_bytes, error_bytes, read, read_bytes, request, streams_of};
    use crate::{ReadOptions, Request};

    fn oracle(rows: &[(u32, u64, u32, i64)]) -> Vec<u8> {
        let mut out = Vec::new();
        for &(seconds, object, bytes, next) in rows {
            OracleGeneral::put(&ObjectRequest { seconds, object, bytes, op: Op::Read }, next, &mut out);
        }
        out
    }

    const ROWS: [(u32, u64, u32, i64); 4] =
        [(10, 7, 512, 3), (10, 1 << 60, 4096, -1), (12, 7, 512, i64::MAX), (12, 9, 0, -1)];

    fn expected() -> [Request; 3] {
        [request(0, Op::Read, 7, 512), request(0, Op::Read, 1 << 60, 4096), request(2_000_000_000, Op::Read, 7, 512)]
    }

    #[test]
    fn oracle_general_is_detected_by_its_order() {
        let bytes = oracle(&ROWS);
        assert_eq!(detect_bytes(&bytes).unwrap(), "oracle-general");
        let (requests, report) = read_bytes("oracle-general", &bytes, &ReadOptions::default()).unwrap();
        assert_eq!((requests.as_slice(), report.counts.zero_length), (expected().as_slice(), 1));
        // Two invalid inputs are not detected: a next request that lies in the past, and decreasing times.
        assert!(detect_bytes(&oracle(&[ROWS[0], ROWS[1], (12, 7, 512, 1)])).is_err());
        assert!(detect_bytes(&oracle(&[ROWS[2], ROWS[0]])).is_err());
        assert!(error_bytes("oracle-general", &bytes[..30]).contains("ends inside record 2"));
    }

    #[test]
    fn every_version_of_lcs_is_read() {
        for (version, tail) in (1_u64..).zip(LCS_TAILS) {
            let mut bytes = Vec::new();
            bytes.extend(MAGIC.to_le_bytes());
            bytes.extend(version.to_le_bytes());
            bytes.resize(LCS_HEADER, 0);
            for (seconds, object, size, next) in &ROWS[..3] {
                let begin = bytes.len();
                bytes.extend(seconds.to_le_bytes());
                bytes.extend(object.to_le_bytes());
                match version {
                    1 => bytes.extend(size.to_le_bytes()),
                    2 => bytes.extend([*size, 12].map(u32::to_le_bytes).as_flattened()),
                    _ => {
                        bytes.extend(u64::from(*size).to_le_bytes());
                        // The last request of the file has a time to live of 300 s.
                        let ttl_s = if *seconds == 12 { 300 } else { 0 };
                        bytes.extend([1, ttl_s].map(u32::to_le_bytes).as_flattened());
                    }
                }
                bytes.resize(begin + 16 + tail, 0);
                bytes.extend(next.to_le_bytes());
            }
            assert_eq!(detect_bytes(&bytes).unwrap(), "lcs");
            let (requests, report) = read_bytes("lcs", &bytes, &ReadOptions::default()).unwrap();
            let mut expected = expected();
            expected[2].stream = u16::from(version >= 3);
            assert_eq!((requests.as_slice(), report.counts.headers), (expected.as_slice(), 1), "version {version}");
            let streams = streams_of("lcs", &bytes);
            assert_eq!(streams, ["", "300"][..=usize::from(version >= 3)]);
        }
        let mut bytes = vec![0; 30];
        assert!(error_bytes("lcs", &bytes).contains("is not the magic number of lcs"));
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8] = 9;
        assert!(error_bytes("lcs", &bytes).contains("field \"version\""));
    }

    #[test]
    fn the_csv_has_the_same_fields() {
        let text = format!("{HEADER}\n10,7,512,3\n10,1152921504606846976,4096,-1\n12,7,512,9223372036854775807\n");
        let (requests, report) = read("cache-csv", &text);
        assert_eq!((requests.as_slice(), report.counts.headers), (expected().as_slice(), 1));
        assert!(error_bytes("cache-csv", b"1,2,5000000000,-1\n").contains("field \"obj_size\""));
        assert!(error_bytes("cache-csv", b"1,2,512,x\n").contains("field \"next_access_vtime\": \"x\""));
    }

    #[test]
    fn a_written_object_stores_its_next_request() {
        let item = |time, offset| Item { time, op: Op::Write, offset, bytes: 512, flags: 0, stream: "" };
        let mut encoder = ObjectEncoder::<CacheCsv>::default();
        let mut out = Vec::new();
        for (time, offset) in [(1, 7), (2, 8), (3, 7), (4, 7)] {
            encoder.encode(&item(time, offset), &mut out);
        }
        encoder.end(&mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!("{HEADER}\n1,7,512,3\n2,8,512,-1\n3,7,512,4\n4,7,512,-1\n")
        );
    }
}
