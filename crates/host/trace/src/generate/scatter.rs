//! Pseudo-random permutation that separates neighbours and needs O(1) memory.

use ssdlab_core::Rng;

/// A bijection of `0..count`: four Feistel rounds over the next power of four, repeated until the value is in range
/// (cycle walking; four times at most on average).
#[derive(Clone, Debug)]
pub(super) struct Scatter {
    count: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Scatter {
    /// Draws a random permutation of the numbers below `count`, which must be at least 1.
    pub fn new(count: u64, rng: &mut Rng) -> Self {
        let bits = u64::BITS - (count - 1).leading_zeros();
        Self { count, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| rng.next_u64()) }
    }

    /// Returns the number that the permutation assigns to `value`, which must be below `count`.
    pub fn apply(&self, mut value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        loop {
            let (mut left, mut right) = (value >> self.half_bits, value & mask);
            for key in self.keys {
                let mixed = (right ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                (left, right) = (right, left ^ ((mixed ^ mixed >> 32) >> 16 & mask));
            }
            value = left << self.half_bits | right;
            if value < self.count {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattering_is_a_bijection() {
        for count in [1_u64, 2, 3, 5, 16, 17, 1000, 4097] {
            let scatter = Scatter::new(count, &mut Rng::named(count, "scatter"));
            let mut hit = vec![false; count as usize];
            for value in 0..count {
                let to = scatter.apply(value) as usize;
                assert!(!std::mem::replace(&mut hit[to], true), "{count}: {to} hit twice");
            }
        }
    }

    #[test]
    fn neighbours_are_separated() {
        let scatter = Scatter::new(1 << 20, &mut Rng::named(5, "scatter"));
        let near = (0..1000).filter(|&k| scatter.apply(k).abs_diff(scatter.apply(k + 1)) < 1000).count();
        assert!(near < 10, "{near} of 1000 neighbours stayed close");
    }
}
