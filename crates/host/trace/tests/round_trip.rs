//! Round trips: a reader restores what the writer of its format wrote, and losses are counted.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use ssdlab_trace::formats::parse;
use ssdlab_trace::{FORMATS, Op, ReadOptions, Request, Source, TraceError, TraceReader, TraceWriter, WriteReport};

/// Returns a separate path for each test in the build's temporary directory.
fn temporary(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn open_writer(path: &Path, format: &str) -> Result<Box<dyn TraceWriter>, TraceError> {
    ssdlab_trace::open_writer(path, parse(format)?)
}

fn write(path: &Path, format: &str, requests: &[Request], streams: &[String]) -> WriteReport {
    let mut writer = open_writer(path, format).unwrap();
    writer.write(requests, streams).unwrap();
    writer.finish().unwrap()
}

/// Reads requests with their stream names; returns them with the name of the format.
fn read(path: &Path, format: Option<&str>) -> (Vec<(Request, String)>, &'static str) {
    let options = ReadOptions { format: format.map(|name| parse(name).unwrap()), ..ReadOptions::default() };
    let mut reader = TraceReader::open(&[path.to_path_buf()], &options).unwrap();
    let mut requests = Vec::new();
    while reader.fill(&mut requests, 100).unwrap() > 0 {}
    let named = |r: &Request| (Request { stream: 0, ..*r }, reader.streams()[usize::from(r.stream)].clone());
    (requests.iter().map(named).collect(), reader.format().name)
}

/// Returns the names of all formats that can be written.
fn writable() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().filter(|format| format.role.encoder.is_some()).map(|format| format.name)
}

fn streams() -> Vec<String> {
    ["", "17", "4242", "99999"].map(String::from).to_vec()
}

/// Requests that every format can address: whole sectors, ordered times from 0.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    let row = (0..5_000_000_u64, 0..1_u64 << 40, 1..5000_u32, 0..4_usize, 0..32_u8, 0..4_u16);
    prop::collection::vec(row, 1..60).prop_map(|rows| {
        let mut time_ns = 0;
        let mut out = Vec::new();
        for (gap, sector, sectors, op, flags, stream) in rows {
            let op = Op::ALL[op];
            let (offset, bytes) = if op == Op::Flush { (0, 0) } else { (sector * 512, sectors * 512) };
            out.push(Request { time_ns, offset, bytes, op, flags, stream });
            time_ns += gap;
        }
        out
    })
}

/// Returns the requests that a format preserves: supported operations, times in its unit, flags and streams if the
/// format has them.
fn kept(format: &str, requests: &[Request], streams: &[String]) -> Vec<(Request, String)> {
    let objects = matches!(format, "oracle-general" | "cache-csv");
    let (unit, trims, flushes, everything) = match format {
        "ssdlab-csv" => (1, true, true, true),
        "blktrace" => (1, true, true, true),
        "msr" => (100, false, false, false),
        "alibaba" => (1000, false, false, false),
        "vscsi1" | "vscsi2" => (1000, false, true, false),
        "fio2" => (100_000, true, true, false),
        "fio3" => (1000, true, true, false),
        "lcs" => (1_000_000_000, true, false, false),
        "oracle-general" | "cache-csv" => (1_000_000_000, false, false, false),
        _ => (1, false, false, false),
    };
    let can = |r: &&Request| (trims || r.op != Op::Trim) && (flushes || r.op != Op::Flush);
    let first = requests.iter().find(can).map_or(0, |r| r.time_ns / unit * unit);
    let convert = |r: &Request| {
        let mut flags = if everything { r.flags } else { 0 };
        if format == "blktrace" && r.op == Op::Flush {
            // blktrace uses the same bit for flushes.
            flags |= ssdlab_trace::flag::PREFLUSH;
        }
        let name = if everything { streams[usize::from(r.stream)].clone() } else { String::new() };
        let op = if objects { Op::Read } else { r.op };
        (Request { time_ns: r.time_ns / unit * unit - first, op, flags, stream: 0, ..*r }, name)
    };
    requests.iter().filter(can).map(convert).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ssdlab_tiers::cases(40) })]

    #[test]
    fn every_writable_format_reads_back_what_it_keeps(requests in requests()) {
        for format in writable() {
            let path = temporary(&format!("property.{format}"));
            let report = write(&path, format, &requests, &streams());
            let expected = kept(format, &requests, &streams());
            prop_assert_eq!(report.requests, expected.len() as u64);
            prop_assert_eq!(report.requests + report.unsupported_op, requests.len() as u64);
            prop_assert_eq!(report.widened, 0);
            prop_assert_eq!(report.bytes_out, std::fs::metadata(&path).unwrap().len());
            if report.requests > 0 {
                prop_assert_eq!(read(&path, Some(format)).0, expected, "{}", format);
            }
        }
    }
}

#[test]
fn written_traces_are_detected() {
    let requests: Vec<Request> = (0..100)
        .map(|n| Request {
            time_ns: n * 1_234_567,
            offset: n * 4096,
            bytes: 4096,
            op: Op::ALL[n as usize % 2],
            flags: 0,
            stream: 0,
        })
        .collect();
    for format in writable() {
        let path = temporary(&format!("recognised.{format}"));
        write(&path, format, &requests, &streams());
        // SSDsim is the same format as MQSim.
        let expected = if format == "ssdsim" { "mqsim" } else { format };
        assert_eq!(read(&path, None).1, expected);
    }
}

#[test]
fn unaligned_requests_are_widened_and_counted() {
    let odd = Request { time_ns: 0, offset: 700, bytes: 1000, op: Op::Write, flags: 0, stream: 0 };
    for (format, offset, bytes) in [("ssdlab-csv", 512, 1188), ("mqsim", 512, 1536), ("msr", 700, 1000)] {
        let path = temporary(&format!("odd.{format}"));
        let report = write(&path, format, &[odd], &streams());
        assert_eq!(report.widened, u64::from(format != "msr"));
        assert_eq!(read(&path, Some(format)).0[0].0, Request { offset, bytes, ..odd });
    }
}

#[test]
fn widening_beyond_32_bits_writes_two_requests() {
    let huge = Request { time_ns: 0, offset: 511, bytes: u32::MAX, op: Op::Read, flags: 0, stream: 0 };
    let path = temporary("huge.vscsi1");
    write(&path, "vscsi1", &[huge], &streams());
    let (requests, _) = read(&path, None);
    let total: u64 = requests.iter().map(|(r, _)| u64::from(r.bytes)).sum();
    assert!(requests.len() == 2 && total >= u64::from(u32::MAX), "{requests:?}");
    assert_eq!(requests[0].0.end(), requests[1].0.offset);
}

#[test]
fn losses_are_counted() {
    let request = |op, flags, stream| Request { time_ns: 150, offset: 0, bytes: 512, op, flags, stream };
    let path = temporary("lossy.msr");
    let report = write(&path, "msr", &[request(Op::Read, 1, 2), request(Op::Trim, 0, 0)], &streams());
    let counts =
        (report.requests, report.unsupported_op, report.time_rounded, report.flags_dropped, report.streams_dropped);
    assert_eq!(counts, (1, 1, 1, 1, 1));
    let writes = [request(Op::Write, 0, 0), request(Op::Read, 0, 0), request(Op::Flush, 0, 0)];
    let report = write(&temporary("lossy.bin"), "oracle-general", &writes, &streams());
    assert_eq!((report.requests, report.op_dropped, report.unsupported_op), (2, 1, 1));
}

#[test]
fn compression_follows_the_extension() {
    let request = Request { time_ns: 0, offset: 0, bytes: 512, op: Op::Read, flags: 0, stream: 0 };
    for (name, magic) in
        [("small.csv", &b"time"[..]), ("small.csv.gz", &[0x1F, 0x8B]), ("small.csv.zst", &[0x28, 0xB5])]
    {
        let path = temporary(name);
        write(&path, "ssdlab-csv", &vec![request; 1000], &streams());
        assert!(std::fs::read(&path).unwrap().starts_with(magic), "{name}");
        assert_eq!(read(&path, None).0.len(), 1000);
    }
}

#[test]
fn an_unfinished_trace_leaves_no_file() {
    let directory = temporary("unfinished");
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("trace.csv.gz");
    drop(open_writer(&path, "ssdlab-csv").unwrap());
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
}

#[test]
fn write_errors_name_the_remedy() {
    let taken = temporary("taken");
    std::fs::create_dir_all(&taken).unwrap();
    let error = open_writer(&taken, "ssdlab-csv").err().unwrap().to_string();
    assert!(error.ends_with("taken: exists and is not a regular file; choose another file"), "{error}");
    let error = open_writer(&temporary("x.fiu"), "fiu").err().unwrap().to_string();
    assert!(error.starts_with("format fiu can be read but not written; choose one of ssdlab-csv, msr"), "{error}");
    let error = open_writer(Path::new("no/such/directory/x.csv"), "ssdlab-csv").err().unwrap().to_string();
    assert!(error.contains("cannot be written"), "{error}");
}
