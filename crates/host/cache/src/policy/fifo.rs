//! FIFO: evicts the item inserted first.
//!
//! ```text
//! hit(x):   nothing
//! miss(x):  while x does not fit: evict the oldest;  x becomes the newest
//! ```
//! Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966.

use super::one_list::OneList;
use super::{PolicyInfo, PolicyRules};

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "fifo",
    help: "Evicts the item inserted first.",
    source: "Belady 1966",
    parameters: &[],
    role: PolicyRules::any_size(&|_, capacity, items| Box::new(OneList::<false, false>::new(capacity, items))),
};
