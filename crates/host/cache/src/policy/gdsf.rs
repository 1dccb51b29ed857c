//! GDSF: GreedyDual-Size with frequencies, which keeps small and frequently used items.
//!
//! ```text
//! L: the age of the cache, 0 at first
//! hit(x):   increment uses(x);  value(x) = L + uses(x) / size(x)
//! miss(x):  while x does not fit: evict the item v of least value;  L = value(v)
//!           uses(x) = 1;  value(x) = L + 1 / size(x)
//! ```
//! Source: Cherkasova, "Improving WWW proxies performance with greedy-dual-size-frequency caching policy", HP
//! Laboratories HPL-98-69R1, 1998, with every cost 1. On ties, the least recently used item is evicted. With items of
//! one size it is LFU-DA.

use super::greedy_dual::GreedyDual;
use super::{PolicyInfo, PolicyRules};

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "gdsf",
    help: "Evicts the item with the fewest uses per unit of size, with dynamic ageing.",
    source: "Cherkasova 1998",
    parameters: &[],
    role: PolicyRules::any_size(&|_, capacity, items| Box::new(GreedyDual::<true, true>::new(capacity, items))),
};
