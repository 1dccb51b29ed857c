//! The block layer above a drive: what it leaves of the drive's own requests per second.

use ssdlab_sim::{BlockOptions, Overwrite, Setup};

use crate::drive::{setup, timed};
use crate::{Scale, machine};

const DEPTH: u32 = 64;
/// Runs of each, in turn, of which the fastest counts.
const ROUNDS: u32 = 5;

/// Prints requests per second of drive and stack.
pub fn report(scale: Scale) {
    let (capacity_bytes, requests) = match scale {
        Scale::Smoke => (1_u64 << 30, 10_000),
        Scale::Real => (64 << 30, 1_000_000),
    };
    println!(
        "## The block layer above a drive: random 4 KiB requests, {DEPTH} outstanding, the drive of the section above\n"
    );
    println!("| requests | scheduler | slots | k requests/s | of the drive alone | simulated IOPS | result |");
    println!("|---|---|---|---|---|---|---|");
    for (label, reads) in [("reads", 1.0), ("70 % reads", 0.7)] {
        let alone = setup(capacity_bytes, DEPTH, Overwrite::None);
        let above =
            |name: &str, slots| Setup { block: Some(BlockOptions { slots, ..BlockOptions::of(name) }), ..alone };
        let stacks: [(&str, u32, Setup); 5] = [
            ("direct", DEPTH, alone),
            ("none", 32, above("none", 32)),
            ("mq-deadline", 32, above("mq-deadline", 32)),
            ("mq-deadline", DEPTH, above("mq-deadline", DEPTH)),
            ("pardispatcher", 31, above("pardispatcher", 31)),
        ];
        let mut best = [f64::INFINITY; 5];
        let mut results = Vec::new();
        for _ in 0..ROUNDS {
            // In turn, so that a slow spell of the machine meets all of them.
            results = stacks
                .iter()
                .zip(&mut best)
                .map(|((_, _, setup), best)| {
                    let (_, seconds, summary) = timed(setup, requests, reads);
                    *best = best.min(seconds);
                    summary
                })
                .collect();
        }
        for (((name, slots, _), seconds), summary) in stacks.iter().zip(best).zip(results) {
            println!(
                "| {label} | {name} | {slots} | {:.0} | {:.0} % | {:.0} | {:08x} |",
                requests as f64 / seconds / 1e3,
                100.0 * best[0] / seconds,
                summary.time.and_then(|time| time.iops).unwrap_or(0.0),
                machine::hash(&format!("{:?} {:?}", summary.flash, summary.time)),
            );
        }
    }
    println!();
}
