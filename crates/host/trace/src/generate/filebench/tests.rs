use std::collections::BTreeSet;

use super::*;
use crate::testing::{refusal, workload};
use crate::{Generator, Pattern, Source, Workload, flag};

/// A small fileset of a personality with a small cache.
fn small(name: &str) -> Filebench {
    let personality = PERSONALITIES.get(name).unwrap();
    let database = personality.role.work == Work::Database;
    Filebench {
        personality,
        files: if database { 4 } else { 600 },
        file_bytes: if database { 8 << 20 } else { 40 << 10 },
        threads: 20,
        cache_bytes: 8 << 20,
        seeding: Seeding::Filebench,
        max_bio_bytes: 1 << 20,
        think_ns: 20_000,
        service_ns: 100_000,
        depth: 32,
        bytes_per_s: 500_000_000,
    }
}

fn spanning(filebench: Filebench, span_bytes: u64) -> Workload {
    Workload { pattern: Pattern::Filebench(filebench), span_bytes, ..workload("uniform", &[]) }
}

fn requests(run: &mut FilebenchRun, count: usize) -> Vec<Request> {
    (0..count).map(|_| run.next().unwrap()).collect()
}

/// Goal: creating the fileset in parts changes no request, and each part is short. Method: creates 10,000 files, each
/// of which takes at least one event.
#[test]
fn the_fileset_is_created_by_parts() {
    let filebench = Filebench { files: 10_000, file_bytes: BLOCK, ..small("webserver") };
    let [mut prepared, mut direct] = [(); 2].map(|()| FilebenchRun::new(&filebench, 512 << 20, 42));
    let mut parts = 1;
    while prepared.prepare().unwrap() {
        parts += 1;
    }
    assert!(parts >= 10_000_u32.div_ceil(EVENTS_AT_A_TIME), "{parts}");
    assert!(prepared.recording && prepared.out.is_empty());
    assert_eq!(requests(&mut prepared, 1000), requests(&mut direct, 1000));
}

/// Goal: only written blocks are read, all bios are within the device, and no dirty page is lost. Method: compares all
/// bios since the creation of the fileset with the set of written blocks.
#[test]
fn bios_read_what_was_written_and_no_dirty_page_is_lost() {
    let span = 512 << 20;
    for personality in PERSONALITIES.iter() {
        let filebench = small(personality.name);
        let mut run = FilebenchRun::new(&filebench, span, 42);
        run.recording = true;
        let mut written = BTreeSet::new();
        let mut ops = [0; 4];
        let mut time_ns = 0;
        for request in requests(&mut run, 60_000) {
            assert!(request.time_ns >= time_ns && request.end() <= span && request.bytes <= filebench.max_bio_bytes);
            assert!(usize::from(request.stream) <= run.streams().len() && request.stream > 0);
            time_ns = request.time_ns;
            ops[request.op as usize] += 1;
            let blocks = request.offset / BLOCK..request.end() / BLOCK;
            match request.op {
                Op::Write => written.extend(blocks),
                Op::Read => assert!(blocks.into_iter().all(|block| written.contains(&block)), "{request:?}"),
                _ => assert_eq!(request.bytes, 0),
            }
        }
        assert!(ops[0] > 100 && ops[1] > 100, "{} reads and writes: {ops:?}", personality.name);
        run.fs.check();
        assert!(run.fs.fate.written > 0);
    }
}

/// Goal: a commit consists of descriptors and metadata, then one block with the flush. Method: examines all writes of
/// jbd2.
#[test]
fn commits_end_with_a_durable_block() {
    let mut run = FilebenchRun::new(&small("varmail"), 1 << 30, 1);
    let log = DiskLayout::new(1 << 30).journal();
    let seal = flag::SYNC | flag::META | flag::FUA | flag::PREFLUSH;
    let (mut seals, mut logged, mut end) = (0, 0, log.start + 1);
    for request in requests(&mut run, 50_000) {
        let block = (request.offset / BLOCK) as u32;
        // The log's superblock is written when space is freed.
        if request.op == Op::Flush || !log.contains(&block) || block == log.start {
            continue;
        }
        assert_eq!((request.op, request.bytes, request.stream), (Op::Write, 4096, run.journal_stream()));
        if request.flags == seal {
            assert!(logged >= 2, "at least a descriptor and a block");
            (seals, logged) = (seals + 1, 0);
        } else {
            assert_eq!(request.flags, flag::SYNC | flag::META);
            logged += 1;
        }
        // The creation of the fileset has already written to the log.
        assert!(block == end || seals == 0 && logged == 1, "front to back, wrapping around");
        end = if block + 1 == log.end { log.start + 1 } else { block + 1 };
    }
    assert!(seals > 20, "{seals}");
}

#[test]
fn varmail_waits_for_what_it_writes_and_fileserver_does_not() {
    let share = |name| {
        let mut run = FilebenchRun::new(&small(name), 1 << 30, 1);
        let threads = run.threads.len() as u16;
        let requests = requests(&mut run, 20_000);
        let writes = requests.iter().filter(|request| request.op == Op::Write && request.flags & flag::META == 0);
        let by_threads = writes.clone().filter(|request| request.stream <= threads && request.flags == flag::SYNC);
        by_threads.count() as f64 / writes.count() as f64
    };
    assert!(share("varmail") > 0.9);
    assert_eq!(share("fileserver"), 0.0);
}

#[test]
fn whole_files_are_read_ahead_but_pages_to_append_to_are_not() {
    let mut run = FilebenchRun::new(&small("fileserver"), 1 << 30, 1);
    let reads = requests(&mut run, 20_000).into_iter().filter(|request| request.op == Op::Read);
    let (ahead, plain): (Vec<_>, Vec<_>) = reads.partition(|request| request.flags == flag::AHEAD);
    assert!(plain.len() > 1000 && plain.iter().all(|request| (request.flags, request.bytes) == (0, 4096)));
    assert!(ahead.len() > 1000 && ahead.iter().any(|request| request.bytes > 64 << 10));
}

#[test]
fn processes_with_separate_seeds_read_different_places() {
    let distinct = |seeding| {
        let mut run = FilebenchRun::new(&Filebench { seeding, ..small("oltp") }, 1 << 30, 1);
        let requests = requests(&mut run, 5_000);
        requests.iter().filter(|r| r.op == Op::Read).map(|r| r.offset).collect::<BTreeSet<_>>().len()
    };
    assert!(distinct(Seeding::Independent) > 2 * distinct(Seeding::Filebench));
}

#[test]
fn the_same_seed_gives_the_same_requests() {
    for personality in PERSONALITIES.iter() {
        let generate = |seed| {
            let workload = Workload { seed, requests: 20_000, ..spanning(small(personality.name), 512 << 20) };
            let (mut generator, mut out) = (Generator::new(&workload).unwrap(), Vec::new());
            while generator.fill(&mut out, 777).unwrap() > 0 {}
            assert_eq!((out.len(), generator.progress().done), (20_000, 20_000));
            out
        };
        assert_eq!(generate(3), generate(3));
        assert_ne!(generate(3), generate(4));
    }
}

#[test]
fn sizes_follow_their_distribution() {
    let mut rng = Rng::named(1, "filebench.size");
    let sizes: Vec<f64> = (0..100_000).map(|_| gamma(1 << 20, &mut rng) as f64 / f64::from(1 << 20)).collect();
    let mean = sizes.iter().sum::<f64>() / 1e5;
    let variance = sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / 1e5;
    // Mean 1 (deviation 0.0026) and variance 1 / 1.5 (deviation about 0.006); the bounds are six sigma.
    assert!((mean - 1.0).abs() < 0.016 && (variance - 1.0 / 1.5).abs() < 0.04, "{mean} {variance}");
}

#[test]
fn impossible_settings_are_rejected() {
    let why = |change: &dyn Fn(&mut Filebench)| {
        let mut filebench = small("varmail");
        change(&mut filebench);
        refusal(&spanning(filebench, 512 << 20))
    };
    assert_eq!(why(&|_| {}), "");
    assert!(why(&|f| f.files = 20).ends_with("need more than 20 files; raise it to 21"));
    let message = why(&|f| f.file_bytes = 1 << 20);
    let (_, most) = message.split_once("leaves only ").unwrap().1.split_once("lower it to ").expect(&message);
    let most = Bytes::parse(most).unwrap().0;
    assert_eq!((why(&|f| f.file_bytes = most), most % BLOCK), (String::new(), 0));
    assert!(why(&|f| f.file_bytes = most + BLOCK).contains("leaves only"));
    let message = why(&|f| f.files = 100_000);
    let (_, most) = message
        .split_once("the number of files 100000 is too large for the span of 512MiB; lower it to ")
        .expect(&message);
    let most: u32 = most.parse().expect(&message);
    assert_eq!(why(&|f| (f.files, f.file_bytes) = (most, 4096)), "");
    assert!(why(&|f| (f.files, f.file_bytes) = (most + 1, 4096)).contains("is too large for the span"));
    assert!(why(&|f| (f.files, f.threads) = (most, 64_000)).ends_with(&format!("lower it to {}", most - 1)));
    assert!(why(&|f| f.threads = 0).ends_with("threads: 0 is outside the range 1 to 65000; raise it to 1"));
    assert!(why(&|f| f.threads = 70_000).ends_with("lower it to 65000"));
    assert!(why(&|f| f.file_bytes = 100).ends_with("file_bytes: 100B is smaller than a page; raise it to 4KiB"));
    assert!(why(&|f| f.max_bio_bytes = 100).ends_with("max_bio_bytes: 100B is smaller than a page; raise it to 4KiB"));
    assert!(why(&|f| f.cache_bytes = 100).ends_with("set it to 4MiB"));
    assert!(why(&|f| f.think_ns = 0).contains("think_ns: with a think time of 0, simulated time would stop"));
    assert!(why(&|f| f.depth = 0).contains("depth"));
    assert!(
        refusal(&spanning(small("varmail"), 128 << 20)).ends_with("too small for a file system; raise it to 256MiB")
    );
    assert!(refusal(&spanning(Filebench { files: 0, ..small("oltp") }, 1 << 30)).ends_with("raise it to 1"));
}

/// Goal: the file system has exactly the room that the check computed from numbers alone.
#[test]
fn the_computed_room_exists() {
    for personality in PERSONALITIES.iter() {
        for (files, span) in [(1, 256 << 20), (600, 512 << 20), (50_000, 1 << 30), (200_000, (17 << 30) + 4097)] {
            let counted = FileSystem::room(&DiskLayout::new(span), files, personality.role.files_per_directory);
            let fs = FileSystem::new(span, 1024, files, personality.role.files_per_directory, 8);
            assert_eq!(counted, Some(fs.free_blocks()), "{}: {files} files in {span}", personality.name);
        }
    }
}

#[test]
fn a_full_file_system_is_an_error() {
    let filebench = Filebench { files: 21, ..small("webserver") };
    let mut run = FilebenchRun::new(&filebench, DiskLayout::BYTES_MIN, 1);
    let error = (0..10_000_000).find_map(|_| run.next().err()).expect("the log grows forever");
    let why = "workload.span: the generated files fill the file system; raise workload.span (or device.capacity if the \
               span is the whole device), or lower workload.requests";
    assert_eq!(error.to_string(), why);
}
