//! A set of small numbers.

/// Numbers up to so many, of which mostly few are there.
#[derive(Debug)]
pub(super) struct Columns {
    /// A bit for each, and a bit for each word of these.
    bits: Vec<u64>,
    words: Vec<u64>,
}

impl Columns {
    /// Of numbers below `most`, none.
    pub fn new(most: usize) -> Self {
        let words = most.div_ceil(64);
        Self { bits: vec![0; words], words: vec![0; words.div_ceil(64)] }
    }

    /// There is this one.
    #[inline(never)]
    pub fn insert(&mut self, column: usize) {
        self.bits[column / 64] |= 1 << (column % 64);
        self.words[column / 4096] |= 1 << (column / 64 % 64);
    }

    /// Takes all out, in their order.
    pub fn drain(&mut self, mut each: impl FnMut(usize)) {
        take_ones(&mut self.words, |word| take_ones(&mut self.bits[word..=word], |bit| each(64 * word + bit)));
    }
}

/// Calls `each` with the numbers of the bits that are 1, and clears them.
fn take_ones(words: &mut [u64], mut each: impl FnMut(usize)) {
    for (bits, first) in words.iter_mut().zip((0_usize..).step_by(64)) {
        while *bits != 0 {
            each(first + bits.trailing_zeros() as usize);
            *bits &= *bits - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeSet;

    use ssdlab_core::Rng;

    #[test]
    fn each_number_comes_out_once_and_in_order() {
        let (mut rng, mut columns) = (Rng::named(1, "columns"), Columns::new(15_000));
        for most in [0, 1, 70, 20_000] {
            let expected: BTreeSet<usize> = (0..most).map(|_| rng.below(15_000) as usize).collect();
            expected.iter().rev().chain(&expected).for_each(|&number| columns.insert(number));
            let mut found = Vec::new();
            columns.drain(|number| found.push(number));
            assert!(found.into_iter().eq(expected));
        }
    }
}
