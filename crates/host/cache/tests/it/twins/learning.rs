//! Policies with two experts that learn from ghost hits.

use std::collections::BTreeMap;

use ssdlab_core::Rng;

use super::{List, Twin, union};

/// Weights of LRU and LFU.
struct Experts {
    weights: [f64; 2],
    rng: Rng,
}

impl Experts {
    fn new(rng: Rng) -> Self {
        Self { weights: [0.5, 0.5], rng }
    }

    fn choose(&mut self) -> usize {
        if self.rng.unit() < self.weights[0] { 0 } else { 1 }
    }

    fn blame(&mut self, expert: usize, rate: f64) {
        self.weights[expert] *= libm::exp(-rate);
        let lru = self.weights[0] / (self.weights[0] + self.weights[1]);
        let lru = lru.clamp(0.01, 0.99);
        self.weights = [lru, 1.0 - lru];
    }
}

pub struct LeCaR {
    /// Cached items by recency, oldest first.
    cached: List,
    uses: BTreeMap<u32, u64>,
    histories: [List; 2],
    left_at: BTreeMap<u32, u64>,
    experts: Experts,
    rate: f64,
    history_most: u64,
    most_items: usize,
    now: u64,
    capacity: u64,
}

impl LeCaR {
    pub fn new(capacity: u64, get: &dyn Fn(&str) -> u64) -> Self {
        let (cached, uses, histories, left_at) = Default::default();
        Self {
            cached,
            uses,
            histories,
            left_at,
            experts: Experts::new(Rng::named(get("seed"), "LeCaR")),
            rate: get("rate") as f64 / 100.0,
            history_most: capacity * get("history") / 100,
            most_items: 0,
            now: 0,
            capacity,
        }
    }
}

impl Twin for LeCaR {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        self.now += 1;
        if self.cached.has(item) {
            self.cached.renew(item);
            *self.uses.get_mut(&item).unwrap() += 1;
            return true;
        }
        if let Some(expert) = self.histories.iter().position(|history| history.has(item)) {
            self.histories[expert].forget(item);
            let since = (self.now - self.left_at[&item]) as f64;
            self.experts.blame(expert, self.rate * libm::pow(0.005, since / self.most_items as f64));
            *self.uses.get_mut(&item).unwrap() += 1;
        } else {
            self.uses.insert(item, 1);
        }
        while self.cached.units() + size > self.capacity {
            let expert = self.experts.choose();
            // On ties, LFU evicts the least recently used item.
            let lfu = self.cached.items().min_by_key(|item| self.uses[item]).unwrap();
            let victim = if expert == 0 { self.cached.0[0].0 } else { lfu };
            let size = self.cached.take(victim).unwrap();
            self.left_at.insert(victim, self.now);
            self.histories[expert].push(victim, size);
            self.histories[expert].forget_above(self.history_most);
        }
        self.cached.push(item, size);
        self.most_items = self.most_items.max(self.cached.0.len());
        false
    }

    fn remove(&mut self, item: u32) {
        self.cached.forget(item);
        self.histories.iter_mut().for_each(|history| history.forget(item));
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.cached])
    }
}

#[derive(Clone, Copy)]
struct Entry {
    uses: u64,
    last: u64,
    is_demoted: bool,
    is_new: bool,
}

/// CACHEUS, which counts the demoted and new items anew whenever it needs their numbers.
pub struct Cacheus {
    s: List,
    q: List,
    histories: [List; 2],
    entries: BTreeMap<u32, Entry>,
    q_limit: usize,
    has_evicted: bool,
    experts: Experts,
    /// Learning rates of the previous and the current period.
    rates: [f64; 2],
    /// Hits of the previous and the current period.
    hits: [u64; 2],
    in_vain: u32,
    now: u64,
    n: usize,
}

impl Cacheus {
    pub fn new(capacity: u64, seed: u64) -> Self {
        let (s, q, histories, entries) = Default::default();
        let rate = libm::sqrt(2.0 * std::f64::consts::LN_2 / capacity as f64);
        Self {
            s,
            q,
            histories,
            entries,
            q_limit: ((capacity as f64 / 100.0).round() as usize).max(1),
            has_evicted: false,
            experts: Experts::new(Rng::named(seed, "CACHEUS")),
            rates: [0.0, rate.clamp(0.001, 1.0)],
            hits: [0, 0],
            in_vain: 0,
            now: 0,
            n: capacity as usize,
        }
    }

    fn demoted(&self) -> f64 {
        self.s.items().chain(self.q.items()).filter(|item| self.entries[item].is_demoted).count() as f64
    }

    fn new_in_history(&self) -> f64 {
        self.histories[0].items().filter(|item| self.entries[item].is_new).count() as f64
    }

    fn end_period(&mut self) {
        let change = self.rates[1] - self.rates[0];
        let gain = self.hits[1] as f64 - self.hits[0] as f64;
        let mut rate = self.rates[1];
        if change != 0.0 {
            let sign = if gain / change > 0.0 { 1.0 } else { -1.0 };
            rate = (rate + sign * (rate * change).abs()).clamp(0.001, 1.0);
            self.in_vain = 0;
        } else if self.hits[1] == 0 || gain <= 0.0 {
            self.in_vain += 1;
            if self.in_vain == 10 {
                self.in_vain = 0;
                rate = 0.001 + (1.0 - 0.001) * self.experts.rng.unit();
            }
        }
        self.rates = [self.rates[1], rate];
        self.hits = [self.hits[1], 0];
    }

    fn limit_s(&mut self) {
        while self.s.0.len() > self.n - self.q_limit {
            let (item, _) = self.s.pop_oldest();
            self.entries.get_mut(&item).unwrap().is_demoted = true;
            self.q.push(item, 1);
        }
    }

    fn evict(&mut self) {
        self.has_evicted = true;
        let lru = self.q.0.first().or(self.s.0.first()).unwrap().0;
        let all = self.s.items().chain(self.q.items());
        let lfu = all.min_by_key(|item| (self.entries[item].uses, u64::MAX - self.entries[item].last)).unwrap();
        let expert = self.experts.choose();
        let victim = [lru, lfu][expert];
        self.s.forget(victim);
        self.q.forget(victim);
        self.entries.get_mut(&victim).unwrap().is_demoted = false;
        if lru != lfu {
            self.histories[expert].push(victim, 1);
            self.histories[expert].forget_above(self.n as u64 / 2);
        }
    }
}

impl Twin for Cacheus {
    fn access(&mut self, item: u32, _: u64, _: u32) -> bool {
        self.now += 1;
        if self.now.is_multiple_of(self.n as u64) {
            self.end_period();
        }
        if self.s.has(item) || self.q.has(item) {
            self.hits[1] += 1;
            if self.entries[&item].is_demoted {
                let step = (self.new_in_history() / self.demoted()).round().max(1.0) as usize;
                // S may hold at most all items but one.
                self.q_limit = self.q_limit.saturating_sub(step).max(self.n - (self.n - 1));
            }
            let entry = self.entries.get_mut(&item).unwrap();
            (entry.uses, entry.last, entry.is_demoted) = (entry.uses + 1, self.now, false);
            self.s.forget(item);
            self.q.forget(item);
            self.s.push(item, 1);
            self.limit_s();
            return true;
        }
        let expert = self.histories.iter().position(|history| history.has(item));
        if let Some(expert) = expert {
            self.histories[expert].forget(item);
            if expert == 0 && self.entries[&item].is_new {
                let step = (self.demoted() / self.new_in_history().max(1.0)).round().max(1.0) as usize;
                self.q_limit = (self.q_limit + step).min(self.n - 1);
            }
            self.experts.blame(expert, self.rates[1]);
        }
        if self.s.0.len() + self.q.0.len() == self.n {
            self.evict();
        }
        let uses = if expert.is_some() { self.entries[&item].uses + 1 } else { 1 };
        let fills = expert.is_none() && !self.has_evicted;
        let is_new = expert.is_none() && self.has_evicted;
        self.entries.insert(item, Entry { uses, last: self.now, is_demoted: false, is_new });
        let into_s = expert.is_some() || (fills && self.s.0.len() < self.n - self.q_limit && self.q.0.is_empty());
        if into_s {
            self.s.push(item, 1)
        } else {
            self.q.push(item, 1)
        }
        self.limit_s();
        false
    }

    fn remove(&mut self, item: u32) {
        let [lru, lfu] = &mut self.histories;
        [&mut self.s, &mut self.q, lru, lfu].into_iter().for_each(|list| list.forget(item));
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.s, &self.q])
    }
}
