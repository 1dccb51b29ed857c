//! Benchmark of overwrites with page mapping, without event timing: the complete simulator against a minimal loop.

use ssdlab_ftl::gc;
use ssdlab_ftl::map::ram;
use ssdlab_ftl::page::PageOptions;
use ssdlab_ftl::{FtlChoice, placement};
use ssdlab_nand::Geometry;
use ssdlab_sim::{Overwrite, Precondition, Setup};

use crate::baseline::Loop;
use crate::drive::timed;
use crate::{Scale, head, machine};

const PAGE_BYTES: u64 = 4096;
const BLOCK_SHIFT: u32 = 8;
const RESERVE_BLOCKS: u32 = 2;

fn setup(capacity_bytes: u64, op: f64) -> Setup {
    let logical_pages = (capacity_bytes / PAGE_BYTES) as u32;
    let pages_per_block = 1 << BLOCK_SHIFT;
    let data_blocks = (f64::from(logical_pages) * (1.0 + op) / f64::from(pages_per_block)).ceil() as u32;
    let options = PageOptions::new(gc::greedy::INFO.defaults(), &placement::shared::INFO);
    let geometry = Geometry::single_plane(PAGE_BYTES as u32, pages_per_block, data_blocks + RESERVE_BLOCKS);
    Setup {
        warmup_requests: 4096,
        precondition: Precondition { fill: 1.0, overwrite: Overwrite::Passes(1.5) },
        ..Setup::new(geometry, logical_pages, FtlChoice::Page(options, ram::INFO.defaults()))
    }
}

/// Prints the table that compares the complete simulator with a minimal loop, for several drive sizes and
/// over-provisioning values.
pub fn report(scale: Scale) {
    println!("## Untimed page mapping: uniform random 4 KiB overwrites, greedy, 256-page blocks\n");
    head(
        "device | OP | bare loop, M programs/s | ssdlab, M programs/s | ratio | M host writes/s | WA loop | WA ssdlab | map bytes/page | resident bytes/page | result hash",
    );
    let (sizes, rounds): (&[(u64, u64)], u32) = scale
        .pick((&[(16 << 20, 20_000)], 1), (&[(64 << 30, 6_000_000), (8 << 30, 12_000_000), (1 << 30, 30_000_000)], 5));
    let mut first = true;
    for &(capacity_bytes, writes) in sizes {
        for op in [0.07, 0.28] {
            let setup = setup(capacity_bytes, op);
            let (mut ours, mut theirs, mut theirs_wa) = (0.0_f64, 0.0_f64, 0.0);
            let before = machine::resident_bytes();
            machine::reset_peak();
            let (_, mut seconds, mut summary) = timed(&setup, writes, 0.0);
            let resident = machine::peak_resident_bytes().saturating_sub(before);

            let mut device = Loop::filled(setup.logical_pages, setup.geometry.blocks, BLOCK_SHIFT, 1);
            device.overwrite(u64::from(setup.logical_pages) * 3 / 2);
            // The whole stack and the bare loop alternate, so that interference affects both equally.
            for round in 0..rounds {
                if round > 0 {
                    (_, seconds, summary) = timed(&setup, writes, 0.0);
                }
                ours = ours.max(summary.flash.0.programmed() as f64 / seconds);
                let began = machine::processor_seconds();
                let work = device.overwrite(writes);
                theirs = theirs.max(work.programs as f64 / (machine::processor_seconds() - began));
                theirs_wa = work.programs as f64 / work.host as f64;
            }
            let pages = setup.geometry.pages() as f64;
            // Resident memory can be measured only for the first row, because later rows reuse freed memory.
            let resident_per_page =
                if first { format!("{:.2}", resident as f64 / pages) } else { "not measured".to_owned() };
            first = false;
            println!(
                "| {} GiB | {:.0} % | {:.1} | {:.1} | **{:.2}** | {:.1} | {theirs_wa:.3} | {:.3} | {:.2} | {} | {:08x} |",
                capacity_bytes as f64 / f64::from(1 << 30),
                op * 100.0,
                theirs / 1e6,
                ours / 1e6,
                ours / theirs,
                ours / summary.write_amplification.unwrap_or(1.0) / 1e6,
                summary.write_amplification.unwrap_or(0.0),
                summary.device.memory_bytes as f64 / pages,
                resident_per_page,
                machine::hash(&machine::flash_text(&summary.flash)),
            );
        }
    }
}
