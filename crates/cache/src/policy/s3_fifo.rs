//! S3-FIFO: a small FIFO filters what is used only once, a main one gives second chances, a ghost remembers.
//!
//! ```text
//! hit(x):    uses(x) up by one, to 3 at most
//! miss(x):   while x does not fit:  |S| >= 10 %: EVICT-S;  else EVICT-M
//!            x still in G: out of it, to the head of M;  else to the head of S;  uses(x) = 0
//! EVICT-S, until one gave way or S is empty:
//!            tail of S:  uses > 1: to the head of M, and if M is above 90 %: EVICT-M
//!                        else: it gives way to G, which forgets its oldest while above 90 %
//! EVICT-M, until one gave way:
//!            tail of M:  uses > 0: uses down by one, to the head of M;  else: it gives way
//! ```
//! Where M is empty, EVICT-S is done in place of EVICT-M. Source: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all
//! you need for cache eviction", SOSP 2023, algorithm 1 and section 4.1.
//!
//! The simulator its authors published, libCacheSim 0.3.5, differs, and `simulator` = 1 does as it does: x leaves G
//! before others give way; until something gave way, newcomers go to M while S is full; EVICT-M is done if M is above
//! its 90 % or S is empty, EVICT-S otherwise; and what moves from S to M starts with no uses, and pushes nothing out.

use ssdlab_core::{Parameter, Unit};

use super::three_queues::{Rules, ThreeQueues};
use super::{PolicyInfo, PolicyRules};

pub(super) static SMALL_SHARE: Parameter = Parameter {
    name: "small",
    unit: Unit::Percent,
    default: 10,
    min: 1,
    max: 99,
    example: None,
    help: "Share of the small FIFO.",
};

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "s3-fifo",
    help: "A small FIFO for newcomers, a main one with second chances, and a memory of what left the small one.",
    source: "Yang et al., SOSP 2023",
    parameters: &[
        SMALL_SHARE,
        Parameter::switch("simulator", false, "0: as in the paper; 1: as in libCacheSim, its authors' simulator."),
    ],
    role: PolicyRules {
        sizes: true,
        needs_future: false,
        largest: u64::MAX,
        one_pass: None,
        build: |settings, capacity, items| {
            let simulator = settings.is_set("simulator");
            let rules = Rules { keeps_uses: !simulator, fills_main: simulator, ..RULES };
            Box::new(ThreeQueues::new(rules, settings, capacity, items))
        },
    },
};

/// Those of the paper.
pub(super) const RULES: Rules = Rules { most_uses: 3, promoted_at: 2, keeps_uses: true, fills_main: false };
