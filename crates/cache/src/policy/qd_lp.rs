//! QD-LP-FIFO: a small FIFO demotes newcomers quickly, and the main cache, a CLOCK of two bits, promotes lazily.
//!
//! ```text
//! hit(x):    uses(x) up by one, to 3 at most
//! miss(x):   while x does not fit:  |P| >= 10 %: EVICT-P;  else EVICT-M
//!            x still in G: out of it, to the head of M;  else to the head of P;  uses(x) = 0
//! EVICT-P, until one gave way or P is empty:
//!            tail of P:  uses > 0: to the head of M with uses 0, and if M is above 90 %: EVICT-M
//!                        else: it gives way to G, which forgets its oldest while above 90 %
//! EVICT-M, until one gave way:
//!            tail of M:  uses > 0: uses down by one, to the head of M;  else: it gives way
//! ```
//! Where M is empty, EVICT-P is done in place of EVICT-M. Source: Yang, Qiu, Zhang, Yue, Rashmi, "FIFO can be better
//! than LRU: the power of lazy promotion and quick demotion", HotOS 2023, section 4: a probationary FIFO of 10 %, a
//! ghost with as many entries as the main cache. It says nothing of a cache that is not full: here P may then be larger
//! than its share, so that nothing gives way before it has to.

use super::s3_fifo::SMALL_SHARE;
use super::three_queues::{Rules, ThreeQueues};
use super::{PolicyInfo, PolicyRules};

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "qd-lp",
    help: "A small FIFO that lets what was used again into a CLOCK, and a memory of the rest.",
    source: "Yang et al., HotOS 2023",
    parameters: &[SMALL_SHARE],
    role: PolicyRules {
        sizes: true,
        needs_future: false,
        largest: u64::MAX,
        one_pass: None,
        build: |settings, capacity, items| {
            let rules = Rules { most_uses: 3, promoted_at: 1, keeps_uses: false, fills_main: false };
            Box::new(ThreeQueues::new(rules, settings, capacity, items))
        },
    },
};
