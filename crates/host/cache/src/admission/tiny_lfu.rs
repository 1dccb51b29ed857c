//! TinyLFU in front of any policy: admits a new item if it was recently accessed more often than the item to be
//! evicted.
//!
//! ```text
//! access(x):  record x in the sketch
//! hit(x):     as the policy;  if x is the candidate: reinsert it into the policy
//! miss(x):    room: insert x
//!             else v = the candidate for eviction, or the policy's victim if there is none:
//!                 estimate(x) > estimate(v): evict v, insert x
//!                 else: reject x; v becomes the candidate
//! ```
//! Source: Einziger, Friedman, Manes, "TinyLFU: a highly efficient cache admission policy", ACM Transactions on Storage
//! 13(4), 2017, section 3. There the policy only names its victim, but not all policies here can do that. So the policy
//! evicts its victim, which stays cached as a candidate until a newcomer beats it. In front of LRU the result is the
//! same.

use super::{AdmissionInfo, AdmissionRules};
use crate::policy::tiny_lfu;
use crate::sketch::Sketch;
use crate::{Access, Policy};

pub(super) static INFO: AdmissionInfo = AdmissionInfo {
    name: "tinylfu",
    help: "Admits items that were recently accessed more often than the victim.",
    source: "Einziger et al. 2017",
    parameters: &[tiny_lfu::SAMPLE, tiny_lfu::DOORKEEPER],
    role: AdmissionRules {
        sizes: false,
        guard: |settings, policy| {
            let sketch = tiny_lfu::sketch(settings, policy.capacity());
            Box::new(Contest { policy, sketch, candidate: None })
        },
    },
};

#[derive(Debug)]
struct Contest {
    policy: Box<dyn Policy>,
    sketch: Sketch,
    /// Candidate for eviction, if any: a cached item that has been removed from the replacement policy.
    candidate: Option<u32>,
}

impl Policy for Contest {
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        self.sketch.record(access.item);
        if self.candidate == Some(access.item) {
            self.candidate = None;
            self.policy.access(access, evicted);
            return true;
        }
        if !self.policy.contains(access.item)
            && self.used() == self.capacity()
            && let Some(victim) = self.candidate.take().or_else(|| self.policy.victim())
        {
            if self.sketch.estimate(access.item) <= self.sketch.estimate(victim) {
                self.candidate = Some(victim);
                evicted.push(access.item);
                return false;
            }
            evicted.push(victim);
        }
        self.policy.access(access, evicted)
    }

    fn victim(&mut self) -> Option<u32> {
        self.candidate.take().or_else(|| self.policy.victim())
    }

    fn remove(&mut self, item: u32) {
        self.candidate = self.candidate.filter(|&candidate| candidate != item);
        self.policy.remove(item);
    }

    fn contains(&self, item: u32) -> bool {
        self.candidate == Some(item) || self.policy.contains(item)
    }

    fn size(&self, _: u32) -> u32 {
        1
    }

    fn used(&self) -> u64 {
        self.policy.used() + u64::from(self.candidate.is_some())
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
