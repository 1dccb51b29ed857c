//! Reference implementations of all policies: slow and obvious, with plain vectors and linear searches.

mod adaptive;
mod ageing;
mod clock_pro;
mod counting;
mod learning;
mod lhd;
mod queues;
mod segmented;
mod simple;

/// A reference implementation of a policy.
pub trait Twin {
    /// Accesses an item that fits the cache; returns true if it was cached. `next` is the position of its next use.
    fn access(&mut self, item: u32, size: u64, next: u32) -> bool;

    /// Removes an item from the cache and the history.
    fn remove(&mut self, item: u32);

    /// Returns the cached items, in any order.
    fn cached(&self) -> Vec<u32>;
}

/// Builds the twin of the policy `name`; `get` returns its parameters.
pub fn twin(name: &str, get: &dyn Fn(&str) -> u64, capacity: u64) -> Box<dyn Twin> {
    match name {
        "fifo" => Box::new(simple::Fifo::new(capacity)),
        "lifo" => Box::new(simple::Lifo::new(capacity)),
        "lru" => Box::new(simple::Lru::new(capacity)),
        "mru" => Box::new(simple::Mru::new(capacity)),
        "random" => Box::new(simple::Random::new(capacity, get("seed"))),
        "clock" => Box::new(simple::Clock::new(capacity, get("bits"))),
        "sieve" => Box::new(simple::Sieve::new(capacity)),
        "belady" => Box::new(counting::Belady::new(capacity, get("bypass"))),
        "lfu" => Box::new(counting::Lfu::new(capacity)),
        "lru-k" => Box::new(counting::LruK::new(capacity, get("k"), get("correlated"), get("retained"))),
        "tinylfu" => Box::new(counting::TinyLfu::new(capacity, get("sample"), get("doorkeeper"))),
        "w-tinylfu" => Box::new(counting::WTinyLfu::new(capacity, get)),
        "2q" => Box::new(segmented::TwoQ::new(capacity, get("kin"), get("kout"))),
        "slru" => Box::new(segmented::Slru::new(capacity, get("protected"))),
        "s3-fifo" if get("simulator") == 1 => Box::new(segmented::S3Simulated::new(capacity, get("small"))),
        "s3-fifo" => Box::new(segmented::S3Fifo::new(capacity, get("small"))),
        "arc" => Box::new(adaptive::Arc::new(capacity)),
        "car" => Box::new(adaptive::Car::new(capacity)),
        "lirs" => Box::new(adaptive::Lirs::new(capacity, get("hir"), get("hir_least"))),
        "clock-pro" => Box::new(clock_pro::ClockPro::new(capacity)),
        "lfu-da" => Box::new(ageing::GreedyDual::new(capacity, true, false)),
        "gds" => Box::new(ageing::GreedyDual::new(capacity, false, true)),
        "gdsf" => Box::new(ageing::GreedyDual::new(capacity, true, true)),
        "hyperbolic" => Box::new(ageing::Hyperbolic::new(capacity, get("sample"), get("seed"))),
        "lhd" => Box::new(lhd::Lhd::new(capacity, get)),
        "fbr" => Box::new(queues::Fbr::new(capacity, get)),
        "mq" => Box::new(queues::Mq::new(capacity, get)),
        "qd-lp" => Box::new(queues::QdLp::new(capacity, get("small"))),
        "s3-fifo-d" => Box::new(queues::S3FifoD::new(capacity, get)),
        "clock2q-plus" => Box::new(queues::Clock2QPlus::new(capacity, get)),
        "lecar" => Box::new(learning::LeCaR::new(capacity, get)),
        "cacheus" => Box::new(learning::Cacheus::new(capacity, get("seed"))),
        _ => panic!("policy {name} has no twin; write one"),
    }
}

/// Items with their sizes, oldest first.
#[derive(Default)]
struct List(Vec<(u32, u64)>);

impl List {
    fn units(&self) -> u64 {
        self.0.iter().map(|entry| entry.1).sum()
    }

    fn has(&self, item: u32) -> bool {
        self.0.iter().any(|entry| entry.0 == item)
    }

    /// Removes an item; returns its size.
    fn take(&mut self, item: u32) -> Option<u64> {
        let at = self.0.iter().position(|entry| entry.0 == item)?;
        Some(self.0.remove(at).1)
    }

    fn forget(&mut self, item: u32) {
        self.0.retain(|entry| entry.0 != item);
    }

    fn push(&mut self, item: u32, size: u64) {
        self.0.push((item, size));
    }

    fn pop_oldest(&mut self) -> (u32, u64) {
        self.0.remove(0)
    }

    /// Makes a listed item the newest.
    fn renew(&mut self, item: u32) {
        let size = self.take(item).unwrap();
        self.push(item, size);
    }

    fn forget_above(&mut self, most: u64) {
        while self.units() > most {
            self.pop_oldest();
        }
    }

    fn items(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|entry| entry.0)
    }
}

/// Returns the items of all lists.
fn union(lists: &[&List]) -> Vec<u32> {
    lists.iter().flat_map(|list| list.items()).collect()
}
