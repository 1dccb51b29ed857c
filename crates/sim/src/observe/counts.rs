//! Counts of small numbers.

/// Numbers whose counts lie next to each other, in one line of the processor's cache.
const NEIGHBOURS: usize = 16;
/// So many lines of them, that any number has one without being compared with the last.
const LINES: usize = 1 << 10;
/// Lines that are passed at a time if nothing is there.
const STRIDE: usize = 8;

/// How often there was each of some numbers, mostly few of them.
///
/// Whether a number is new is not asked when it is counted, and numbers are taken out with their neighbours: processors
/// foresee badly which of them are there.
#[derive(Debug)]
pub(super) struct Counts {
    counts: Box<[[u32; NEIGHBOURS]; LINES]>,
    /// Whether there was any of these.
    are_there: Box<[bool; LINES]>,
}

/// What was counted until some time, in order: those that were there with their neighbours.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted(Vec<(u32, [u32; NEIGHBOURS])>);

/// So many items without a copy of all of them on the stack.
pub(super) fn boxed<T: Clone + Default, const N: usize>() -> Box<[T; N]> {
    vec![T::default(); N].try_into().unwrap_or_else(|_| unreachable!("as many"))
}

impl Counts {
    /// Numbers that can be counted are below this.
    pub const NUMBERS: usize = LINES * NEIGHBOURS;

    /// Of none.
    pub fn new() -> Self {
        Self { counts: boxed(), are_there: boxed() }
    }

    /// There is one more.
    #[inline(always)]
    pub fn add(&mut self, number: usize) {
        let line = number / NEIGHBOURS % LINES;
        self.counts[line][number % NEIGHBOURS] += 1;
        self.are_there[line] = true;
    }

    /// Takes all out.
    pub fn take(&mut self) -> Counted {
        let lines = self.are_there.iter().filter(|is_there| **is_there).count();
        let mut counted = Vec::with_capacity(lines);
        for (first, are_there) in (0..).step_by(STRIDE).zip(self.are_there.as_chunks_mut::<STRIDE>().0) {
            if *are_there != [false; STRIDE] {
                for (line, is_there) in (first..).zip(std::mem::take(are_there)) {
                    if is_there {
                        counted.push((line as u32, std::mem::take(&mut self.counts[line])));
                    }
                }
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
        let (mut rng, mut counts) = (Rng::named(1, "counts"), Counts::new());
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
