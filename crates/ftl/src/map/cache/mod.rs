//! Which cached item gives way to a new one; one file for each policy, registered in [`POLICIES`].

pub mod clock;
pub mod fifo;
pub mod lru;
pub mod two_q;

/// A policy over items `0..items`, of which `capacity` are cached.
pub trait CachePolicy: Send {
    /// Item `item`, which is cached, is used.
    fn hit(&mut self, item: u32);

    /// Item `item`, which is not cached, comes in; returns the one that gives way if the cache was full.
    fn admit(&mut self, item: u32) -> Option<u32>;
}

/// The policies to choose from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheChoice {
    /// Used longest ago.
    Lru,
    /// Cached longest ago.
    Fifo,
    /// Second chance on a circle.
    Clock,
    /// 2Q.
    TwoQ,
}

/// A registered policy.
#[derive(Clone, Copy, Debug)]
pub struct CachePolicyInfo {
    /// Name in configurations.
    pub name: &'static str,
    /// One line for people.
    pub help: &'static str,
    /// As chosen in options.
    pub choice: CacheChoice,
}

/// Every policy.
pub static POLICIES: &[CachePolicyInfo] = &[
    CachePolicyInfo { name: "lru", help: lru::HELP, choice: CacheChoice::Lru },
    CachePolicyInfo { name: "fifo", help: fifo::HELP, choice: CacheChoice::Fifo },
    CachePolicyInfo { name: "clock", help: clock::HELP, choice: CacheChoice::Clock },
    CachePolicyInfo { name: "two_q", help: two_q::HELP, choice: CacheChoice::TwoQ },
];

/// Builds a policy for `capacity` (at least 1) of `items`.
pub fn policy(choice: CacheChoice, items: u32, capacity: u32) -> Box<dyn CachePolicy> {
    match choice {
        CacheChoice::Lru => Box::new(lru::Lru::new(items, capacity)),
        CacheChoice::Fifo => Box::new(fifo::Fifo::new(capacity)),
        CacheChoice::Clock => Box::new(clock::Clock::new(items, capacity)),
        CacheChoice::TwoQ => Box::new(two_q::TwoQ::new(items, capacity)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    /// Whatever the policy, the cache holds what came in and has not given way, and never more than its capacity.
    #[test]
    fn policies_keep_their_books() {
        for info in POLICIES {
            for capacity in [1, 2, 3, 7] {
                let mut policy = policy(info.choice, 20, capacity);
                let mut cached = std::collections::BTreeSet::new();
                let mut rng = Rng::named(7, info.name);
                for _ in 0..5_000 {
                    let item = (rng.below(20).min(rng.below(20))) as u32;
                    if cached.contains(&item) {
                        policy.hit(item);
                        continue;
                    }
                    if let Some(victim) = policy.admit(item) {
                        assert!(cached.remove(&victim), "{}: {victim} gives way but is not cached", info.name);
                        assert_eq!(cached.len() as u32, capacity - 1, "{}: gave way early", info.name);
                    }
                    cached.insert(item);
                    assert!(cached.len() as u32 <= capacity, "{} overflows", info.name);
                }
            }
        }
    }

    fn evicted(choice: CacheChoice, capacity: u32, uses: &[u32]) -> Vec<u32> {
        let mut policy = policy(choice, 10, capacity);
        let mut cached = Vec::new();
        let mut out = Vec::new();
        for &item in uses {
            if cached.contains(&item) {
                policy.hit(item);
            } else {
                if let Some(victim) = policy.admit(item) {
                    cached.retain(|&one| one != victim);
                    out.push(victim);
                }
                cached.push(item);
            }
        }
        out
    }

    #[test]
    fn each_policy_by_hand() {
        assert_eq!(evicted(CacheChoice::Lru, 3, &[1, 2, 3, 1, 4, 5]), [2, 3]);
        assert_eq!(evicted(CacheChoice::Fifo, 3, &[1, 2, 3, 1, 4, 5]), [1, 2]);
        // 1 was used: it is passed over once, 2 gives way; then 3.
        assert_eq!(evicted(CacheChoice::Clock, 3, &[1, 2, 3, 1, 4, 5]), [2, 3]);
        // Four places: one for newcomers, two remembered. 1 comes back while remembered, so newcomers 3, 4, 5 go first.
        assert_eq!(evicted(CacheChoice::TwoQ, 4, &[1, 2, 3, 4, 5, 1, 6, 7]), [1, 2, 3, 4]);
    }
}
