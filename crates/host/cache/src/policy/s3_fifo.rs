//! S3-FIFO: a small FIFO filters items used once, a main FIFO gives second chances, and a ghost list remembers
//! evictions.
//!
//! ```text
//! hit(x):    increment uses(x), up to 3
//! miss(x):   while x does not fit:  |S| >= 10 %: EVICT-S;  else EVICT-M
//!            x still in G: remove it, to the head of M;  else to the head of S;  uses(x) = 0
//! EVICT-S, until one was evicted or S is empty:
//!            tail of S:  uses > 1: to the head of M, and if M is above 90 %: EVICT-M
//!                        else: evict it to G, which drops its oldest while above 90 %
//! EVICT-M, until one was evicted:
//!            tail of M:  uses > 0: decrement uses, to the head of M;  else: evict it
//! ```
//! If M is empty, EVICT-S replaces EVICT-M. Source: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for
//! cache eviction", SOSP 2023, algorithm 1 and section 4.1.
//!
//! `simulator` = 1 follows the authors' simulator, libCacheSim 0.3.5, which differs in four points. x leaves G before
//! the evictions. Until the first eviction, newcomers go to M while S is full. EVICT-M runs if M holds more than 90 %
//! of the capacity or S is empty; otherwise EVICT-S runs. An item that moves from S to M starts with a use count of 0
//! and evicts nothing.

use ssdlab_core::{Parameter, Unit};

use super::three_queues::{Rules, ThreeQueues};
use super::{PolicyInfo, PolicyRules};

pub(super) static SMALL_SHARE: Parameter =
    Parameter::new("small", Unit::Percent, 10, [1, 99], "Size of the small FIFO, relative to the capacity.");

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "s3-fifo",
    help: "Small FIFO for new items, main FIFO with second chances, and ghost list of the small FIFO's evictions.",
    source: "Yang et al., SOSP 2023",
    parameters: &[
        SMALL_SHARE,
        Parameter::switch(
            "simulator",
            false,
            "True (1) to follow libCacheSim, the simulator of the paper's authors, where it differs from the paper.",
        ),
    ],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        let simulator = settings.is_set("simulator");
        let rules = Rules { keeps_uses: !simulator, fills_main: simulator, ..RULES };
        Box::new(ThreeQueues::new(rules, settings, capacity, items))
    }),
};

/// Rules of the variant in the S3-FIFO paper.
pub(super) const RULES: Rules = Rules { most_uses: 3, promoted_at: 2, keeps_uses: true, fills_main: false };
