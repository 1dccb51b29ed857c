//! Benchmark of reads through a partly cached map, without event timing.

use std::iter;

use ssdlab_ftl::map::cache::POLICIES;

use crate::{Scale, head, machine, measured};

/// Prints reads per second of each kind of map, with a quarter of the map cached.
pub fn report(scale: Scale) {
    let (capacities_mib, reads): (&[u32], u64) = scale.pick((&[512], 20_000), (&[1 << 10, 32 << 10], 20_000_000));
    println!("## Untimed maps in flash: uniform random 4 KiB reads of a filled drive, a quarter of the map cached\n");
    head("device | map | M reads/s | relative to the map in RAM | hit ratio | result hash");
    for &capacity_mib in capacities_mib {
        rows(capacity_mib, reads);
    }
}

fn rows(capacity_mib: u32, reads: u64) {
    let entries = capacity_mib * 256;
    let segments = |policy: &str| {
        let cache = format!("ftl.page.map.segments.cache={entries}B");
        vec![cache, format!("ftl.page.map.segments.policy={policy}"), "ftl.page.map.segments.segment=4KiB".into()]
    };
    let mut in_ram = None;
    let cached = POLICIES.iter().map(|info| (format!("segments, {}", info.name), segments(info.name)));
    let dftl = ("DFTL".into(), vec![format!("ftl.page.map.dftl.cmt={}", entries / 4)]);
    for (label, sets) in iter::once(("in RAM".into(), vec![])).chain(cached).chain([dftl]) {
        let common = [
            format!("device.capacity={capacity_mib}MiB"),
            "time=count".into(),
            "precondition.overwrite=none".into(),
            // The warm-up makes as many look-ups as the map has entries, but at most 4,000,000. This fills every cache.
            format!("host.warmup={}", entries.min(4_000_000)),
            "workload.reads=100%".into(),
            format!("workload.requests={}", reads + u64::from(entries.min(4_000_000))),
        ];
        let (seconds, summary) = measured(&[common.as_slice(), &sets].concat());
        let per_second = reads as f64 / seconds;
        let base = *in_ram.get_or_insert(per_second);
        let hits = summary.map.and_then(|map| map.reads.hit_ratio);
        println!(
            "| {capacity_mib} MiB | {label} | {:.1} | {:.2} | {} | {:08x} |",
            per_second / 1e6,
            per_second / base,
            hits.map_or("all".into(), |ratio| format!("{:.1} %", ratio * 100.0)),
            machine::hash(&format!("{} {:?}", machine::flash_text(&summary.flash), summary.map)),
        );
    }
}
