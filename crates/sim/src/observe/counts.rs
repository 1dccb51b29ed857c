//! Counts of small numbers.

/// Numbers whose counts lie next to each other, in one line of the processor's cache.
const NEIGHBOURS: usize = 16;

/// How often there was each of the numbers up to so many, mostly few of them.
///
/// Whether a number is new is not asked when it is counted, and numbers are taken out with their neighbours: processors
/// foresee badly which of them are there.
#[derive(Debug)]
pub(super) struct Counts {
    counts: Vec<[u32; NEIGHBOURS]>,
    /// Whether there was any of these.
    are_there: Vec<bool>,
}

/// What was counted until some time, in order: those that were there with their neighbours.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted(Vec<(u32, [u32; NEIGHBOURS])>);

impl Counts {
    /// Of numbers below `most`, none.
    pub fn new(most: usize) -> Self {
        let lines = most.div_ceil(NEIGHBOURS);
        Self { counts: vec![[0; NEIGHBOURS]; lines], are_there: vec![false; lines] }
    }

    /// There is one more.
    #[inline(always)]
    pub fn add(&mut self, number: usize) {
        self.counts[number / NEIGHBOURS][number % NEIGHBOURS] += 1;
        self.are_there[number / NEIGHBOURS] = true;
    }

    /// Takes all out.
    pub fn take(&mut self) -> Counted {
        let lines = self.are_there.iter().filter(|is_there| **is_there).count();
        let mut counted = Vec::with_capacity(lines);
        for (at, is_there) in self.are_there.iter_mut().enumerate() {
            if std::mem::take(is_there) {
                counted.push((at as u32, std::mem::take(&mut self.counts[at])));
            }
        }
        Counted(counted)
    }
}

impl Counted {
    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what was counted later.
    pub fn merge(&mut self, later: Self) {
        if self.is_empty() {
            *self = later;
            return;
        }
        let mut merged = Vec::with_capacity(self.0.len() + later.0.len());
        let (mut one, mut other) = (self.0.iter().peekable(), later.0.iter().peekable());
        while let (Some((first, _)), Some((second, _))) = (one.peek(), other.peek()) {
            let at = *first.min(second);
            let (one, other) = (one.next_if(|one| one.0 == at), other.next_if(|other| other.0 == at));
            let mut counts = [0; NEIGHBOURS];
            for (_, more) in one.into_iter().chain(other) {
                counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
            }
            merged.push((at, counts));
        }
        merged.extend(one.chain(other));
        self.0 = merged;
    }

    /// The numbers that were there, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u32)> {
        let numbered = |at: u32, counts: &[u32; NEIGHBOURS]| (at as usize * NEIGHBOURS..).zip(*counts);
        self.0.iter().flat_map(move |(at, counts)| numbered(*at, counts)).filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeMap;

    use ssdlab_core::Rng;

    #[test]
    fn each_number_is_counted_and_comes_out_in_order() {
        let (mut rng, mut counts) = (Rng::named(1, "counts"), Counts::new(15_000));
        let (mut all, mut expected_of_all) = (Counted::default(), BTreeMap::new());
        for most in [0, 1, 70, 20_000, 3] {
            let mut expected = BTreeMap::<usize, u32>::new();
            for _ in 0..most {
                let number = rng.below(15_000) as usize;
                counts.add(number);
                *expected.entry(number).or_default() += 1;
                *expected_of_all.entry(number).or_default() += 1;
            }
            let counted = counts.take();
            assert!(counted.iter().eq(expected), "{most}");
            assert_eq!(counted.is_empty(), most == 0);
            all.merge(counted);
            assert!(all.iter().eq(expected_of_all.clone()), "{most}");
        }
    }
}
