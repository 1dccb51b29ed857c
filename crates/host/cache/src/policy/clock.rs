//! CLOCK: FIFO with a second chance for items used since the hand last passed them.
//!
//! ```text
//! hit(x):   increment the counter of x, up to 2^bits - 1
//! miss(x):  while x does not fit:
//!               the hand moves to the next item on the circle:  counter 0: evict it
//!                                                               else: decrement the counter
//!           insert x behind the hand, with counter 0
//! ```
//! The circle is a queue: the item under the hand is the oldest, and a skipped item becomes the newest. Source:
//! Corbato, "A paging experiment with the Multics system", MIT Project MAC report MAC-M-384, 1968; counters of several
//! bits: Smith, "Sequentiality and prefetching in database systems", ACM TODS 3(3), 1978 (generalised clock).

use ssdlab_core::{Parameter, Unit};

use super::{Policy, PolicyInfo, PolicyRules, make_room};
use crate::Access;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "clock",
    help: "FIFO with a second chance for items used since the hand last passed them.",
    source: "Corbato 1968; bits: Smith 1978",
    parameters: &[Parameter::new(
        "bits",
        Unit::Count("bits"),
        1,
        [1, 8],
        "Number of bits in the use counter of each item.",
    )],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        let most = ((1_u32 << settings.get("bits")) - 1) as u8;
        Box::new(Clock { circle: Lists::new(items), most, capacity })
    }),
};

#[derive(Debug)]
struct Clock {
    circle: Lists<1>,
    most: u8,
    capacity: u64,
}

impl Policy for Clock {
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        if self.circle.has(access.item) {
            let uses = self.circle.mark(access.item);
            if uses < self.most {
                self.circle.set_mark(access.item, uses + 1);
            }
            return true;
        }
        make_room(self, access.size, evicted);
        self.circle.set_mark(access.item, 0);
        self.circle.push(0, access.item, access.size);
        false
    }

    fn victim(&mut self) -> Option<u32> {
        self.circle.pop_second_chance(0)
    }

    super::listed!(circle, 1);
}
