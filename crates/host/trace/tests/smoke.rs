//! Runs the fuzzers' body on seeded mutations of valid traces; fast enough for every test run.
//!
//! A failure message states format and seed. `fuzz/` searches with the same body for longer.

use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;

use ssdlab_core::Rng;
use ssdlab_trace::{FORMATS, Format, Op, Parted, Partition, Request, fuzz, open_writer};

const MUTATIONS: u64 = 1_500;

/// Returns a small valid trace of a format.
fn sample(format: Format) -> Vec<u8> {
    let text = match format.name {
        "systor17" => {
            "Timestamp,Response,IOType,LUN,Offset,Size\n1455592800.1,0.001,R,0,4096,512\n1455592801.2,,W,6,0,4096\n\
             1455592801.3,0.1,,0,0,0\n"
        }
        "tencent" => "1538323199,105352008,584,1,1576\n1538323199,8,8,0,1576\n1538323200,8,8,0,9\n",
        "fiu" => {
            "89966034855846 4892 syslogd 904265560 8 W 6 0 b14a9b5c5d4a0bd9\n\
             89966034855900 1 a b 8 8 R 6 0 b14a9b5c5d4a0bd9\n"
        }
        "blkparse" => {
            "  7,0    1        0     0.000000000  3889  Q  WS 9887824 + 8 [x]\n\
             \x20 7,0    1        0     0.000030447  3889  P   N [x]\n\
             \x20 7,0    0        0     0.286755797  3738  D FWFSM 25468912 + 8 [x]\n\
             \x20 7,1    0        0     0.286755799  3738  C  FN 0 [0]\nCPU0 (7,0):\n Reads Queued: 1\n"
        }
        "ftrace" => {
            "# tracer: nop\n  fio-31 [002] d..1. 50.123456: block_rq_issue: 8,0 WS 4096 () 2048 + 8 none,0,0 [fio]\n\
             \x20 fio 31/32 [001] 50.123999: block:block_rq_issue: 8,0 FF 0 () 0 + 0 [f o]\ncpus=4\n\
             \x20 <idle>-0 [001] d.h1. 50.124100: block_rq_complete: 8,0 WS () 2048 + 8 [0]\n"
        }
        "etw" => {
            "BeginHeader\nDiskFlush, TimeStamp, Process Name ( PID), ThreadID, ElapsedTime, DiskNum\nEndHeader\n\
             DiskRead, 1400, a (1), 5, 0xf, 0x2000, 0x1000, 400, 2, 0x6, 9, Normal, x, 0xf, \"C:\\a, b\"\n\
             DiskReadInit, 1500, a (1), 5, 0xf\nDiskFlush, 1900, a (1), 5, 300, 2\n"
        }
        "columns" => "when,what,where,much\n17,R,0,512\n19,Write,4096,512\n20,\"28\",8192,1\n",
        _ => return written(format),
    };
    text.as_bytes().to_vec()
}

/// Writes a few requests with ssdlab's writer of the format.
fn written(format: Format) -> Vec<u8> {
    let requests: Vec<Request> = (0..12)
        .map(|n| {
            let op = Op::ALL[n as usize % 4];
            let (offset, bytes) = if op == Op::Flush { (0, 0) } else { (n << 33, 4096) };
            Request { time_ns: n * 1_000_100, offset, bytes, op, flags: n as u8, stream: n as u16 % 3 }
        })
        .collect();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let streams = ["", "17", "99"].map(String::from);
    if format.name == "ssdlab-volume" {
        let path = folder.join(Partition::file_name(0));
        // A partition appends to existing files.
        let _ = std::fs::remove_file(&path);
        let (volumes, names) = (vec![0; requests.len()], vec!["7".into()]);
        let parted = Parted { requests, volumes, names, streams: streams.into(), whole_seconds: false };
        Partition::new(&folder).add(&parted).unwrap();
        return std::fs::read(path).unwrap();
    }
    let path = folder.join(format!("smoke.{}", format.name));
    let mut writer = open_writer(&path, format).unwrap();
    writer.write(&requests, &streams).unwrap();
    writer.finish().unwrap();
    std::fs::read(path).unwrap()
}

/// Tokens that are difficult to parse.
const TOKENS: [&[u8]; 14] = [
    b"",
    b"\n",
    b"\r\n",
    b",",
    b" ",
    b"-1",
    b"0",
    b"18446744073709551615",
    b"18446744073709551616",
    b"1e99",
    b"NaN",
    b"\xEF\xBB\xBF",
    b"\0\0\0\0",
    b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
];

fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let until = (at + rng.below(12) as usize).min(bytes.len());
        match rng.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..until)),
            3 => drop(bytes.splice(at..until, TOKENS[rng.below(TOKENS.len() as u64) as usize].iter().copied())),
            4 => bytes.extend_from_within(at..),
            _ => bytes.insert(at, rng.below(256) as u8),
        }
    }
}

#[test]
fn no_mutation_of_a_trace_panics() {
    for &format in FORMATS.iter() {
        let good = sample(format);
        fuzz::body(Some(format), &good);
        fuzz::body(None, &good);
        for seed in 0..MUTATIONS {
            let mut rng = Rng::named(seed, format.name);
            let mut bytes = good.clone();
            mutate(&mut bytes, &mut rng);
            let known = if seed % 4 == 0 { None } else { Some(format) };
            let run = std::panic::catch_unwind(AssertUnwindSafe(|| fuzz::body(known, &bytes)));
            assert!(run.is_ok(), "{} seed {seed}: {:?}", format.name, bytes.escape_ascii().to_string());
        }
    }
}

#[test]
fn no_mutation_of_a_compressed_trace_panics() {
    let csv = FORMATS[0];
    let text = sample(csv).repeat(200);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&text).unwrap();
    for good in [encoder.finish().unwrap(), zstd::encode_all(&text[..], 1).unwrap()] {
        fuzz::body(None, &good);
        for seed in 0..MUTATIONS {
            let mut bytes = good.clone();
            mutate(&mut bytes, &mut Rng::named(seed, "compressed"));
            let run = std::panic::catch_unwind(AssertUnwindSafe(|| fuzz::body(Some(csv), &bytes)));
            assert!(run.is_ok(), "seed {seed}");
        }
    }
}

#[test]
fn any_bytes_as_any_format_do_not_panic() {
    for seed in 0..200 {
        let mut rng = Rng::named(seed, "noise");
        let bytes: Vec<u8> = (0..rng.below(400)).map(|_| rng.below(256) as u8).collect();
        for &format in FORMATS.iter() {
            fuzz::body(Some(format), &bytes);
        }
        fuzz::body(None, &bytes);
    }
}
