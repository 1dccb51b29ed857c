//! Cache policies: accesses per second of each policy, relative to a bare FIFO.

use ssdlab_cache::{Access, AccessTrace, Granularity, POLICIES, Trims};
use ssdlab_core::parameter::decimal;
use ssdlab_trace::{Arrival, Generator, Pattern, Request, Source, Workload};

use crate::{Scale, head, machine};

const PAGE: u32 = 4096;
const BATCH: usize = 4096;

/// Converts requests into accesses to numbered objects, the input of all cache simulations.
fn number(requests: &[Request]) -> AccessTrace {
    AccessTrace::new(requests, Granularity::Objects, Trims::Ignore)
        .expect("the trace is within the size limit of `AccessTrace`")
}

/// Returns read requests for one-page objects whose popularity has a Zipf distribution of exponent 1.
fn zipf(objects: u64, count: u64) -> Vec<Request> {
    let workload = Workload {
        pattern: Pattern::named("zipf", &[("theta", decimal(1.0))]).expect("in range"),
        arrival: Arrival::Closed,
        queues: Vec::new(),
        requests: count,
        reads: 1.0,
        sizes: vec![(PAGE, 1.0)],
        align_bytes: PAGE,
        span_bytes: objects * u64::from(PAGE),
        seed: 1,
    };
    let mut source = Generator::new(&workload).expect("the workload is valid");
    let mut requests = Vec::with_capacity(count as usize);
    while source.fill(&mut requests, BATCH).expect("generators cannot fail") > 0 {}
    requests
}

/// Replaces the requests of every second batch of 50,000 with requests that scan all objects in order. Each batch
/// continues the scan of the previous one.
fn with_scans(objects: u64, mut requests: Vec<Request>) -> Vec<Request> {
    let scan = requests.iter_mut().enumerate().filter(|(at, _)| at / 50_000 % 2 == 1);
    for (scanned, (_, request)) in scan.enumerate() {
        request.offset = scanned as u64 % objects * u64::from(PAGE);
    }
    requests
}

/// Simulates a FIFO with minimal code (a ring, and a flag per item); returns the misses.
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

/// Repeats a run; returns the CPU seconds and the result of the fastest repetition.
fn best<T>(rounds: u32, mut run: impl FnMut() -> T) -> (f64, T) {
    let mut timed = || {
        let began = machine::processor_seconds();
        let result = run();
        (machine::processor_seconds() - began, result)
    };
    (1..rounds).fold(timed(), |best, _| {
        let next = timed();
        if next.0 < best.0 { next } else { best }
    })
}

/// Prints accesses per second of each policy.
pub fn report(scale: Scale) {
    let (objects, count, rounds) = scale.pick((1000, 20_000, 1), (1_000_000, 20_000_000, 3));
    println!("## Cache policies: {objects} objects, cache holds 10 % of the objects, {count} accesses, one core\n");
    head(
        "accesses | policy | M accesses per second of processor time | relative to a bare FIFO | misses | result hash",
    );
    let skewed = zipf(objects, count);
    rows("Zipf 1.0", &skewed, objects as u32 / 10, rounds);
    rows("Zipf and scans", &with_scans(objects, skewed), objects as u32 / 10, rounds);
}

fn rows(label: &str, requests: &[Request], capacity: u32, rounds: u32) {
    let (numbering, trace) = best(rounds, || number(requests));
    let (bare, bare_misses) = best(rounds, || bare_fifo(trace.accesses(), trace.items(), capacity as usize));
    let row = |name: &str, seconds: f64, result: Option<&[u64]>| {
        let misses = result.and_then(|misses| misses.get(misses.len().min(capacity as usize) - 1));
        let share =
            misses.map_or(String::new(), |&misses| format!("{:.2} %", misses as f64 * 100.0 / requests.len() as f64));
        let hash = result.map_or(String::new(), |result| format!("{:08x}", machine::hash(&format!("{result:?}"))));
        let millions = requests.len() as f64 / seconds / 1e6;
        println!("| {label} | {name} | {millions:.1} | **{:.2}** | {share} | {hash} |", bare / seconds);
    };
    row("bare FIFO", bare, Some(&[bare_misses]));
    row("assigning numbers to the objects (once for all policies)", numbering, None);
    for info in POLICIES.iter() {
        let simulate =
            || trace.simulate(info, &[], u64::from(capacity)).expect("all objects have the same size").misses;
        let (seconds, misses) = best(rounds, simulate);
        assert!(
            info.name != "fifo" || misses == bare_misses,
            "policy fifo has {misses} misses, but the bare FIFO has {bare_misses}"
        );
        row(info.name, seconds, Some(&[misses]));
        // Omits the one-pass curve of Belady's policy, which would take too long: each access may move many items in
        // the stack.
        let Some(one_pass) = info.role.one_pass.filter(|_| !info.role.needs_future) else { continue };
        let (seconds, curve) = best(1, || one_pass(&trace, trace.items()).expect("the trace contains no removals"));
        assert_eq!(curve.misses()[capacity as usize - 1], misses, "{}", info.name);
        row(&format!("{}, all sizes", info.name), seconds, Some(curve.misses()));
    }
}
