//! Benchmark of FTLs with log blocks, without event timing: random and interleaved sequential overwrites, compared with
//! a bare loop that merges blocks.

use ssdlab_core::{HugeVec, Rng};

use ssdlab_ftl::choice::LOG_FTLS;

use crate::{Scale, head, machine, measured};

const PAGES_PER_BLOCK: u32 = 256;

/// Measures a bare loop that moves random blocks page by page, with a map and its inverse. Returns page moves per
/// second.
fn bare_merges(pages: u32, merges: u64) -> f64 {
    let blocks = pages / PAGES_PER_BLOCK;
    let mut l2p = HugeVec::filled(0_u32, pages as usize);
    let mut p2l = HugeVec::filled(0_u32, (pages + PAGES_PER_BLOCK) as usize);
    let mut data: Vec<u32> = (0..blocks).collect();
    let mut spare = blocks;
    let mut rng = Rng::named(1, "merges");
    // The maps are accessed as slices, so that their pointers stay in registers.
    let (l2p, p2l) = (&mut *l2p, &mut *p2l);
    let began = machine::processor_seconds();
    for _ in 0..merges {
        let block = rng.below(u64::from(blocks)) as u32;
        let (from, to) = (block * PAGES_PER_BLOCK, spare * PAGES_PER_BLOCK);
        for offset in 0..PAGES_PER_BLOCK {
            l2p[(from + offset) as usize] = to + offset;
            p2l[(to + offset) as usize] = from + offset;
        }
        std::mem::swap(&mut data[block as usize], &mut spare);
    }
    std::hint::black_box((&l2p[0], &p2l[0]));
    (merges * u64::from(PAGES_PER_BLOCK)) as f64 / (machine::processor_seconds() - began)
}

/// Prints programs and reads per second of each FTL.
pub fn report(scale: Scale) {
    let (capacity_mib, writes, reads) = scale.pick((512, 20_000_u64, 20_000_u64), (32 << 10, 2_000_000, 20_000_000));
    println!(
        "## Untimed log-block FTLs: 4 KiB overwrites of {capacity_mib} MiB, full drive, 7 % log blocks, 256-page blocks\n"
    );
    head(
        "FTL | workload | M programs/s | bare merges, M programs/s | ratio | write amplification | M random reads/s | map bytes/page | result hash",
    );
    let pages = capacity_mib * 256;
    for ftl in LOG_FTLS.iter().map(|info| info.name) {
        for (label, pattern) in [("uniform", "uniform"), ("8 streams, 90 % sequential", "streams")] {
            let common = [
                format!("ftl={ftl}"),
                format!("device.capacity={capacity_mib}MiB"),
                "time=count".into(),
                "precondition.overwrite=none".into(),
                "host.warmup=4096".into(),
                format!("workload.pattern={pattern}"),
            ];
            let with = |more: &[String]| common.iter().chain(more).cloned().collect::<Vec<_>>();
            let mut sets = with(&["workload.reads=0%".into(), format!("workload.requests={writes}")]);
            if pattern == "streams" {
                sets.extend(["sequential=90%", "streams=8"].map(|set| format!("workload.pattern.streams.{set}")));
            }
            let (seconds, summary) = measured(&sets);
            let programs = summary.flash.0.programmed() as f64 / seconds;
            // `writes / 2` moves take long enough to be timed by a clock of millisecond resolution.
            let bare = bare_merges(pages, writes / 2);
            let sets = with(&["workload.reads=100%".into(), format!("workload.requests={reads}")]);
            let reads_per_s = if pattern == "uniform" {
                format!("{:.1}", reads as f64 / measured(&sets).0 / 1e6)
            } else {
                "as above".into()
            };
            println!(
                "| {ftl} | {label} | {:.1} | {:.1} | **{:.2}** | {:.2} | {reads_per_s} | {:.2} | {:08x} |",
                programs / 1e6,
                bare / 1e6,
                programs / bare,
                summary.write_amplification.unwrap_or(0.0),
                summary.device.memory_bytes as f64 / summary.device.physical_pages as f64,
                machine::hash(&machine::flash_text(&summary.flash)),
            );
        }
    }
}
