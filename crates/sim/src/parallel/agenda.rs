//! When each resource has its next event: a tournament tree with one leaf for each.
//!
//! A die or channel is busy with one thing at a time, so it has at most one event ahead. Setting it costs one comparison
//! for each level of the tree, finding the earliest nothing. At equal times the lower number goes first.

/// No event ahead.
pub(crate) const NEVER: u64 = u64::MAX;

/// The next event of every resource.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Time of each resource, padded to a power of two.
    times: Vec<u64>,
    /// Winner of each inner node; node 1 is the root, the children of `n` are `2n` and `2n + 1`.
    winners: Vec<u32>,
}

impl Agenda {
    /// No events for so many resources.
    pub fn new(resources: usize) -> Self {
        let leaves = resources.next_power_of_two().max(2);
        let mut winners = vec![0; leaves];
        for node in (1..leaves).rev() {
            winners[node] = if 2 * node < leaves { winners[2 * node] } else { (2 * node - leaves) as u32 };
        }
        Self { times: vec![NEVER; leaves], winners }
    }

    /// The earliest event and its resource; [`NEVER`] if there is none.
    #[inline(always)]
    pub fn earliest(&self) -> (u64, usize) {
        let winner = self.winners[1] as usize;
        (self.times[winner], winner)
    }

    /// Sets when the next event of a resource is.
    #[inline]
    pub fn set(&mut self, resource: usize, time: u64) {
        self.times[resource] = time;
        let leaves = self.times.len();
        let pair = resource & !1;
        let mut winner = if self.times[pair] <= self.times[pair + 1] { pair } else { pair + 1 };
        let mut node = (leaves + resource) / 2;
        self.winners[node] = winner as u32;
        while node > 1 {
            let other = self.winners[node ^ 1] as usize;
            let (left, right) = if node & 1 == 0 { (winner, other) } else { (other, winner) };
            winner = if self.times[left] <= self.times[right] { left } else { right };
            node /= 2;
            self.winners[node] = winner as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    #[test]
    fn the_earliest_is_the_least_and_ties_go_to_the_lower_number() {
        let mut rng = Rng::named(1, "agenda");
        for resources in [1_usize, 2, 3, 7, 72, 130] {
            let mut agenda = Agenda::new(resources);
            let mut times = vec![NEVER; resources];
            assert_eq!(agenda.earliest().0, NEVER);
            for _ in 0..2_000 {
                let resource = rng.below(resources as u64) as usize;
                let time = if rng.below(4) == 0 { NEVER } else { rng.below(50) };
                agenda.set(resource, time);
                times[resource] = time;
                let least = times.iter().copied().min().unwrap();
                assert_eq!(agenda.earliest().0, least);
                if least != NEVER {
                    assert_eq!(Some(agenda.earliest().1), times.iter().position(|&time| time == least));
                }
            }
        }
    }
}
