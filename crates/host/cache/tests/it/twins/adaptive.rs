//! Policies that adapt to ghost hits. All items have one unit.

use std::collections::BTreeSet;

use super::{List, Twin, union};

/// ARC according to figure 4 of the paper. If removals have made room, nothing is evicted.
#[derive(Default)]
pub struct Arc {
    t1: List,
    t2: List,
    b1: List,
    b2: List,
    p: f64,
    c: usize,
}

impl Arc {
    pub fn new(capacity: u64) -> Self {
        Self { c: capacity as usize, ..Self::default() }
    }

    fn replace(&mut self, in_b2: bool) {
        let (t1, t2) = (self.t1.0.len(), self.t2.0.len());
        if t1 + t2 < self.c {
            return;
        }
        if t2 == 0 || (t1 >= 1 && (t1 as f64 > self.p || (in_b2 && t1 as f64 == self.p))) {
            let (item, _) = self.t1.pop_oldest();
            self.b1.push(item, 1);
        } else {
            let (item, _) = self.t2.pop_oldest();
            self.b2.push(item, 1);
        }
    }
}

impl Twin for Arc {
    fn access(&mut self, x: u32, _: u64, _: u32) -> bool {
        // Case I of the paper: `x` is cached.
        if self.t1.take(x).or(self.t2.take(x)).is_some() {
            self.t2.push(x, 1);
            return true;
        }
        let (b1, b2) = (self.b1.0.len() as f64, self.b2.0.len() as f64);
        if self.b1.has(x) {
            // Case II: `x` is in the ghost list B1.
            let delta = if b1 >= b2 { 1.0 } else { b2 / b1 };
            self.p = (self.p + delta).min(self.c as f64);
            self.replace(false);
            self.b1.take(x);
            self.t2.push(x, 1);
        } else if self.b2.has(x) {
            // Case III: `x` is in the ghost list B2.
            let delta = if b2 >= b1 { 1.0 } else { b1 / b2 };
            self.p = (self.p - delta).max(0.0);
            self.replace(true);
            self.b2.take(x);
            self.t2.push(x, 1);
        } else {
            // Case IV: `x` is in no list.
            let l1 = self.t1.0.len() + self.b1.0.len();
            let l2 = self.t2.0.len() + self.b2.0.len();
            if l1 == self.c {
                if self.t1.0.len() < self.c {
                    self.b1.pop_oldest();
                    self.replace(false);
                } else {
                    self.t1.pop_oldest();
                }
            } else if l1 + l2 >= self.c {
                if l1 + l2 == 2 * self.c {
                    self.b2.pop_oldest();
                }
                self.replace(false);
            }
            self.t1.push(x, 1);
        }
        false
    }

    fn remove(&mut self, item: u32) {
        [&mut self.t1, &mut self.t2, &mut self.b1, &mut self.b2].into_iter().for_each(|list| list.forget(item));
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.t1, &self.t2])
    }
}

/// CAR according to figure 2 of the paper. The head of a clock is the oldest item of its list.
#[derive(Default)]
pub struct Car {
    t1: List,
    t2: List,
    b1: List,
    b2: List,
    bits: BTreeSet<u32>,
    p: f64,
    c: usize,
}

impl Car {
    pub fn new(capacity: u64) -> Self {
        Self { c: capacity as usize, ..Self::default() }
    }

    fn replace(&mut self) {
        loop {
            if self.t1.0.len() as f64 >= self.p.max(1.0) || self.t2.0.is_empty() {
                let (head, _) = self.t1.pop_oldest();
                if !self.bits.remove(&head) {
                    return self.b1.push(head, 1);
                }
                self.t2.push(head, 1);
            } else {
                let (head, _) = self.t2.pop_oldest();
                if !self.bits.remove(&head) {
                    return self.b2.push(head, 1);
                }
                self.t2.push(head, 1);
            }
        }
    }
}

impl Twin for Car {
    fn access(&mut self, x: u32, _: u64, _: u32) -> bool {
        if self.t1.has(x) || self.t2.has(x) {
            self.bits.insert(x);
            return true;
        }
        let in_history = self.b1.has(x) || self.b2.has(x);
        if self.t1.0.len() + self.t2.0.len() == self.c {
            self.replace();
        }
        // The replacement moved one cached item to the ghost list of the same half. After removals, the cache may have
        // room while the ghosts are full.
        let all: usize = [&self.t1, &self.t2, &self.b1, &self.b2].iter().map(|list| list.0.len()).sum();
        if !in_history && self.t1.0.len() + self.b1.0.len() == self.c {
            self.b1.pop_oldest();
        } else if !in_history && all == 2 * self.c {
            self.b2.pop_oldest();
        }
        let (b1, b2) = (self.b1.0.len() as f64, self.b2.0.len() as f64);
        if !in_history {
            self.t1.push(x, 1);
        } else if self.b1.take(x).is_some() {
            self.p = (self.p + 1_f64.max(b2 / b1)).min(self.c as f64);
            self.t2.push(x, 1);
        } else {
            self.b2.take(x);
            self.p = (self.p - 1_f64.max(b1 / b2)).max(0.0);
            self.t2.push(x, 1);
        }
        false
    }

    fn remove(&mut self, item: u32) {
        [&mut self.t1, &mut self.t2, &mut self.b1, &mut self.b2].into_iter().for_each(|list| list.forget(item));
        self.bits.remove(&item);
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.t1, &self.t2])
    }
}

/// LIRS according to sections 3.2 and 3.3 of the paper.
#[derive(Default)]
pub struct Lirs {
    /// Stack S, bottom first.
    s: Vec<u32>,
    /// Queue Q of the resident HIR blocks, front first.
    q: Vec<u32>,
    lir: BTreeSet<u32>,
    lir_most: usize,
    capacity: usize,
}

impl Lirs {
    pub fn new(capacity: u64, hir_percent: u64, hir_least: u64) -> Self {
        let hir = (capacity * hir_percent / 100).clamp(hir_least.min(capacity), capacity);
        Self { lir_most: (capacity - hir) as usize, capacity: capacity as usize, ..Self::default() }
    }

    fn raise(&mut self, x: u32) {
        self.s.retain(|&other| other != x);
        self.s.push(x);
    }

    fn prune(&mut self) {
        let lowest = self.s.iter().position(|x| self.lir.contains(x)).unwrap_or(self.s.len());
        self.s.drain(..lowest);
    }

    /// Makes the lowest LIR block of the stack HIR, at the end of Q.
    fn demote(&mut self) {
        if self.lir.len() > self.lir_most {
            self.prune();
            let bottom = self.s.remove(0);
            self.lir.remove(&bottom);
            self.q.push(bottom);
        }
        self.prune();
    }
}

impl Twin for Lirs {
    fn access(&mut self, x: u32, _: u64, _: u32) -> bool {
        let in_stack = self.s.contains(&x);
        if self.lir.contains(&x) {
            self.raise(x);
            self.prune();
            return true;
        }
        if let Some(at) = self.q.iter().position(|&other| other == x) {
            self.q.remove(at);
            self.raise(x);
            if in_stack {
                self.lir.insert(x);
                self.demote();
            } else {
                self.q.push(x);
                self.prune();
            }
            return true;
        }
        if self.lir.len() + self.q.len() == self.capacity {
            // The evicted block stays in the stack as a non-resident block.
            self.q.remove(0);
        }
        self.raise(x);
        if in_stack || self.lir.len() < self.lir_most {
            self.lir.insert(x);
            self.demote();
        } else {
            self.q.push(x);
            self.prune();
        }
        false
    }

    fn remove(&mut self, item: u32) {
        self.s.retain(|&other| other != item);
        self.q.retain(|&other| other != item);
        self.lir.remove(&item);
        self.prune();
    }

    fn cached(&self) -> Vec<u32> {
        self.lir.iter().chain(&self.q).copied().collect()
    }
}
