//! LIFO: evicts the item inserted last.
//!
//! ```text
//! hit(x):   nothing
//! miss(x):  while x does not fit: evict the newest;  x becomes the newest
//! ```
//! The first items stay forever; a loop just larger than the cache misses little. Source: Coffman, Denning, "Operating
//! systems theory", Prentice-Hall 1973, section 6.2.

use super::one_list::OneList;
use super::{PolicyInfo, PolicyRules};

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "lifo",
    help: "Evicts the item inserted last.",
    source: "Coffman, Denning 1973",
    parameters: &[],
    role: PolicyRules::any_size(&|_, capacity, items| Box::new(OneList::<false, true>::new(capacity, items))),
};
