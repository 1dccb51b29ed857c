//! Benchmark of the map-cache prediction: one pass for all cache sizes, compared with a separate simulation of each
//! cache.

use std::path::PathBuf;
use std::time::Instant;

use ssdlab_advice::{MapAdvisor, MapSizes};
use ssdlab_ftl::map::{MapModel, SegmentCache, segments};
use ssdlab_sim::Setup;
use ssdlab_trace::{Generator, Op, ReadOptions, Request, Source, TraceReader};

use crate::{Scale, head, machine, settings_of};

const BATCH: usize = 4096;

fn requests(source: &mut dyn Source, limit: usize) -> Vec<Request> {
    let mut requests = Vec::new();
    while requests.len() < limit && source.fill(&mut requests, BATCH.min(limit)).expect("the source is valid") > 0 {}
    requests.truncate(limit);
    requests
}

/// Returns the page look-ups of requests that cover whole pages. Each look-up has a flag, which is true if the map
/// entry changes.
fn look_ups(requests: &[Request], page_bytes: u32) -> Vec<(u32, bool)> {
    let page_bytes = u64::from(page_bytes);
    let accesses = requests.iter().filter(|request| matches!(request.op, Op::Read | Op::Write));
    let pages = accesses.flat_map(|request| {
        let pages = request.offset / page_bytes..request.end().div_ceil(page_bytes);
        pages.map(|page| (page as u32, request.op == Op::Write))
    });
    pages.collect()
}

/// Simulates all caches in one pass; returns the elapsed seconds and the misses of each cache.
fn one_pass(setup: &Setup, sizes: &MapSizes, requests: &[Request]) -> (f64, Vec<u64>) {
    let began = Instant::now();
    let mut advisor = MapAdvisor::new(setup, sizes).expect("the sizes are valid");
    requests.chunks(BATCH).for_each(|batch| advisor.add(batch).expect("the requests fit the device"));
    let advice = advisor.advice();
    let seconds = began.elapsed().as_secs_f64();
    let misses = advice.segments.iter().flat_map(|advice| {
        sizes.cache_bytes.iter().map(move |cache| {
            let at = (cache / u64::from(advice.segment_bytes)) as usize - 1;
            advice.look_ups.reads + advice.look_ups.changes - advice.read_hits[at] - advice.change_hits[at]
        })
    });
    (seconds, misses.collect())
}

/// Simulates each map cache separately, without flash and host; returns the total seconds and the misses of each cache.
fn one_by_one(setup: &Setup, sizes: &MapSizes, look_ups: &[(u32, bool)]) -> (f64, Vec<u64>) {
    let began = Instant::now();
    let mut misses = Vec::new();
    for &segment_bytes in &sizes.segment_bytes {
        for &cache_bytes in &sizes.cache_bytes {
            let entry = sizes.entry_bytes.into();
            let changes = [("cache", cache_bytes), ("segment", segment_bytes.into()), ("entry", entry)];
            let choice = segments::INFO.set(&changes).expect("the parameters are in range");
            let mut cache = SegmentCache::new(setup.logical_pages, setup.geometry.page_bytes, &choice)
                .expect("the sizes are valid");
            let mut missed = 0;
            for &(page, changes) in look_ups {
                missed += u64::from(!cache.look_up(page).hit);
                if changes {
                    cache.changed(page);
                }
            }
            misses.push(missed);
        }
    }
    (began.elapsed().as_secs_f64(), misses)
}

/// Prints a table that compares one pass with separate runs for each workload.
pub fn report(scale: Scale) {
    let (count, rounds) = scale.pick((5_000, 1), (1_000_000, 5));
    println!("## Advice on map caches: 7 cache sizes and 4 segment sizes, one core\n");
    head("requests | look-ups | 28 separate runs, s | one pass, s | ns/look-up | ratio | result hash");
    for pattern in ["uniform", "zipf", "sequential", "varmail.csv.zst"] {
        let (settings, requests) = if pattern.contains('.') {
            let settings = settings_of("mapcache", &[]).expect("the preset is valid");
            let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../traces").join(pattern);
            let mut reader =
                TraceReader::open(&[path], &ReadOptions::default()).expect("the trace is part of the repository");
            let mut requests = requests(&mut reader, count);
            // Rounds requests to whole pages, so that each page is looked up once.
            let page = u64::from(settings.setup.geometry.page_bytes);
            requests.retain(|request| matches!(request.op, Op::Read | Op::Write));
            for request in &mut requests {
                let (first, after) = (request.offset / page, request.end().div_ceil(page));
                (request.offset, request.bytes) = (first * page, ((after - first) * page) as u32);
            }
            (settings, requests)
        } else {
            let sets = [format!("workload.pattern={pattern}"), format!("workload.requests={count}")];
            let mut settings = settings_of("mapcache", &sets).expect("the settings are valid");
            let page = settings.setup.geometry.page_bytes;
            settings.workload.sizes = vec![(page, 1.0)];
            settings.workload.align_bytes = page;
            let mut generator = Generator::new(&settings.workload).expect("the workload is valid");
            let requests = requests(&mut generator, count);
            (settings, requests)
        };
        let sizes = MapSizes::usual(settings.setup.geometry.page_bytes, 4);
        let look_ups = look_ups(&requests, settings.setup.geometry.page_bytes);
        let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
        let mut result = Vec::new();
        // Alternates the single pass and the separate runs, so that interference from other programs affects both
        // equally.
        for _ in 0..rounds {
            let (seconds, misses) = one_pass(&settings.setup, &sizes, &requests);
            let (seconds_each, misses_each) = one_by_one(&settings.setup, &sizes, &look_ups);
            assert_eq!(misses, misses_each, "misses of {pattern}");
            (ours, theirs, result) = (ours.min(seconds), theirs.min(seconds_each), misses);
        }
        println!(
            "| {pattern} | {} | {theirs:.3} | {ours:.3} | {:.1} | **{:.1}** | {:08x} |",
            look_ups.len(),
            ours * 1e9 / look_ups.len() as f64,
            theirs / ours,
            machine::hash(&format!("{result:?}")),
        );
    }
}
