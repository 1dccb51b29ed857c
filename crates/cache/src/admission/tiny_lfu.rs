//! TinyLFU in front of any policy: a newcomer comes in if it was used more often lately than what it would evict.
//!
//! ```text
//! access(x):  record x in the sketch
//! hit(x):     as the policy does;  x = v: it comes into the policy anew
//! miss(x):    room: x comes in
//!             else v = the item that stands for eviction, or else the one that the policy gives up:
//!                 estimate(x) > estimate(v): v gives way, x comes in
//!                 else: x is turned away, and v stands for eviction
//! ```
//! Source: Einziger, Friedman, Manes, "TinyLFU: a highly efficient cache admission policy", ACM Transactions on Storage
//! 13(4), 2017, section 3, where the policy is only asked for its victim. Here it gives it up, as victims cannot be had
//! otherwise from all policies; it stays cached as long as nobody beats it. In front of LRU that is the same.

use super::{AdmissionInfo, AdmissionRules};
use crate::policy::tiny_lfu;
use crate::sketch::{self, Sketch};
use crate::{Access, Policy};

/// Largest cache, in items.
pub(super) const LARGEST: u64 = sketch::LARGEST;

pub(super) static INFO: AdmissionInfo = AdmissionInfo {
    name: "tinylfu",
    help: "Lets in what was used more often lately than what it would evict.",
    source: "Einziger et al. 2017",
    parameters: &[tiny_lfu::SAMPLE, tiny_lfu::DOORKEEPER],
    role: AdmissionRules {
        sizes: false,
        guard: |settings, policy| {
            let sketch = tiny_lfu::sketch(settings, policy.capacity());
            Box::new(Contest { policy, sketch, standing: None })
        },
    },
};

#[derive(Debug)]
struct Contest {
    policy: Box<dyn Policy>,
    sketch: Sketch,
    /// Cached, but given up by the policy.
    standing: Option<u32>,
}

impl Policy for Contest {
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        self.sketch.record(access.item);
        if self.standing == Some(access.item) {
            self.standing = None;
            self.policy.access(access, evicted);
            return true;
        }
        if !self.policy.contains(access.item)
            && self.used() == self.capacity()
            && let Some(victim) = self.standing.take().or_else(|| self.policy.victim())
        {
            if self.sketch.estimate(access.item) <= self.sketch.estimate(victim) {
                self.standing = Some(victim);
                evicted.push(access.item);
                return false;
            }
            evicted.push(victim);
        }
        self.policy.access(access, evicted)
    }

    fn victim(&mut self) -> Option<u32> {
        self.standing.take().or_else(|| self.policy.victim())
    }

    fn remove(&mut self, item: u32) {
        self.standing = self.standing.filter(|&standing| standing != item);
        self.policy.remove(item);
    }

    fn contains(&self, item: u32) -> bool {
        self.standing == Some(item) || self.policy.contains(item)
    }

    fn size(&self, _: u32) -> u32 {
        1
    }

    fn used(&self) -> u64 {
        self.policy.used() + u64::from(self.standing.is_some())
    }

    fn capacity(&self) -> u64 {
        self.policy.capacity()
    }

    fn grow(&mut self, items: u32) {
        self.policy.grow(items);
    }

    fn bytes(&self) -> usize {
        self.policy.bytes() + self.sketch.bytes()
    }

    fn prefetch(&self, item: u32) {
        self.policy.prefetch(item);
        self.sketch.prefetch(item);
    }
}
