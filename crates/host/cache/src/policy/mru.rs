//! MRU: evicts the most recently used item.
//!
//! ```text
//! hit(x):   x becomes the newest
//! miss(x):  while x does not fit: evict the newest;  x becomes the newest
//! ```
//! Optimal for a loop larger than the cache. Source: Chou, DeWitt, "An evaluation of buffer management strategies for
//! relational database systems", VLDB 1985. The order of evictions does not depend on the cache size, so MRU is a stack
//! algorithm (Mattson et al., IBM Systems Journal 9(2), 1970).

use super::one_list::OneList;
use super::{PolicyInfo, PolicyRules};
use crate::curve::exact;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "mru",
    help: "Evicts the most recently used item.",
    source: "Chou, DeWitt, VLDB 1985",
    parameters: &[],
    role: PolicyRules {
        one_pass: Some(exact::mru),
        ..PolicyRules::any_size(&|_, capacity, items| Box::new(OneList::<true, true>::new(capacity, items)))
    },
};
