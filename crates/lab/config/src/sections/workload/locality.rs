//! Reads the settings of the workload pattern that is fitted to the first boot of a phone.

use crate::checker::Reader;
use crate::kind::Kind;
use crate::table::{KIB, MEBI, OptionSpec, option};
use ssdlab_trace::{Locality, Pattern};

pub(super) const LOCALITY: (&str, &str, Reader<Pattern>) = (
    "locality",
    "sequential runs that continue, return or jump within a few regions; fitted to the first boot of a phone, with \
     `workload.align` and `workload.size` of 8KiB and a span of 1GiB; a slot has the size `workload.align`",
    |checker| {
        Ok(Pattern::Locality(Locality {
            jump: checker.share("workload.pattern.locality.jump")?,
            advance: checker.share("workload.pattern.locality.advance")?,
            back: checker.share("workload.pattern.locality.back")?,
            decay: checker.float("workload.pattern.locality.decay")?,
            runs: checker.small("workload.pattern.locality.runs")?,
            spread: checker.float("workload.pattern.locality.spread")?,
            heads: checker.small("workload.pattern.locality.heads")?,
            region_bytes: checker.small("workload.pattern.locality.region")?,
            stretches: checker.small("workload.pattern.locality.stretches")?,
        }))
    },
);

pub(super) const OPTIONS: &[OptionSpec] = &[
    option("workload.pattern.locality.jump", Kind::Percent { min: 0.0, max: 100.0 })
        // These nine defaults are fitted to the misses of segment caches during the first boot of Android in the
        // map-cache document. The document gives neither addresses nor a model; see `Pattern::LOCALITY`.
        .default("5.4%")
        .example("10%")
        .help("Chance that a request leaves its run."),
    option("workload.pattern.locality.advance", Kind::Percent { min: 0.0, max: 100.0 })
        .default("79%")
        .example("50%")
        .help("Chance that a request that stays in its run goes to the next slot, not to the same one."),
    option("workload.pattern.locality.back", Kind::Percent { min: 0.0, max: 100.0 })
        .default("45%")
        .example("60%")
        .help(
            "Chance that a request that leaves its run returns to where an earlier run stopped; otherwise it \
             starts a run elsewhere.",
        ),
    option("workload.pattern.locality.decay", Kind::Float { min: 0.01, max: 1.0 })
        .default("0.847")
        .example("0.93")
        .help("Factor by which the chance of returning to an earlier run falls with each later run."),
    option("workload.pattern.locality.runs", Kind::Count { min: 1, max: 1 << 20 })
        .default("86")
        .example("20")
        .help("Number of most recent runs to which a request can return."),
    option("workload.pattern.locality.spread", Kind::Float { min: 0.01, max: 100.0 })
        .default("1.73")
        .example("2.5")
        .help(
            "Distance of a new place: 2^(b u^`spread`) slots, with b = log2 of all slots and u uniform in 0 to \
             1. Larger values keep the place nearer.",
        ),
    option("workload.pattern.locality.heads", Kind::Count { min: 0, max: 1 << 20 })
        .default("90")
        .example("0")
        .help("Number of regions that contain all addresses; 0 uses the whole span."),
    option("workload.pattern.locality.region", Kind::Bytes { min: 512, max: KIB * MEBI })
        .default("2MiB")
        .example("4MiB")
        .help("Size of a region."),
    option("workload.pattern.locality.stretches", Kind::Count { min: 1, max: 1 << 20 })
        .default("6")
        .example("20")
        .help("Number of groups of neighbouring regions; groups have random lengths and places."),
];
