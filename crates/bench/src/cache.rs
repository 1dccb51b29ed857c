//! Cache policies: accesses per second of each, against a bare FIFO.

use std::time::Instant;

use ssdlab_cache::{Access, AccessTrace, Granularity, POLICIES, Splitter, Trims};
use ssdlab_trace::{Arrival, Generator, Op, Pattern, Request, Source, Workload};

use crate::{Scale, machine};

const PAGE: u32 = 4096;
const BATCH: usize = 4096;

/// The accesses of a workload and the seconds that it took to number their objects.
struct Numbered {
    label: &'static str,
    trace: AccessTrace,
    seconds: f64,
}

fn number(label: &'static str, batches: impl Iterator<Item = Vec<Request>>) -> Numbered {
    let mut splitter = Splitter::new(Granularity::Objects, Trims::Ignore).expect("objects need no size");
    let (mut accesses, mut seconds) = (Vec::new(), 0.0);
    for batch in batches {
        accesses.reserve(batch.len());
        let began = Instant::now();
        splitter.split(&batch, &mut accesses).expect("few objects");
        seconds += began.elapsed().as_secs_f64();
    }
    let trace = AccessTrace::from_accesses(accesses, splitter.universe().len(), true).expect("few accesses");
    Numbered { label, trace, seconds }
}

/// Requests to objects of one page with popularity by Zipf's law, exponent 1.
fn zipf(objects: u64, count: u64) -> impl Iterator<Item = Vec<Request>> {
    let workload = Workload {
        pattern: Pattern::Zipf { theta: 1.0 },
        arrival: Arrival::Closed,
        requests: count,
        reads: 1.0,
        sizes: vec![(PAGE, 1.0)],
        align_bytes: PAGE,
        span_bytes: objects * u64::from(PAGE),
        seed: 1,
    };
    let mut source = Generator::new(&workload).expect("the workload is valid");
    std::iter::from_fn(move || {
        let mut batch = Vec::with_capacity(BATCH);
        (source.fill(&mut batch, BATCH).expect("a generator does not fail") > 0).then_some(batch)
    })
}

/// Every other batch of 12 is part of a scan over all objects, again and again.
fn with_scans(objects: u64, count: u64) -> impl Iterator<Item = Vec<Request>> {
    let mut scanned = 0;
    zipf(objects, count).enumerate().map(move |(number, mut batch)| {
        if number / 12 % 2 == 1 {
            for request in &mut batch {
                *request = Request { offset: scanned % objects * u64::from(PAGE), op: Op::Read, ..*request };
                scanned += 1;
            }
        }
        batch
    })
}

/// The least that simulates a cache: a ring of numbers and a flag for each.
fn bare_fifo(accesses: &[Access], items: u32, capacity: usize) -> u64 {
    let (mut cached, mut ring) = (vec![false; items as usize], vec![0_u32; capacity]);
    let (mut misses, mut at) = (0_usize, 0);
    for access in accesses {
        if cached[access.item as usize] {
            continue;
        }
        if misses >= capacity {
            cached[ring[at] as usize] = false;
        }
        cached[access.item as usize] = true;
        ring[at] = access.item;
        at = if at + 1 == capacity { 0 } else { at + 1 };
        misses += 1;
    }
    misses as u64
}

/// The least of several runs' seconds, and what they found.
fn best<T>(rounds: u32, mut run: impl FnMut() -> T) -> (f64, T) {
    let mut timed = || {
        let began = Instant::now();
        let found = run();
        (began.elapsed().as_secs_f64(), found)
    };
    (1..rounds).fold(timed(), |best, _| {
        let next = timed();
        if next.0 < best.0 { next } else { best }
    })
}

/// Prints accesses per second of each policy.
pub fn report(scale: Scale) {
    let (objects, count, rounds) = match scale {
        Scale::Smoke => (1000, 20_000, 1),
        Scale::Real => (1_000_000, 20_000_000, 3),
    };
    println!("## Cache policies: {objects} objects, a cache of a tenth of them, {count} accesses, one core\n");
    println!("| accesses | policy | M accesses/s | against a bare FIFO | misses | result |");
    println!("|---|---|---|---|---|---|");
    for numbered in [number("Zipf 1.0", zipf(objects, count)), number("Zipf and scans", with_scans(objects, count))] {
        let Numbered { label, trace, seconds } = &numbered;
        let row = |name: &str, seconds: f64, bare: f64, misses: Option<u64>| {
            let share = misses.map_or(String::new(), |misses| format!("{:.2} %", misses as f64 * 100.0 / count as f64));
            let hash = misses.map_or(String::new(), |misses| format!("{:08x}", machine::hash(&misses.to_string())));
            let millions = count as f64 / seconds / 1e6;
            println!("| {label} | {name} | {millions:.1} | **{:.2}** | {share} | {hash} |", bare / seconds);
        };
        let capacity = objects / 10;
        let (bare, misses) = best(rounds, || bare_fifo(trace.accesses(), trace.items(), capacity as usize));
        row("bare FIFO", bare, bare, Some(misses));
        row("numbering objects", *seconds, bare, None);
        for info in POLICIES {
            let simulate = || trace.simulate(info, &[], capacity).expect("objects are of one size").misses;
            let (seconds, found) = best(rounds, simulate);
            assert!(info.name != "fifo" || found == misses, "{found} misses, the bare FIFO {misses}");
            row(info.name, seconds, bare, Some(found));
        }
    }
    println!();
}
