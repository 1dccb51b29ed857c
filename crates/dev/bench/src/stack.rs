//! Benchmark of a drive with a block layer: simulated requests per second relative to the drive alone.

use ssdlab_sim::{BlockOptions, Overwrite, Setup, block_options};

use crate::drive::{fastest, setup};
use crate::{Scale, head, machine};

const DEPTH: u32 = 64;

/// Prints requests per second of the drive alone and with the block layer.
pub fn report(scale: Scale) {
    let (capacity_bytes, requests) = scale.pick((1_u64 << 30, 10_000), (64 << 30, 1_000_000));
    println!(
        "## The block layer above a drive: random 4 KiB requests, {DEPTH} outstanding, drive of section `drive`\n"
    );
    head("requests | scheduler | slots | k requests/s | relative to the drive alone | simulated IOPS | result hash");
    for (label, reads) in [("reads", 1.0), ("70 % reads", 0.7)] {
        let alone = setup(capacity_bytes, DEPTH, Overwrite::None);
        let above =
            |name: &str, slots| Setup { block: Some(BlockOptions { slots, ..block_options(name) }), ..alone.clone() };
        let stacks: [(&str, u32, Setup); 5] = [
            ("direct", DEPTH, alone.clone()),
            ("none", 32, above("none", 32)),
            ("mq-deadline", 32, above("mq-deadline", 32)),
            ("mq-deadline", DEPTH, above("mq-deadline", DEPTH)),
            ("pardispatcher", 31, above("pardispatcher", 31)),
        ];
        let runs = fastest(&stacks.clone().map(|(_, _, setup)| setup), requests, reads);
        let alone_seconds = runs[0].0;
        for ((name, slots, _), (seconds, summary)) in stacks.into_iter().zip(runs) {
            println!(
                "| {label} | {name} | {slots} | {:.0} | {:.0} % | {:.0} | {:08x} |",
                requests as f64 / seconds / 1e3,
                100.0 * alone_seconds / seconds,
                summary.time.and_then(|time| time.iops).unwrap_or(0.0),
                machine::hash(&format!("{} {:?}", machine::flash_text(&summary.flash), summary.time)),
            );
        }
    }
}
