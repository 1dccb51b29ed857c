//! Count-min sketch of page requests, with small counters that are halved periodically.
//!
//! Source: Einziger, Friedman, Manes 2017, "TinyLFU", section 3, with two rows and no doorkeeper.

use crate::PageId;
use crate::hash::hash;

const MAX_COUNT: u8 = 15;

/// Estimator of the number of recent requests for each page.
pub struct Sketch {
    counters: Box<[u8]>,
    increments: usize,
}

impl Sketch {
    pub fn new(pages: usize) -> Self {
        Self { counters: vec![0; (4 * pages).next_power_of_two()].into(), increments: 0 }
    }

    fn indexes(&self, id: PageId) -> [usize; 2] {
        let hash = hash(id);
        [hash, hash >> 32].map(|bits| bits as usize & (self.counters.len() - 1))
    }

    pub fn count(&mut self, id: PageId) {
        for index in self.indexes(id) {
            self.counters[index] = (self.counters[index] + 1).min(MAX_COUNT);
        }
        self.increments += 1;
        if self.increments >= 2 * self.counters.len() {
            self.increments = 0;
            self.counters.iter_mut().for_each(|counter| *counter /= 2);
        }
    }

    /// Estimates the number of requests for page `id`, up to 15. The estimate is never below the number of requests
    /// since the last halving.
    pub fn estimate(&self, id: PageId) -> u8 {
        self.indexes(id).map(|index| self.counters[index]).into_iter().min().unwrap_or(0)
    }

    pub fn bytes(&self) -> usize {
        self.counters.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_never_too_low_and_fade() {
        let mut sketch = Sketch::new(64);
        for id in 0..40 {
            (0..=id % 3).for_each(|_| sketch.count(id));
        }
        assert!((0..40).all(|id| u64::from(sketch.estimate(id)) > id % 3));
        let before = sketch.estimate(2);
        (0..512).for_each(|_| sketch.count(1_000));
        assert!(sketch.estimate(2) < before);
    }
}
