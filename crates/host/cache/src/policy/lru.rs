//! LRU: evicts the least recently used item.
//!
//! ```text
//! hit(x):   x becomes the newest
//! miss(x):  while x does not fit: evict the oldest;  x becomes the newest
//! ```
//! Source: Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2),
//! 1970, which shows that LRU is a stack algorithm.

use super::one_list::OneList;
use super::{PolicyInfo, PolicyRules};
use crate::curve::exact;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "lru",
    help: "Evicts the least recently used item.",
    source: "Mattson et al. 1970",
    parameters: &[],
    role: PolicyRules {
        one_pass: Some(exact::lru),
        ..PolicyRules::any_size(&|_, capacity, items| Box::new(OneList::<true, false>::new(capacity, items)))
    },
};
