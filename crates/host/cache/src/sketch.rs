//! TinyLFU's sketch of recent access frequencies.
//!
//! ```text
//! record(x):    x not in the doorkeeper: insert it there
//!               else: x has one counter in each of four rows; increment the smallest of them (all on ties), up to 15
//!               after W records: halve every counter and the number of records, and clear the doorkeeper
//! estimate(x):  smallest counter of x, plus 1 if x is in the doorkeeper
//! ```
//! A count-min sketch with minimal increment behind a Bloom filter. The filter keeps items that occur once out of the
//! sketch. Apart from halving and saturation, estimates are never too low. Source: Einziger, Friedman, Manes, "TinyLFU:
//! a highly efficient cache admission policy", ACM Transactions on Storage 13(4), 2017, section 3. The paper leaves the
//! sizes open. Here a row has at least four counters per item of the cache, and the doorkeeper eight bits per record of
//! a sample.

use ssdlab_core::mem::prefetch;

/// Number of rows of counters in the sketch.
const ROWS: usize = 4;
/// Number of doorkeeper bits that are set for each item.
const PROBES: usize = 2;
/// Largest value of a four-bit counter.
const COUNTER_MAX: u8 = 15;
/// Largest supported cache size, in items. At this size, the counters occupy 1 GiB.
pub(crate) const LARGEST: u64 = 1 << 26;

/// Options of a sketch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SketchOptions {
    /// Capacity of the cache in items.
    pub capacity: u64,
    /// Length of a TinyLFU sample (W), in recorded accesses per item of cache capacity.
    pub sample: u64,
    /// True if an item's first access in a sample is recorded only in a Bloom filter, the doorkeeper.
    pub doorkeeper: bool,
}

/// A sketch of recent access frequencies. It takes 16 to 32 bytes per item of cache capacity. The doorkeeper takes one
/// to two bytes more per access in a sample.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// Counters of the sketch in row-major order.
    counters: Vec<u8>,
    row_mask: u32,
    doorkeeper: Vec<u64>,
    door_mask: u64,
    records: u64,
    records_most: u64,
}

/// Output function of SplitMix64: each bit of the result depends on all bits of `number`.
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Sketch {
    /// Creates an empty sketch.
    pub fn new(options: SketchOptions) -> Self {
        let capacity = options.capacity.clamp(1, LARGEST);
        let row = (capacity * 4).next_power_of_two().max(16);
        let records_most = capacity * options.sample;
        let door_bits = if options.doorkeeper { (records_most * 8).next_power_of_two().max(64) } else { 0 };
        Self {
            counters: vec![0; row as usize * ROWS],
            row_mask: row as u32 - 1,
            doorkeeper: vec![0; door_bits as usize / 64],
            door_mask: door_bits.wrapping_sub(1),
            records: 0,
            records_most,
        }
    }

    /// Returns the memory that the counters and the doorkeeper occupy, in bytes.
    pub fn bytes(&self) -> usize {
        self.counters.len() + size_of_val(&*self.doorkeeper)
    }

    /// Returns the indices of an item's counters.
    #[inline]
    pub fn counters_of(&self, item: u32) -> [usize; ROWS] {
        let hash = mix(u64::from(item));
        let (first, step) = (hash as u32, (hash >> 32) as u32 | 1);
        std::array::from_fn(|row| {
            let column = first.wrapping_add(step.wrapping_mul(row as u32)) & self.row_mask;
            row * (self.row_mask as usize + 1) + column as usize
        })
    }

    /// Returns the indices of an item's bits in the doorkeeper.
    #[inline]
    pub fn bits_of(&self, item: u32) -> [u64; PROBES] {
        let hash = mix(u64::from(!item));
        [hash & self.door_mask, hash.rotate_left(32) & self.door_mask]
    }

    #[inline]
    fn in_doorkeeper(&self, item: u32) -> bool {
        self.bits_of(item).iter().all(|bit| self.doorkeeper[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
    }

    /// Prefetches the memory that [`Self::record`] needs.
    #[inline]
    pub fn prefetch(&self, item: u32) {
        self.counters_of(item).into_iter().for_each(|at| prefetch(&self.counters, at));
        if !self.doorkeeper.is_empty() {
            self.bits_of(item).into_iter().for_each(|bit| prefetch(&self.doorkeeper, (bit / 64) as usize));
        }
    }

    /// Records an access to an item.
    #[inline]
    pub fn record(&mut self, item: u32) {
        if self.doorkeeper.is_empty() || self.in_doorkeeper(item) {
            let at = self.counters_of(item);
            let least = self.least(at);
            if least < COUNTER_MAX {
                at.into_iter().for_each(|at| self.counters[at] += u8::from(self.counters[at] == least));
            }
        } else {
            self.bits_of(item).into_iter().for_each(|bit| self.doorkeeper[(bit / 64) as usize] |= 1 << (bit % 64));
        }
        self.records += 1;
        if self.records >= self.records_most {
            self.records /= 2;
            self.counters.iter_mut().for_each(|counter| *counter /= 2);
            self.doorkeeper.fill(0);
        }
    }

    fn least(&self, at: [usize; ROWS]) -> u8 {
        at.into_iter().fold(COUNTER_MAX, |least, at| least.min(self.counters[at]))
    }

    /// Estimates the number of recent accesses to an item.
    #[inline]
    pub fn estimate(&self, item: u32) -> u32 {
        let seen = !self.doorkeeper.is_empty() && self.in_doorkeeper(item);
        u32::from(self.least(self.counters_of(item))) + u32::from(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    /// Compares the sketch with exact counts within one sample: estimates are never too low, and rarely too high.
    #[test]
    fn estimates_are_never_too_low_and_rarely_too_high() {
        for doorkeeper in [false, true] {
            for items in [10, 100_000_u32] {
                let mut sketch = Sketch::new(SketchOptions { capacity: 20_000, sample: 10, doorkeeper });
                let mut counts = vec![0_u32; items as usize];
                let mut rng = Rng::named(1, "sketch");
                for _ in 0..items.min(5) * 16 {
                    let item = rng.below(u64::from(items).min(5)) as u32 * (items / 10);
                    counts[item as usize] += 1;
                    sketch.record(item);
                }
                for item in (0..items).filter(|_| items > 10) {
                    counts[item as usize] += 1;
                    sketch.record(item);
                }
                let most = if doorkeeper { 16 } else { 15 };
                let above = counts.iter().enumerate().map(|(item, &count)| {
                    let estimate = sketch.estimate(item as u32);
                    assert!(estimate >= count.min(most), "{estimate} of {count}");
                    u32::from(estimate > count)
                });
                let above: u32 = above.sum();
                assert!(above <= items / 5, "{above} of {items} are estimated too high");
            }
        }
    }

    #[test]
    fn counters_are_halved_after_a_full_sample() {
        let mut sketch = Sketch::new(SketchOptions { capacity: 2, sample: 10, doorkeeper: true });
        (0..19).for_each(|record| sketch.record(u32::from(record >= 9)));
        assert_eq!([sketch.estimate(0), sketch.estimate(1)], [9, 10]);
        sketch.record(0);
        assert_eq!([sketch.estimate(0), sketch.estimate(1)], [4, 4]);
        (0..9).for_each(|_| sketch.record(2));
        assert_eq!([sketch.estimate(0), sketch.estimate(2)], [4, 9]);
        sketch.record(2);
        assert_eq!([sketch.estimate(0), sketch.estimate(2)], [2, 4]);
    }
}
