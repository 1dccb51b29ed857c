//! Planted bugs in components other than FTLs.

use std::collections::VecDeque;

use ssdlab::Settings;
use ssdlab::cache_policy::{Access, Lists, Policy, PolicyInfo, PolicyRules};
use ssdlab::die_scheduler::{Class, DieSchedulerInfo, DieSchedulerRules};
use ssdlab::io_scheduler::{
    BlockLayerKind, IoScheduler, MergeIndex, Request, RequestId, Requests, SchedulerInfo, SchedulerRules,
};
use ssdlab_conformance::cache_policy::{Part, Twin, equals_its_twin, the_cache_keeps_its_contract};
use ssdlab_conformance::{Checked, die_scheduler, io_scheduler};

/// Asserts that a check fails after at most `operations` operations, with a message that contains `words`.
fn is_found(checked: Checked, words: &str, operations: usize) {
    let counterexample = checked.expect_err("the check must find the bug");
    let shown = counterexample.to_string();
    assert!(shown.contains(words) && counterexample.operations.len() <= operations, "{shown}");
}

/// A FIFO with a bug: it evicts only one item, even if a larger item needs the space of several items.
static QUEUE: PolicyInfo = PolicyInfo {
    name: "queue",
    help: "Evicts the item inserted longest ago.",
    source: "",
    parameters: &[],
    role: PolicyRules {
        sizes: true,
        needs_future: false,
        largest: u64::MAX,
        one_pass: None,
        build: &|_settings, capacity, items| Box::new(Queue { order: Lists::new(items), capacity }),
    },
};

#[derive(Debug)]
struct Queue {
    order: Lists<1>,
    capacity: u64,
}

impl Policy for Queue {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        let hit = self.order.has(item);
        if !hit {
            if self.order.units(0) + u64::from(size) > self.capacity {
                evicted.extend(self.victim());
            }
            self.order.push(0, item, size);
        }
        hit
    }

    fn victim(&mut self) -> Option<u32> {
        self.order.pop_oldest(0)
    }

    fn remove(&mut self, item: u32) {
        if self.order.has(item) {
            self.order.remove(item);
        }
    }

    fn contains(&self, item: u32) -> bool {
        self.order.has(item)
    }

    fn size(&self, item: u32) -> u32 {
        self.order.size(item)
    }

    fn used(&self) -> u64 {
        self.order.units(0)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn grow(&mut self, items: u32) {
        self.order.grow(items);
    }

    fn bytes(&self) -> usize {
        self.order.bytes()
    }

    fn prefetch(&self, item: u32) {
        self.order.prefetch(item);
    }
}

/// The simplest possible implementation of LRU.
struct Lru {
    items: Vec<(u32, u64)>,
    capacity: u64,
}

impl Twin for Lru {
    fn new(_settings: &Settings, capacity: u64) -> Self {
        Self { items: Vec::new(), capacity }
    }

    fn access(&mut self, access: Access) -> bool {
        let hit = self.items.iter().position(|&(item, _)| item == access.item).map(|at| self.items.remove(at));
        let item = hit.unwrap_or((access.item, access.size.into()));
        while self.items.iter().map(|&(_, size)| size).sum::<u64>() + item.1 > self.capacity {
            self.items.remove(0);
        }
        self.items.push(item);
        hit.is_some()
    }

    fn remove(&mut self, item: u32) {
        self.items.retain(|&(other, _)| other != item);
    }

    fn contains(&self, item: u32) -> bool {
        self.items.iter().any(|&(other, _)| other == item)
    }
}

/// The smallest counterexample has three operations: two items of one unit fill a cache, and an item of two units
/// evicts only one of them.
#[test]
fn a_cache_that_exceeds_its_capacity_is_found() {
    is_found(the_cache_keeps_its_contract(Part::Policy(&QUEUE)), "units, but the capacity is", 3);
}

/// The smallest counterexample has four operations: two items fill a cache of two units; after a hit of the first item,
/// a third item must evict the second.
#[test]
fn a_policy_that_differs_from_its_twin_is_found() {
    is_found(equals_its_twin::<Lru>(Part::Policy(&QUEUE)), "but the reference returns", 4);
}

/// A scheduler with a bug: it serves requests in order, but loses every fourth request.
static LOSES: SchedulerInfo = SchedulerInfo {
    name: "loses",
    help: "Serves requests in order of arrival.",
    source: "",
    parameters: &[],
    role: SchedulerRules {
        kind: BlockLayerKind::MultiQueue,
        merge_index: MergeIndex::Hash,
        by_queue: false,
        work_conserving: false,
        sorted_drain: false,
        bounded_wait: false,
        by_process: false,
        by_sync: false,
        part_of_device: None,
        build: &|_settings, _device| Ok(Box::new(Loses::default())),
    },
};

#[derive(Debug, Default)]
struct Loses {
    waiting: VecDeque<RequestId>,
    inserted: u32,
}

impl IoScheduler for Loses {
    fn insert(&mut self, rq: &Request, _requests: &Requests, _now: u64) -> bool {
        self.inserted += 1;
        if !self.inserted.is_multiple_of(4) {
            self.waiting.push_back(rq.id);
        }
        false
    }

    fn dispatch(&mut self, _queue: u16, _requests: &Requests, _now: u64, _force: bool) -> Option<RequestId> {
        self.waiting.pop_front()
    }

    fn completed(&mut self, _rq: &Request, _now: u64) {}
}

#[test]
fn a_lost_request_is_found() {
    is_found(io_scheduler::every_request_is_served_once(&LOSES), "no event is due", 4);
}

/// A die scheduler with a bug: it picks host reads even if no host read is ready.
static READS: DieSchedulerInfo = DieSchedulerInfo {
    name: "reads",
    help: "Picks host reads first.",
    source: "",
    parameters: &[],
    role: DieSchedulerRules { pick: |_| Some(Class::HostRead), in_order: false, internal_read: Class::Internal },
};

#[test]
fn an_operation_that_is_not_ready_is_found() {
    is_found(
        die_scheduler::a_ready_operation_begins(&READS),
        "the scheduler picks HostRead, which has no ready operation",
        1,
    );
}
