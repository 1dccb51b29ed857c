//! The pattern fitted to the first boot of a phone.

use crate::checker::Reader;
use crate::kind::Kind;
use crate::table::{Fallback, KIB, MEBI, OptionSpec};
use ssdlab_trace::{Locality, Pattern};

pub(super) const LOCALITY: (&str, &str, Reader<Pattern>) = (
    "locality",
    "runs that go on, return and jump in few regions, fitted to the first boot of a phone; a slot here \
     is `workload.align`, and the fit is for 8KiB of it, as `workload.size` too, in a span of 1GiB",
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
    OptionSpec {
        key: "workload.pattern.locality.jump",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        // Source of these nine: fitted to the misses of segment caches under the first boot of Android in the map cache
        // document, which gives neither addresses nor a model; see `Pattern::LOCALITY`.
        fallback: Fallback::Value("5.4%"),
        help: "Chance that a request leaves its run.",
        example: "10%",
    },
    OptionSpec {
        key: "workload.pattern.locality.advance",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("79%"),
        help: "Chance that a request that stays goes on to the next slot, rather than to the same again.",
        example: "50%",
    },
    OptionSpec {
        key: "workload.pattern.locality.back",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("45%"),
        help: "Chance that a jump returns to where an earlier run stopped; else it begins a run at a new place.",
        example: "60%",
    },
    OptionSpec {
        key: "workload.pattern.locality.decay",
        kind: Kind::Float { min: 0.01, max: 1.0 },
        fallback: Fallback::Value("0.847"),
        help: "Ratio of the chances of returning to the run that stopped d + 1 and d runs ago.",
        example: "0.93",
    },
    OptionSpec {
        key: "workload.pattern.locality.runs",
        kind: Kind::Count { min: 1, max: 1 << 20 },
        fallback: Fallback::Value("86"),
        help: "Latest runs that can be returned to.",
        example: "20",
    },
    OptionSpec {
        key: "workload.pattern.locality.spread",
        kind: Kind::Float { min: 0.01, max: 100.0 },
        fallback: Fallback::Value("1.73"),
        help: "A new place is 2^(b u^`spread`) slots away, b being log2 of all slots and u uniform from 0 to 1: the larger, the nearer.",
        example: "2.5",
    },
    OptionSpec {
        key: "workload.pattern.locality.heads",
        kind: Kind::Count { min: 0, max: 1 << 20 },
        fallback: Fallback::Value("90"),
        help: "Regions that all addresses keep to; 0 for the whole span.",
        example: "0",
    },
    OptionSpec {
        key: "workload.pattern.locality.region",
        kind: Kind::Bytes { min: 512, max: KIB * MEBI },
        fallback: Fallback::Value("2MiB"),
        help: "Size of a region.",
        example: "4MiB",
    },
    OptionSpec {
        key: "workload.pattern.locality.stretches",
        kind: Kind::Count { min: 1, max: 1 << 20 },
        fallback: Fallback::Value("6"),
        help: "Stretches of neighbours that the regions form, of random lengths at random places.",
        example: "20",
    },
];
