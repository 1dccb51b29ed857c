//! QD-LP-FIFO: a small FIFO demotes newcomers quickly, and the main cache, a two-bit CLOCK, promotes items lazily.
//!
//! ```text
//! hit(x):    increment uses(x), up to 3
//! miss(x):   while x does not fit:  |P| >= 10 %: EVICT-P;  else EVICT-M
//!            x still in G: remove it, to the head of M;  else to the head of P;  uses(x) = 0
//! EVICT-P, until one was evicted or P is empty:
//!            tail of P:  uses > 0: to the head of M with uses 0, and if M is above 90 %: EVICT-M
//!                        else: evict it to G, which drops its oldest while above 90 %
//! EVICT-M, until one was evicted:
//!            tail of M:  uses > 0: decrement uses, to the head of M;  else: evict it
//! ```
//! If M is empty, EVICT-P replaces EVICT-M. Source: Yang, Qiu, Zhang, Yue, Rashmi, "FIFO can be better than LRU: the
//! power of lazy promotion and quick demotion", HotOS 2023, section 4. The probationary FIFO has 10 %, and the ghost
//! list has as many entries as the main cache. The paper does not cover a cache that is not full. Here P may then
//! exceed its share, so that nothing is evicted early.

use super::s3_fifo::SMALL_SHARE;
use super::three_queues::{Rules, ThreeQueues};
use super::{PolicyInfo, PolicyRules};

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "qd-lp",
    help: "A small FIFO that promotes reused items to a CLOCK, and a ghost list of the FIFO's evictions.",
    source: "Yang et al., HotOS 2023",
    parameters: &[SMALL_SHARE],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        let rules = Rules { most_uses: 3, promoted_at: 1, keeps_uses: false, fills_main: false };
        Box::new(ThreeQueues::new(rules, settings, capacity, items))
    }),
};
