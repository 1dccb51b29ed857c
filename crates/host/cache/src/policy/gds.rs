//! GreedyDual-Size: LRU with dynamic ageing, in which large items age faster.
//!
//! ```text
//! L: the age of the cache, 0 at first
//! hit(x):   value(x) = L + 1 / size(x)
//! miss(x):  while x does not fit: evict the item v of least value;  L = value(v)
//!           value(x) = L + 1 / size(x)
//! ```
//! Source: Cao, Irani, "Cost-aware WWW proxy caching algorithms", USITS 1997, section 4, with every cost 1: GD-Size(1).
//! With items of one size it is LRU.

use super::greedy_dual::GreedyDual;
use super::{PolicyInfo, PolicyRules};

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "gds",
    help: "LRU with dynamic ageing: the larger an item, the sooner it is evicted.",
    source: "Cao, Irani, USITS 1997",
    parameters: &[],
    role: PolicyRules::any_size(&|_, capacity, items| Box::new(GreedyDual::<false, true>::new(capacity, items))),
};
