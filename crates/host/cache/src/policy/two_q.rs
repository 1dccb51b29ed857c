//! 2Q: newcomers pass through a short FIFO; items accessed again soon after leaving it go to an LRU list.
//!
//! ```text
//! hit(x):   x in Am: it becomes the newest;  x in A1in: nothing
//! miss(x):  x in A1out: remove it; its target is Am;  else its target is A1in
//!           while x does not fit:
//!               A1in above Kin, or Am empty: evict its oldest to A1out,
//!                                            which drops its oldest while above Kout
//!               else: evict the oldest of Am
//!           x becomes the newest of its target
//! ```
//! Source: Johnson, Shasha, "2Q: a low overhead high performance buffer management replacement algorithm", VLDB 1994,
//! full version, with the sizes they advise: Kin = 25 %, Kout = 50 %.

use ssdlab_core::Parameter;

use super::{Policy, PolicyInfo, PolicyRules, make_room};
use crate::Access;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "2q",
    help: "New items pass through a FIFO; items accessed again after leaving the FIFO go to an LRU list.",
    source: "Johnson, Shasha, VLDB 1994",
    parameters: &[
        Parameter::share("kin", 25, "Share of the capacity for the FIFO of new items."),
        Parameter::share("kout", 50, "Number of evicted items remembered, relative to the capacity."),
    ],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        let (kin, kout) = (settings.share("kin", capacity), settings.share("kout", capacity));
        Box::new(TwoQ { lists: Lists::new(items), kin, kout, capacity })
    }),
};

const A1_IN: u8 = 0;
const AM: u8 = 1;
const A1_OUT: u8 = 2;

#[derive(Debug)]
struct TwoQ {
    lists: Lists<3>,
    kin: u64,
    kout: u64,
    capacity: u64,
}

impl Policy for TwoQ {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        let list = self.lists.list(item);
        if list == AM {
            self.lists.renew(item);
        }
        if list == AM || list == A1_IN {
            return true;
        }
        if list == A1_OUT {
            self.lists.remove(item);
        }
        make_room(self, size, evicted);
        self.lists.push(if list == A1_OUT { AM } else { A1_IN }, item, size);
        false
    }

    fn victim(&mut self) -> Option<u32> {
        let lists = &mut self.lists;
        if lists.units(A1_IN) <= self.kin && lists.units(AM) > 0 {
            return lists.pop_oldest(AM);
        }
        let victim = lists.move_oldest(A1_IN, A1_OUT);
        lists.shrink_to(A1_OUT, self.kout);
        victim
    }

    super::listed!(lists, 2);
}
