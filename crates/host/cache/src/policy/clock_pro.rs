//! CLOCK-Pro: LIRS as a clock with three hands; a hit only sets a bit.
//!
//! ```text
//! clock: hot items, cold items, and cold items evicted during their test period
//! m: the capacity;  mc: target number of cold items, 1 to m, initially m;  head: the position just behind HAND-hot
//! hit(x):    the bit of x is set
//! miss(x):   full: HAND-cold
//!            x still on the clock: increment mc;  x hot, to the head;  while hot items are more than m - mc: HAND-hot
//!            else: x cold, in its test period, at the head
//! HAND-cold, until one was evicted:  next cached cold item:
//!            bit clear: evict it; if in its test period it stays on the clock;  more than m evicted ones: HAND-test
//!            bit set, in its test period: increment mc;  hot, to the head, bit clear;  while hot > m - mc: HAND-hot
//!            bit set, else: bit clear, a new test period, to the head
//! HAND-hot, until one became cold:  next hot item:  bit set: bit clear;  else: cold, not in a test period
//!            ends the test periods of cold items that it passes, up to the next hot item
//! HAND-test: the test period of the next cold item in one ends
//! test period of x ends:  bit clear: decrement mc;  remove x from the clock if it was evicted
//! ```
//! Source: Jiang, Chen, Zhang, "CLOCK-Pro: an effective improvement of the CLOCK replacement", USENIX ATC 2005,
//! sections 4.2 to 4.5. The paper leaves the start open; here all items may be cold at first. If removals leave only
//! hot items, HAND-hot makes one of them cold.

use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "clock-pro",
    help: "LIRS as a clock: items with a short reuse distance are hot, and a hit only sets a bit.",
    source: "Jiang et al., USENIX ATC 2005",
    parameters: &[],
    role: PolicyRules::one_size(&|_, capacity, items| {
        Box::new(ClockPro {
            clock: Lists::new(items),
            hand_cold: None,
            hand_test: None,
            hot: 0,
            cold: 0,
            evicted: 0,
            cold_target: capacity,
            capacity,
        })
    }),
};

/// Mark bits of an item on the clock. An item that is neither hot nor evicted is cold.
const HOT: u8 = 1;
const USED: u8 = 2;
const IN_TEST: u8 = 4;
const EVICTED: u8 = 8;

#[derive(Debug)]
struct ClockPro {
    /// Items on the clock, as a list: HAND-hot points to the oldest item, and the head is at the newest.
    clock: Lists<1>,
    hand_cold: Option<u32>,
    hand_test: Option<u32>,
    hot: u64,
    cold: u64,
    /// Number of evicted items that are still on the clock.
    evicted: u64,
    /// Target number of cold items: mc in the paper.
    cold_target: u64,
    capacity: u64,
}

impl ClockPro {
    fn next(&self, item: u32) -> Option<u32> {
        self.clock.newer(item).or(self.clock.oldest(0))
    }

    /// Removes an item from the clock.
    fn take_off(&mut self, item: u32) {
        let next = self.next(item).filter(|&next| next != item);
        for hand in [&mut self.hand_cold, &mut self.hand_test] {
            if *hand == Some(item) {
                *hand = next;
            }
        }
        self.clock.remove(item);
        match self.clock.mark(item) & (HOT | EVICTED) {
            HOT => self.hot -= 1,
            EVICTED => self.evicted -= 1,
            _ => self.cold -= 1,
        }
    }

    fn put(&mut self, item: u32, mark: u8) {
        self.clock.set_mark(item, mark);
        self.clock.push(0, item, 1);
        *(if mark & HOT == 0 { &mut self.cold } else { &mut self.hot }) += 1;
    }

    fn expect_more_cold(&mut self) {
        self.cold_target = (self.cold_target + 1).min(self.capacity);
    }

    fn limit_hot(&mut self) {
        while self.hot > self.capacity - self.cold_target {
            self.turn_hot_hand();
        }
    }

    /// Advances HAND-hot by moving items to the head.
    fn turn_hot_hand(&mut self) {
        let mut made_cold = self.hot == 0;
        while let Some(item) = self.clock.oldest(0) {
            let mark = self.clock.mark(item);
            if made_cold && (mark & HOT != 0 || self.hot == 0) {
                break;
            }
            if mark & HOT == 0 {
                self.end_test(item);
                if mark & EVICTED != 0 {
                    continue;
                }
            } else if mark & USED != 0 {
                self.clock.set_mark(item, HOT);
            } else {
                self.clock.set_mark(item, 0);
                self.hot -= 1;
                self.cold += 1;
                made_cold = true;
            }
            self.clock.renew(item);
        }
    }

    fn end_test(&mut self, item: u32) {
        let mark = self.clock.mark(item);
        if mark & IN_TEST == 0 {
            return;
        }
        if mark & USED == 0 {
            self.cold_target = (self.cold_target - 1).max(1);
        }
        if mark & EVICTED == 0 {
            self.clock.set_mark(item, mark & !IN_TEST);
        } else {
            self.take_off(item);
        }
    }

    fn turn_test_hand(&mut self) {
        while let Some(item) = self.hand_test.or(self.clock.oldest(0)) {
            self.hand_test = self.next(item);
            if self.clock.mark(item) & IN_TEST != 0 {
                self.end_test(item);
                return;
            }
        }
    }
}

impl Policy for ClockPro {
    fn access(&mut self, Access { item, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        if self.contains(item) {
            self.clock.set_mark(item, self.clock.mark(item) | USED);
            return true;
        }
        if self.used() == self.capacity {
            evicted.extend(self.victim());
        }
        if self.clock.has(item) {
            self.take_off(item);
            self.expect_more_cold();
            self.put(item, HOT);
            self.limit_hot();
        } else {
            self.put(item, IN_TEST);
        }
        false
    }

    fn victim(&mut self) -> Option<u32> {
        loop {
            if self.cold == 0 {
                self.turn_hot_hand();
            }
            let item = self.hand_cold.or(self.clock.oldest(0))?;
            self.hand_cold = self.next(item);
            let mark = self.clock.mark(item);
            if mark & (HOT | EVICTED) != 0 {
                if self.used() == 0 {
                    return None;
                }
                continue;
            }
            if mark & USED == 0 {
                if mark & IN_TEST == 0 {
                    self.take_off(item);
                } else {
                    self.clock.set_mark(item, IN_TEST | EVICTED);
                    self.cold -= 1;
                    self.evicted += 1;
                    while self.evicted > self.capacity {
                        self.turn_test_hand();
                    }
                }
                return Some(item);
            }
            // If HAND-test points to the item, it advances first, because the item moves to the head.
            if self.hand_test == Some(item) {
                self.hand_test = self.next(item).filter(|&next| next != item);
            }
            self.clock.renew(item);
            if mark & IN_TEST == 0 {
                self.clock.set_mark(item, IN_TEST);
            } else {
                self.clock.set_mark(item, HOT);
                self.cold -= 1;
                self.hot += 1;
                self.expect_more_cold();
                self.limit_hot();
            }
        }
    }

    fn remove(&mut self, item: u32) {
        if self.clock.has(item) {
            self.take_off(item);
        }
    }

    fn contains(&self, item: u32) -> bool {
        self.clock.has(item) && self.clock.mark(item) & EVICTED == 0
    }

    fn size(&self, _: u32) -> u32 {
        1
    }

    fn used(&self) -> u64 {
        self.hot + self.cold
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    super::tables!(clock);
}
