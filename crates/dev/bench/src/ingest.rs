//! Benchmark of trace ingest: reads whole trace files of several formats on one core.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ssdlab_core::Rng;
use ssdlab_trace::formats::parse;
use ssdlab_trace::{Op, ReadOptions, Request, Source, TraceReader, open_writer};

use crate::{Scale, head, machine};

const FORMATS: [&str; 6] = ["msr", "ssdlab-csv", "spc", "vscsi1", "vscsi2", "blktrace"];
const BATCH: usize = 4096;

fn requests(count: u64) -> Vec<Request> {
    let mut rng = Rng::named(1, "ingest");
    (0..count)
        .map(|index| Request {
            time_ns: index * 50_000,
            offset: rng.below(1 << 26) * 4096,
            bytes: 4096 << rng.below(4),
            op: if rng.below(3) == 0 { Op::Read } else { Op::Write },
            flags: 0,
            stream: 0,
        })
        .collect()
}

fn write(path: &Path, format: &str, requests: &[Request]) {
    let format = parse(format).expect("a known format");
    let mut writer = open_writer(path, format).expect("the temporary directory is writable");
    writer.write(requests, &[String::new()]).expect("the disk has free space");
    writer.finish().expect("the disk has free space");
}

/// Reads the whole trace into memory; returns seconds, number of requests and a hash of their contents.
fn read(path: &Path) -> (f64, usize, u32) {
    let began = Instant::now();
    let mut reader = TraceReader::open(&[PathBuf::from(path)], &ReadOptions::default()).expect("the file is valid");
    let mut out = Vec::new();
    while reader.fill(&mut out, BATCH).expect("the file is valid") > 0 {}
    let seconds = began.elapsed().as_secs_f64();
    let sum = out.iter().fold(0_u64, |sum, r| sum.wrapping_mul(31).wrapping_add(r.offset ^ r.time_ns ^ r.bytes as u64));
    (seconds, out.len(), machine::hash(&sum.to_string()))
}

/// Reads the file and scans every byte once, which is the minimum work of any reader; returns seconds.
fn baseline(path: &Path) -> f64 {
    let began = Instant::now();
    let bytes = fs::read(path).expect("the file is readable");
    let lines = memchr::memchr_iter(b'\n', &bytes).count();
    std::hint::black_box(lines);
    began.elapsed().as_secs_f64()
}

/// Prints the table of trace formats.
pub fn report(scale: Scale) {
    let (count, rounds) = scale.pick((2_000, 1), (4_000_000, 5));
    println!("## Trace ingest: {count} requests, file to memory, one core\n");
    head("format | MB | MB/s | M requests/s | speed relative to a bare scan | result hash");
    let requests = requests(count);
    let directory = std::env::temp_dir().join(format!("ssdlab-bench-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("the temporary directory is writable");
    for format in FORMATS {
        let path = directory.join("trace");
        write(&path, format, &requests);
        let bytes = fs::metadata(&path).map_or(0, |data| data.len()) as f64;
        let (mut best, mut bare, mut hash) = (f64::INFINITY, f64::INFINITY, 0);
        for _ in 0..rounds {
            let (seconds, read, result) = read(&path);
            assert_eq!(read as u64, count, "{format} lost requests");
            best = best.min(seconds);
            bare = bare.min(baseline(&path));
            hash = result;
        }
        println!(
            "| {format} | {:.0} | {:.0} | {:.1} | {:.0} % | {hash:08x} |",
            bytes / 1e6,
            bytes / best / 1e6,
            count as f64 / best / 1e6,
            bare / best * 100.0,
        );
    }
    fs::remove_dir_all(&directory).expect("the directory can be removed");
}
