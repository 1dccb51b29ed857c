//! Segmented LRU: reused items move from a probationary segment to a protected one.
//!
//! ```text
//! hit(x):   x becomes the newest of the protected segment
//!           while that is above its share: its oldest becomes the newest of the probationary segment
//! miss(x):  while x does not fit: evict the oldest of the probationary segment,
//!                                 of the protected one if that is empty
//!           x becomes the newest of the probationary segment
//! ```
//! Source: Karedla, Love, Wherry, "Caching strategies to improve disk system performance", IEEE Computer 27(3), 1994.
//! The protected share is a parameter in the paper; the default here follows W-TinyLFU's main cache.

use ssdlab_core::{Parameter, Unit};

use super::{Policy, PolicyInfo, PolicyRules, make_room};
use crate::Access;
use crate::lists::Lists;

pub(super) static PROTECTED: Parameter =
    Parameter::new("protected", Unit::Percent, 80, [0, 100], "Share of the main cache reserved for reused items.");

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "slru",
    help: "LRU in two segments: reused items move to a protected segment; the other items are evicted first.",
    source: "Karedla et al. 1994",
    parameters: &[PROTECTED],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        let protected = settings.share("protected", capacity);
        Box::new(Slru { lists: Lists::new(items), protected, capacity })
    }),
};

const PROBATION: u8 = 0;
const PROTECTION: u8 = 1;

#[derive(Debug)]
struct Slru {
    lists: Lists<2>,
    /// Maximum size of the protected segment, in units.
    protected: u64,
    capacity: u64,
}

impl Policy for Slru {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        if self.lists.has(item) {
            self.lists.move_to(PROTECTION, item);
            while self.lists.units(PROTECTION) > self.protected {
                self.lists.move_oldest(PROTECTION, PROBATION);
            }
            return true;
        }
        make_room(self, size, evicted);
        self.lists.push(PROBATION, item, size);
        false
    }

    fn victim(&mut self) -> Option<u32> {
        self.lists.pop_oldest(PROBATION).or_else(|| self.lists.pop_oldest(PROTECTION))
    }

    super::listed!(lists, 2);
}
