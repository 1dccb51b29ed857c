//! The numbers below a bound in random order, without a table of them: a Feistel network, whose results beyond the bound
//! are sent through once more (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002).

use crate::Rng;

/// Rounds; from four on, pairs of numbers are as good as independent.
const ROUNDS: usize = 4;

/// A random permutation of the numbers below a bound.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    bound: u32,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// One of the numbers below `bound`.
    pub fn new(bound: u32, rng: &mut Rng) -> Self {
        let bits = u32::BITS - bound.saturating_sub(1).leading_zeros();
        Self { bound, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| rng.next_u64()) }
    }

    /// Where `number`, which is below the bound, goes.
    #[inline]
    pub fn of(&self, number: u32) -> u32 {
        let mut place = u64::from(number);
        loop {
            place = self.once(place);
            if place < u64::from(self.bound) {
                return place as u32;
            }
        }
    }

    #[inline(always)]
    fn once(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for key in self.keys {
            // The upper half of a product depends on all bits of both factors.
            let mixed = ((u128::from(right ^ key) * 0x9E37_79B9_7F4A_7C15_u128) >> 32) as u64;
            (left, right) = (right, left ^ ((mixed ^ (mixed >> 29)) & mask));
        }
        left << self.half_bits | right
    }

    /// All numbers in this order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<> {
        let order = *self;
        (0..order.bound).map(move |number| order.of(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for bound in [0, 1, 2, 3, 5, 64, 65, 1_000, 4_097] {
            let mut rng = Rng::named(u64::from(bound), "permutation");
            let mut numbers: Vec<u32> = Permutation::new(bound, &mut rng).iter().collect();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..bound), "below {bound}");
        }
    }

    /// Goal: neighbours are as far from each other as any two numbers. Method: the mean distance and the share of falling
    /// pairs of 100,000 neighbours, which are a third of the bound and a half.
    #[test]
    fn neighbours_are_parted() {
        let bound = 1_000_003;
        let order = Permutation::new(bound, &mut Rng::named(3, "permutation"));
        let count = 100_000;
        let (mut distance, mut falls) = (0_u64, 0_u64);
        for number in 0..count {
            let (here, next) = (order.of(number), order.of(number + 1));
            distance += u64::from(here.abs_diff(next));
            falls += u64::from(next < here);
        }
        let mean = distance as f64 / f64::from(count) / f64::from(bound);
        let falls = falls as f64 / f64::from(count);
        // Standard deviations are 0.24 / sqrt(count) = 0.00075 and at most 0.5 / sqrt(count) = 0.0016: six of them.
        assert!((mean - 1.0 / 3.0).abs() < 0.0045 && (falls - 0.5).abs() < 0.0095, "{mean} {falls}");
    }
}
