//! Compares figures of real traces with those published by their authors.
//!
//! Set `SSDLAB_TRACES` to the directory with the traces; without it, every test here reports that it is skipped.

use std::path::PathBuf;

use ssdlab_trace::formats::parse;
use ssdlab_trace::{
    Action, Columns, DeviceChoice, Op, Profile, ReadOptions, Request, Source, TraceReader, flag, open_writer,
};

/// Reports why a test is skipped.
#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
fn skip(why: &str) -> Option<PathBuf> {
    eprintln!("skipped: {why}");
    None
}

/// Returns a trace in the directory of real traces; `None` (with a report) if it is missing.
fn real(path: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("SSDLAB_TRACES") else {
        return skip("SSDLAB_TRACES is not set to the directory of real traces");
    };
    let path = PathBuf::from(root).join(path);
    if path.exists() {
        return Some(path);
    }
    skip(&format!("{} is missing", path.display()))
}

struct Trace {
    requests: Vec<Request>,
    names: Vec<String>,
    reader: TraceReader,
    profile: Profile,
}

impl Trace {
    /// Returns the requests with their stream names, which do not depend on a format's numbering.
    fn named(&self) -> Vec<(Request, &str)> {
        let named = |r: &Request| (Request { stream: 0, ..*r }, self.names[usize::from(r.stream)].as_str());
        self.requests.iter().map(named).collect()
    }
}

fn read(path: PathBuf, options: &ReadOptions) -> Trace {
    let mut reader = TraceReader::open(&[path], options).unwrap();
    let (mut requests, mut profile) = (Vec::new(), Profile::new());
    while reader.fill(&mut requests, 4096).unwrap() > 0 {}
    profile.add(&requests);
    Trace { requests, names: reader.streams().to_vec(), reader, profile }
}

/// Figures from the file `*.stats.txt` next to each capture.
struct Stats {
    name: &'static str,
    reads: u64,
    read_mib: f64,
    read_unique_mib: f64,
    writes: u64,
    write_mib: f64,
    write_unique_mib: f64,
    write_sequential_percent: f64,
    flushes: u64,
}

#[test]
fn the_traces_shipped_with_the_project_are_complete() {
    for (name, requests) in [("varmail", [86_335, 133_240, 0, 5098]), ("oltp", [8098, 57_982, 0, 6202])] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../../traces/{name}.csv.zst"));
        if !path.exists() {
            skip(&format!("{} is missing", path.display()));
            return;
        }
        assert_eq!(read(path, &ReadOptions::default()).profile.requests, requests, "{name}");
    }
}

#[test]
fn filebench_captures_match_their_statistics() {
    #[rustfmt::skip]
    let all = [
        Stats { name: "varmail_fast.Q", reads: 86_337, read_mib: 1211.0, read_unique_mib: 695.0, writes: 371_665, write_mib: 1966.8, write_unique_mib: 1054.0, write_sequential_percent: 76.4, flushes: 1748 },
        Stats { name: "varmail_fast.D", reads: 86_335, read_mib: 1211.0, read_unique_mib: 695.0, writes: 133_240, write_mib: 1966.8, write_unique_mib: 1054.0, write_sequential_percent: 33.9, flushes: 5098 },
        Stats { name: "fileserver_def.Q", reads: 76_029, read_mib: 3947.0, read_unique_mib: 1965.0, writes: 135_232, write_mib: 6411.5, write_unique_mib: 2592.0, write_sequential_percent: 11.4, flushes: 0 },
        Stats { name: "oltp_half.Q", reads: 8098, read_mib: 31.6, read_unique_mib: 32.0, writes: 57_982, write_mib: 488.1, write_unique_mib: 307.0, write_sequential_percent: 4.7, flushes: 6202 },
        Stats { name: "pgbench.D", reads: 26_982, read_mib: 234.2, read_unique_mib: 234.0, writes: 18_747, write_mib: 341.4, write_unique_mib: 286.0, write_sequential_percent: 0.6, flushes: 7087 },
        Stats { name: "webserver_fast.Q", reads: 372_274, read_mib: 12324.4, read_unique_mib: 619.0, writes: 6265, write_mib: 380.1, write_unique_mib: 380.0, write_sequential_percent: 95.6, flushes: 1 },
    ];
    for stats in all {
        let Some(path) = real(&format!("filebench-ext4-linux6.18/{}.csv.zst", stats.name)) else { return };
        let trace = read(path, &ReadOptions::default());
        assert_eq!(trace.reader.format().name, "ssdlab-csv");
        let profile = &trace.profile;
        assert_eq!(profile.requests, [stats.reads, stats.writes, 0, stats.flushes], "{}", stats.name);
        let near = |bytes: u64, mib: f64, tolerance: f64| {
            let got = bytes as f64 / f64::from(1 << 20);
            assert!((got - mib).abs() <= tolerance, "{}: {got} MiB, not {mib}", stats.name);
        };
        near(profile.bytes[Op::Read as usize], stats.read_mib, 0.06);
        near(profile.bytes[Op::Write as usize], stats.write_mib, 0.06);
        near(profile.read_footprint_bytes, stats.read_unique_mib, 0.6);
        near(profile.write_footprint_bytes, stats.write_unique_mib, 0.6);
        let writes = Op::Write as usize;
        let sequential = 100.0 * profile.sequential[writes] as f64 / profile.requests[writes] as f64;
        assert!((sequential - stats.write_sequential_percent).abs() < 0.06, "{}: {sequential} %", stats.name);
        let counts = trace.reader.report().counts;
        assert_eq!((counts.out_of_order, counts.zero_length, counts.unknown_op, counts.bad_lines), (0, 0, 0, 0));
    }
}

#[test]
fn blktrace_and_its_blkparse_text_give_identical_requests() {
    let Some(binary) = real("filebench-ext4-linux6.18/varmail_fast.head.blktrace.0") else { return };
    let Some(text) = real("filebench-ext4-linux6.18/varmail_fast.head.blkparse.txt") else { return };
    for (action, lines) in [(Action::Queue, 719), (Action::Issue, 380), (Action::Complete, 355)] {
        let options = ReadOptions { action: Some(action), ..ReadOptions::default() };
        let (binary, text) = (read(binary.clone(), &options), read(text.clone(), &options));
        assert_eq!((binary.reader.format().name, text.reader.format().name), ("blktrace", "blkparse"));
        assert_eq!(text.requests.len(), lines, "{action:?}");
        // The text is the head of the binary file; four completions of durable writes carry no bytes.
        assert_eq!(binary.named()[..lines], text.named()[..], "{action:?}");
        assert_eq!(binary.reader.report().device.as_deref(), Some("7,0"));
    }
}

#[test]
fn blktrace_head_equals_the_head_of_the_csv_capture() {
    let Some(binary) = real("filebench-ext4-linux6.18/varmail_fast.head.blktrace.0") else { return };
    let Some(csv) = real("filebench-ext4-linux6.18/varmail_fast.Q.csv.zst") else { return };
    let (binary, csv) = (read(binary, &ReadOptions::default()), read(csv, &ReadOptions::default()));
    assert_eq!(csv.requests.len(), 459_750);
    assert_eq!(binary.named()[..], csv.named()[..binary.requests.len()]);
    assert!(csv.requests.iter().any(|r| r.op == Op::Write && r.flags & flag::PREFLUSH != 0));
}

#[test]
fn cloudphysics_vscsi_is_complete() {
    let Some(path) = real("libcachesim/cloudPhysicsIO.vscsi") else { return };
    let trace = read(path, &ReadOptions::default());
    assert_eq!(trace.reader.format().name, "vscsi1");
    assert_eq!(trace.requests.len(), 113_872);
    assert_eq!(trace.profile.requests, [46_974, 66_898, 0, 0]);
    assert_eq!((trace.requests[0].offset, trace.requests[0].bytes), (42_932_745 * 512, 512));
}

#[test]
fn simulator_traces_have_several_devices() {
    for (path, total, first) in [
        ("mqsim/tpcc-small.trace", 6999, 453),
        ("mqsim/wsrch-small.trace", 24_783, 8340),
        ("ssdsim-financial1/example.ascii", 10_000, 1013),
    ] {
        let Some(path) = real(path) else { return };
        let trace = read(path.clone(), &ReadOptions::default());
        assert_eq!(trace.reader.format().name, "mqsim");
        let report = trace.reader.report();
        assert_eq!((trace.requests.len(), report.counts.other_device), (first, total - first as u64));
        assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
        let every = ReadOptions { device: DeviceChoice::All, ..ReadOptions::default() };
        let all = read(path, &every);
        assert_eq!(all.requests.len() as u64, total);
        assert!(all.profile.extent_bytes > trace.profile.extent_bytes);
    }
}

/// Goal: libCacheSim and ssdlab agree on objects and next requests. Method: compares libCacheSim's conversion with
/// ssdlab's, record by record. libCacheSim's times have another origin, and it assigns each object a single size.
#[test]
fn objects_are_written_like_libcachesim() {
    let Some(path) = real("libcachesim/cloudPhysicsIO.oracleGeneral.bin") else { return };
    let Some(source) = real("libcachesim/cloudPhysicsIO.vscsi") else { return };
    let theirs = std::fs::read(&path).unwrap();
    let trace = read(source, &ReadOptions::default());
    // libCacheSim identifies objects by their first block.
    let objects: Vec<Request> = trace.requests.iter().map(|r| Request { offset: r.offset / 512, ..*r }).collect();
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cloud.bin");
    let mut writer = open_writer(&target, parse("oracle-general").unwrap()).unwrap();
    writer.write(&objects, &trace.names).unwrap();
    assert_eq!(writer.finish().unwrap().requests, 113_872);
    let ours = std::fs::read(&target).unwrap();
    let next =
        |bytes: &[u8]| bytes.chunks(24).map(|record| [&record[4..12], &record[16..]].concat()).collect::<Vec<_>>();
    assert!(next(&ours) == next(&theirs));
    let read_back = read(path, &ReadOptions::default());
    assert_eq!(read_back.reader.format().name, "oracle-general");
    assert!(read_back.requests.iter().zip(&objects).all(|(read, object)| read.offset == object.offset));
}

/// libCacheSim's own reader also needs column names for its CSV.
#[test]
fn libcachesim_csv_columns_equal_the_binary_trace() {
    let Some(path) = real("libcachesim/cloudPhysicsIO.csv") else { return };
    let Some(source) = real("libcachesim/cloudPhysicsIO.vscsi") else { return };
    let columns = Some(Columns::parse("time=time:s,op=op,offset=lbn:sectors,size=size").unwrap());
    let text = read(path, &ReadOptions { columns, ..ReadOptions::default() });
    let binary = read(source, &ReadOptions::default());
    let seconds = |r: &Request| Request { time_ns: 0, ..*r };
    assert!(text.requests.iter().map(seconds).eq(binary.requests.iter().map(seconds)));
}

#[test]
fn files_of_unknown_formats_are_rejected() {
    for path in
        ["libcachesim/cloudPhysicsIO.csv", "scheduler-oracle-linux6.18/mq-deadline.insert-dispatch-complete.csv.zst"]
    {
        let Some(path) = real(path) else { return };
        let error = TraceReader::open(&[path], &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("no trace format fits; select one with --format NAME"), "{error}");
    }
}

#[test]
fn a_capture_survives_a_round_trip_through_every_lossless_format() {
    let Some(path) = real("filebench-ext4-linux6.18/pgbench.Q.csv.zst") else { return };
    let trace = read(path, &ReadOptions::default());
    for (format, name) in
        [("ssdlab-csv", "pgbench.csv.zst"), ("ssdlab-csv", "pgbench.csv.gz"), ("blktrace", "pgbench.blktrace.0")]
    {
        let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut writer = open_writer(&target, parse(format).unwrap()).unwrap();
        writer.write(&trace.requests, &trace.names).unwrap();
        let report = writer.finish().unwrap();
        assert_eq!((report.requests, report.widened, report.time_rounded), (52_958, 0, 0));
        let again = read(target.clone(), &ReadOptions::default());
        assert_eq!(again.named(), trace.named(), "{name}");
        std::fs::remove_file(target).unwrap();
    }
}
