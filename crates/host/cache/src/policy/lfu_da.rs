//! LFU-DA: LFU with dynamic ageing, so that formerly hot items are evicted.
//!
//! ```text
//! L: the age of the cache, 0 at first
//! hit(x):   increment uses(x);  value(x) = L + uses(x)
//! miss(x):  while x does not fit: evict the item v of least value;  L = value(v)
//!           uses(x) = 1;  value(x) = L + 1
//! ```
//! Source: Arlitt, Cherkasova, Dilley, Friedrich, Jin, "Evaluating content management techniques for web proxy caches",
//! ACM SIGMETRICS Performance Evaluation Review 27(4), 2000, with every cost 1. On ties, the least recently used item
//! is evicted.

use super::greedy_dual::GreedyDual;
use super::{PolicyInfo, PolicyRules};

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "lfu-da",
    help: "LFU with ageing: a new item starts from the priority of the last victim.",
    source: "Arlitt et al. 2000",
    parameters: &[],
    role: PolicyRules::any_size(&|_, capacity, items| Box::new(GreedyDual::<true, false>::new(capacity, items))),
};
