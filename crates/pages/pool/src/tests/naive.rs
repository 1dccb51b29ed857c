//! Naive implementations of the policies, with lists that are searched linearly.

use std::collections::BTreeMap;

use ssdlab_cache::Access;

use crate::PageId;
use crate::ghosts::Ghosts;
use crate::policy::{Choice, Policy, policies};
use proptest::prelude::*;

/// Eviction policy that identifies pages by their ids instead of slots.
pub trait Naive {
    fn insert(&mut self, id: PageId);
    fn hit(&mut self, id: PageId);
    fn remove(&mut self, id: PageId);
    fn victim(&mut self) -> Option<PageId>;
}

/// Pages, each with its number of uses.
type Queue = Vec<(PageId, u32)>;

fn find(queue: &mut Queue, id: PageId) -> Option<&mut (PageId, u32)> {
    queue.iter_mut().find(|page| page.0 == id)
}

/// FIFO and CLOCK.
#[derive(Default)]
struct Fifo {
    queue: Queue,
    chances: bool,
}

impl Naive for Fifo {
    fn insert(&mut self, id: PageId) {
        self.queue.push((id, 0));
    }
    fn hit(&mut self, id: PageId) {
        find(&mut self.queue, id).unwrap().1 = u32::from(self.chances);
    }
    fn remove(&mut self, id: PageId) {
        self.queue.retain(|page| page.0 != id);
    }
    fn victim(&mut self) -> Option<PageId> {
        while self.queue.first()?.1 > 0 {
            let (id, _) = self.queue.remove(0);
            self.queue.push((id, 0));
        }
        Some(self.queue.remove(0).0)
    }
}

#[derive(Default)]
struct Lru(Vec<PageId>);

impl Naive for Lru {
    fn insert(&mut self, id: PageId) {
        self.0.push(id);
    }
    fn hit(&mut self, id: PageId) {
        self.remove(id);
        self.0.push(id);
    }
    fn remove(&mut self, id: PageId) {
        self.0.retain(|&page| page != id);
    }
    fn victim(&mut self) -> Option<PageId> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }
}

/// Algorithm 1 of the paper, with the hand as a position from the tail.
#[derive(Default)]
struct Sieve {
    queue: Queue,
    hand: usize,
}

impl Naive for Sieve {
    fn insert(&mut self, id: PageId) {
        self.queue.push((id, 0));
    }
    fn hit(&mut self, id: PageId) {
        find(&mut self.queue, id).unwrap().1 = 1;
    }
    fn remove(&mut self, id: PageId) {
        let at = self.queue.iter().position(|page| page.0 == id).unwrap();
        self.queue.remove(at);
        if at < self.hand {
            self.hand -= 1;
        }
        // A hand at the end restarts at the oldest page, even if a page is inserted later.
        if self.hand >= self.queue.len() {
            self.hand = 0;
        }
    }
    fn victim(&mut self) -> Option<PageId> {
        if self.queue.is_empty() {
            return None;
        }
        while self.queue[self.hand].1 > 0 {
            self.queue[self.hand].1 = 0;
            self.hand = (self.hand + 1) % self.queue.len();
        }
        let (id, _) = self.queue.remove(self.hand);
        if self.hand >= self.queue.len() {
            self.hand = 0;
        }
        Some(id)
    }
}

struct S3Fifo {
    small: Queue,
    main: Queue,
    ghosts: Ghosts,
}

impl Naive for S3Fifo {
    fn insert(&mut self, id: PageId) {
        let pages = self.small.len() + self.main.len();
        let known = self.ghosts.take(id).is_some_and(|since| (since as usize) < pages);
        (if known { &mut self.main } else { &mut self.small }).push((id, 0));
    }
    fn hit(&mut self, id: PageId) {
        let page = find(&mut self.small, id).or_else(|| find(&mut self.main, id)).unwrap();
        page.1 = (page.1 + 1).min(3);
    }
    fn remove(&mut self, id: PageId) {
        self.small.retain(|page| page.0 != id);
        self.main.retain(|page| page.0 != id);
    }
    fn victim(&mut self) -> Option<PageId> {
        let pages = self.small.len() + self.main.len();
        while !self.small.is_empty() || !self.main.is_empty() {
            if self.main.is_empty() || (self.small.len() > (pages / 10).max(1)) {
                let (id, uses) = self.small.remove(0);
                if uses <= 1 {
                    self.ghosts.insert(id);
                    return Some(id);
                }
                self.main.push((id, 0));
            } else {
                let (id, uses) = self.main.remove(0);
                if uses == 0 {
                    return Some(id);
                }
                self.main.push((id, uses - 1));
            }
        }
        None
    }
}

/// Simulated policy that numbers all pages in the order of their first insertion.
struct Simulated {
    policy: Box<dyn ssdlab_cache::Policy>,
    items: BTreeMap<PageId, u32>,
    dropped: Vec<PageId>,
}

impl Simulated {
    fn page(&self, item: u32) -> PageId {
        *self.items.iter().find(|(_, other)| **other == item).unwrap().0
    }
}

impl Naive for Simulated {
    fn insert(&mut self, id: PageId) {
        let number = self.items.len() as u32;
        let item = *self.items.entry(id).or_insert(number);
        self.policy.grow(item + 1);
        let mut evicted = Vec::new();
        self.policy.access(Access::new(item, 1), &mut evicted);
        self.dropped.extend(evicted.into_iter().map(|item| self.page(item)).collect::<Vec<_>>());
    }
    fn hit(&mut self, id: PageId) {
        self.dropped.retain(|&page| page != id);
        self.insert(id);
    }
    fn remove(&mut self, id: PageId) {
        match self.dropped.iter().position(|&page| page == id) {
            Some(at) => {
                self.dropped.remove(at);
            }
            None => self.policy.remove(self.items[&id]),
        }
    }
    fn victim(&mut self) -> Option<PageId> {
        if !self.dropped.is_empty() {
            return Some(self.dropped.remove(0));
        }
        let item = self.policy.victim()?;
        Some(self.page(item))
    }
}

/// Returns the naive implementation of a policy for a pool of about `pages` pages.
pub fn naive(choice: &Choice, pages: usize) -> Box<dyn Naive> {
    if choice.locks() {
        let info = ssdlab_cache::POLICIES.get(choice.name()).unwrap();
        let policy = ssdlab_cache::build_policy(info, &[], pages.max(1) as u64, 0, true).unwrap();
        return Box::new(Simulated { policy, items: BTreeMap::new(), dropped: Vec::new() });
    }
    match choice.name() {
        "fifo" => Box::new(Fifo::default()),
        "clock" => Box::new(Fifo { chances: true, ..Fifo::default() }),
        "lru" => Box::<Lru>::default(),
        "sieve" => Box::<Sieve>::default(),
        "s3-fifo" => Box::new(S3Fifo { small: Vec::new(), main: Vec::new(), ghosts: Ghosts::new(pages) }),
        other => panic!("policy {other} has no naive implementation; add one here"),
    }
}

const SLOTS: usize = 30;

proptest! {
    #![proptest_config(ssdlab_tiers::cases(256))]

    /// Compares every policy with its naive implementation under random insertions, hits, removals and evictions.
    #[test]
    fn policies_match_their_naive_forms(
        steps in prop::collection::vec((0_u8..8, 0_u64..SLOTS as u64), 1..400),
        pages in 1..SLOTS,
    ) {
        for choice in policies() {
            // Growing in two steps must not matter.
            let mut policy: Box<dyn Policy> = choice.build(pages).unwrap();
            policy.grow(SLOTS / 2);
            policy.grow(SLOTS);
            let bytes = policy.bytes();
            let mut naive = naive(&choice, pages);
            let mut inside = [false; SLOTS];
            for &(action, page) in &steps {
                let slot = page as usize;
                match (action, inside[slot]) {
                    (0, true) => { policy.remove(page as u32); naive.remove(page); inside[slot] = false; }
                    (1, _) => {
                        let victim = policy.victim(&mut |_| true);
                        prop_assert_eq!(victim.map(u64::from), naive.victim(), "{}", choice.name());
                        if let Some(slot) = victim { inside[slot as usize] = false; }
                    }
                    (_, true) => { policy.hit(page as u32); naive.hit(page); }
                    (_, false) => { policy.insert(page as u32, page); naive.insert(page); inside[slot] = true; }
                }
            }
            prop_assert_eq!(policy.bytes(), bytes, "{}", choice.name());
        }
    }

    /// A policy finds all evictable pages and no other page; the search ends if no page is evictable.
    #[test]
    fn victims_are_exactly_the_evictable_pages(pinned in prop::collection::vec(any::<bool>(), SLOTS), hits in prop::collection::vec(0_u32..SLOTS as u32, 0..100)) {
        for choice in policies() {
            let mut policy: Box<dyn Policy> = choice.build(SLOTS / 2).unwrap();
            policy.grow(SLOTS);
            (0..SLOTS as u32).for_each(|slot| policy.insert(slot, u64::from(slot)));
            hits.iter().for_each(|&slot| policy.hit(slot));
            let mut victims = std::collections::BTreeSet::new();
            while let Some(slot) = policy.victim(&mut |slot| !pinned[slot as usize]) {
                prop_assert!(victims.insert(slot));
            }
            let evictable = (0..SLOTS as u32).filter(|&slot| !pinned[slot as usize]).collect();
            prop_assert_eq!(&victims, &evictable, "{}", choice.name());
            // The pinned pages are still in the policy.
            while let Some(slot) = policy.victim(&mut |_| true) {
                prop_assert!(victims.insert(slot));
            }
            prop_assert_eq!(victims.len(), SLOTS);
        }
    }
}
