//! Policies whose items move between queues by use.

use std::collections::{BTreeMap, BTreeSet};

use super::{List, Twin, union};

/// MQ according to figure 4 of the paper.
pub struct Mq {
    queues: Vec<List>,
    qout: List,
    uses: BTreeMap<u32, u64>,
    expires: BTreeMap<u32, u64>,
    now: u64,
    lifetime: u64,
    most_items: u64,
    qout_most: u64,
    capacity: u64,
}

impl Mq {
    pub fn new(capacity: u64, get: &dyn Fn(&str) -> u64) -> Self {
        let (qout, uses, expires) = Default::default();
        Self {
            queues: (0..get("queues")).map(|_| List::default()).collect(),
            qout,
            uses,
            expires,
            now: 0,
            lifetime: get("lifetime"),
            most_items: 0,
            qout_most: capacity * get("remembered") / 100,
            capacity,
        }
    }
}

impl Twin for Mq {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        let kept = self.queues.iter_mut().find_map(|queue| queue.take(item));
        if kept.is_none() {
            while self.queues.iter().map(List::units).sum::<u64>() + size > self.capacity {
                let (victim, size) = self.queues.iter_mut().find(|queue| !queue.0.is_empty()).unwrap().pop_oldest();
                self.qout.push(victim, size);
                self.qout.forget_above(self.qout_most);
            }
            if self.qout.take(item).is_none() {
                self.uses.insert(item, 0);
            }
        }
        let uses = self.uses.get_mut(&item).unwrap();
        *uses += 1;
        let log = (1..64).take_while(|power| *uses >> power > 0).count();
        let queue = log.min(self.queues.len() - 1);
        self.queues[queue].push(item, kept.unwrap_or(size));
        self.most_items = self.most_items.max(self.queues.iter().map(|queue| queue.0.len() as u64).sum());
        let lifetime = self.lifetime * self.most_items;
        self.expires.insert(item, self.now + lifetime);
        self.now += 1;
        for k in 1..self.queues.len() {
            if let Some(&(oldest, size)) = self.queues[k].0.first()
                && self.expires[&oldest] < self.now
            {
                self.queues[k].take(oldest);
                self.queues[k - 1].push(oldest, size);
                self.expires.insert(oldest, self.now + lifetime);
            }
        }
        kept.is_some()
    }

    fn remove(&mut self, item: u32) {
        self.queues.iter_mut().for_each(|queue| queue.forget(item));
        self.qout.forget(item);
    }

    fn cached(&self) -> Vec<u32> {
        union(&self.queues.iter().collect::<Vec<_>>())
    }
}

/// FBR with one stack, newest last. The section of each item is stored, because items move down only when newer items
/// push them.
pub struct Fbr {
    stack: List,
    /// Section of each item: 0 is the new, 1 the middle and 2 the old section.
    section: BTreeMap<u32, usize>,
    counts: BTreeMap<u32, u64>,
    most: [u64; 2],
    mean_most: u64,
    count_most: u64,
    capacity: u64,
}

impl Fbr {
    pub fn new(capacity: u64, get: &dyn Fn(&str) -> u64) -> Self {
        let (stack, section, counts) = Default::default();
        let (new, old) = (capacity * get("new") / 100, capacity * get("old") / 100);
        let most = [new, capacity.saturating_sub(new + old)];
        Self { stack, section, counts, most, mean_most: get("mean_most"), count_most: get("count_most"), capacity }
    }

    fn of(&self, section: usize) -> Vec<(u32, u64)> {
        self.stack.0.iter().copied().filter(|entry| self.section[&entry.0] == section).collect()
    }
}

impl Twin for Fbr {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        let hit = self.stack.has(item);
        if hit {
            *self.counts.get_mut(&item).unwrap() += u64::from(self.section[&item] > 0);
            self.stack.renew(item);
        } else {
            while self.stack.units() + size > self.capacity {
                let count = |entry: &(u32, u64)| self.counts[&entry.0].min(self.count_most);
                // On ties, the lowest item is evicted.
                let victim = self.of(2).into_iter().min_by_key(count).unwrap_or(self.stack.0[0]);
                self.remove(victim.0);
            }
            self.stack.push(item, size);
            self.counts.insert(item, 1);
        }
        self.section.insert(item, 0);
        for section in [0, 1] {
            while self.of(section).iter().map(|entry| entry.1).sum::<u64>() > self.most[section] {
                let lowest = self.of(section)[0].0;
                self.section.insert(lowest, section + 1);
            }
        }
        if self.counts.values().sum::<u64>() > self.mean_most * self.counts.len() as u64 {
            self.counts.values_mut().for_each(|count| *count = count.div_ceil(2));
        }
        hit
    }

    fn remove(&mut self, item: u32) {
        self.stack.forget(item);
        self.section.remove(&item);
        self.counts.remove(&item);
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.stack])
    }
}

/// QD-LP: a FIFO, a two-bit CLOCK, and a ghost list of the CLOCK's size. Compares shares in percent to avoid rounding.
#[derive(Default)]
pub struct QdLp {
    probation: List,
    main: List,
    ghost: List,
    uses: BTreeMap<u32, u32>,
    percent: u64,
    capacity: u64,
}

impl QdLp {
    pub fn new(capacity: u64, percent: u64) -> Self {
        Self { percent, capacity, ..Self::default() }
    }

    fn is_above_main(&self, units: u64) -> bool {
        units * 100 > self.capacity * (100 - self.percent)
    }

    fn evict_main(&mut self) {
        loop {
            let (item, size) = self.main.pop_oldest();
            let uses = self.uses.get_mut(&item).unwrap();
            if *uses == 0 {
                return;
            }
            *uses -= 1;
            self.main.push(item, size);
        }
    }

    /// Demotes items until an item is evicted.
    fn evict_probation(&mut self) {
        while !self.probation.0.is_empty() {
            let (item, size) = self.probation.pop_oldest();
            if self.uses[&item] == 0 {
                self.ghost.push(item, size);
                while self.is_above_main(self.ghost.units()) {
                    self.ghost.pop_oldest();
                }
                return;
            }
            self.uses.insert(item, 0);
            self.main.push(item, size);
            if self.is_above_main(self.main.units()) {
                self.evict_main();
            }
        }
    }
}

impl Twin for QdLp {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        if self.probation.has(item) || self.main.has(item) {
            let uses = self.uses.get_mut(&item).unwrap();
            *uses = (*uses + 1).min(3);
            return true;
        }
        while self.probation.units() + self.main.units() + size > self.capacity {
            if self.probation.units() * 100 >= self.capacity * self.percent || self.main.0.is_empty() {
                self.evict_probation();
            } else {
                self.evict_main();
            }
        }
        let queue = if self.ghost.take(item).is_some() { &mut self.main } else { &mut self.probation };
        queue.push(item, size);
        self.uses.insert(item, 0);
        false
    }

    fn remove(&mut self, item: u32) {
        [&mut self.probation, &mut self.main, &mut self.ghost].into_iter().for_each(|list| list.forget(item));
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.probation, &self.main])
    }
}

/// S3-FIFO-D, with queue sizes in units.
pub struct S3FifoD {
    s: List,
    m: List,
    g: List,
    uses: BTreeMap<u32, u32>,
    /// Recent evictions of S and M, and hits on them.
    left: [List; 2],
    hits: [u64; 2],
    hits_most: u64,
    left_most: u64,
    s_full: u64,
    m_most: u64,
    capacity: u64,
}

impl S3FifoD {
    pub fn new(capacity: u64, get: &dyn Fn(&str) -> u64) -> Self {
        let (s, m, g, uses, left) = Default::default();
        let m_most = capacity * (100 - get("small")) / 100;
        Self {
            s,
            m,
            g,
            uses,
            left,
            hits: [0, 0],
            hits_most: get("hits"),
            left_most: capacity * get("lately") / 100,
            s_full: capacity - m_most,
            m_most,
            capacity,
        }
    }

    fn adapt(&mut self) {
        if self.hits[0] + self.hits[1] <= self.hits_most || self.left[1].0.is_empty() {
            return;
        }
        let step = (self.capacity / 1000).max(1);
        let may_shrink = |units: u64| units * 100 > self.capacity && units > step;
        if self.hits[0] > 2 * self.hits[1] && may_shrink(self.m_most) {
            (self.s_full, self.m_most) = (self.s_full + step, self.m_most - step);
        } else if self.hits[1] > 2 * self.hits[0] && may_shrink(self.s_full) {
            (self.s_full, self.m_most) = (self.s_full - step, self.m_most + step);
        }
        self.hits = self.hits.map(|hits| hits * 8 / 10);
    }

    fn note(&mut self, from: usize, item: u32, size: u64) {
        self.left[from].push(item, size);
        self.left[from].forget_above(self.left_most);
    }

    fn evict_m(&mut self) {
        loop {
            let (item, size) = self.m.pop_oldest();
            let uses = self.uses.get_mut(&item).unwrap();
            if *uses == 0 {
                return self.note(1, item, size);
            }
            *uses -= 1;
            self.m.push(item, size);
        }
    }

    fn evict_s(&mut self) {
        while !self.s.0.is_empty() {
            let (item, size) = self.s.pop_oldest();
            if self.uses[&item] <= 1 {
                self.g.push(item, size);
                self.g.forget_above(self.m_most);
                return self.note(0, item, size);
            }
            self.m.push(item, size);
            if self.m.units() > self.m_most {
                self.evict_m();
            }
        }
    }
}

impl Twin for S3FifoD {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        self.adapt();
        if self.s.has(item) || self.m.has(item) {
            let uses = self.uses.get_mut(&item).unwrap();
            *uses = (*uses + 1).min(3);
            return true;
        }
        for from in [0, 1] {
            self.hits[from] += u64::from(self.left[from].take(item).is_some());
        }
        while self.s.units() + self.m.units() + size > self.capacity {
            if self.s.units() >= self.s_full || self.m.0.is_empty() { self.evict_s() } else { self.evict_m() }
        }
        let queue = if self.g.take(item).is_some() { &mut self.m } else { &mut self.s };
        queue.push(item, size);
        self.uses.insert(item, 0);
        false
    }

    fn remove(&mut self, item: u32) {
        let [from_s, from_m] = &mut self.left;
        [&mut self.s, &mut self.m, &mut self.g, from_s, from_m].into_iter().for_each(|list| list.forget(item));
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.s, &self.m])
    }
}

pub struct Clock2QPlus {
    small: List,
    main: List,
    ghost: List,
    referenced: BTreeSet<u32>,
    /// Number of units inserted into the small FIFO up to the insertion of each item.
    arrived: BTreeMap<u32, u64>,
    arrivals: u64,
    small_most: u64,
    window_percent: u64,
    ghost_most: u64,
    has_evicted: bool,
    capacity: u64,
}

impl Clock2QPlus {
    pub fn new(capacity: u64, get: &dyn Fn(&str) -> u64) -> Self {
        let (small, main, ghost, referenced, arrived) = Default::default();
        Self {
            small,
            main,
            ghost,
            referenced,
            arrived,
            arrivals: 0,
            small_most: capacity * get("small") / 100,
            window_percent: get("window"),
            ghost_most: capacity * get("ghost") / 100,
            has_evicted: false,
            capacity,
        }
    }

    fn evict(&mut self) {
        self.has_evicted = true;
        if self.main.units() > self.capacity - self.small_most || self.small.0.is_empty() {
            loop {
                let (item, size) = self.main.pop_oldest();
                if !self.referenced.remove(&item) {
                    return;
                }
                self.main.push(item, size);
            }
        }
        while !self.small.0.is_empty() {
            let (item, size) = self.small.pop_oldest();
            if !self.referenced.remove(&item) {
                self.ghost.push(item, size);
                return self.ghost.forget_above(self.ghost_most);
            }
            self.main.push(item, size);
        }
    }
}

impl Twin for Clock2QPlus {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        if self.main.has(item) {
            self.referenced.insert(item);
            return true;
        }
        if self.small.has(item) {
            let since = self.arrivals - self.arrived[&item];
            if since * 100 >= self.small_most * self.window_percent {
                self.referenced.insert(item);
            }
            return true;
        }
        let came_back = self.ghost.take(item).is_some();
        while self.small.units() + self.main.units() + size > self.capacity {
            self.evict();
        }
        if came_back || (!self.has_evicted && self.small.units() >= self.small_most) {
            self.main.push(item, size);
        } else {
            self.small.push(item, size);
            self.arrivals += size;
            self.arrived.insert(item, self.arrivals);
        }
        false
    }

    fn remove(&mut self, item: u32) {
        [&mut self.small, &mut self.main, &mut self.ghost].into_iter().for_each(|list| list.forget(item));
        self.referenced.remove(&item);
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.small, &self.main])
    }
}
