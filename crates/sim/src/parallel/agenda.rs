//! When each resource has its next event: a tournament tree with one leaf for each.
//!
//! A die or channel is busy with one thing at a time, so it has at most one event ahead. Setting it costs one comparison
//! for each level of the tree, finding the earliest nothing. At equal times the lower number goes first.

/// No event ahead.
pub const NEVER: u64 = u64::MAX;

/// A node of the tree: the earliest event below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    time: u64,
    resource: u32,
}

/// The next event of every resource.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Node 1 is the root, the children of `n` are `2n` and `2n + 1`; the second half are the leaves.
    nodes: Vec<Node>,
}

impl Agenda {
    /// No events for so many resources.
    pub fn new(resources: usize) -> Self {
        let leaves = resources.next_power_of_two().max(2);
        let mut nodes = vec![Node { time: NEVER, resource: 0 }; 2 * leaves];
        for resource in 0..leaves {
            nodes[leaves + resource].resource = resource as u32;
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node];
        }
        Self { nodes }
    }

    /// The earliest event and its resource; [`NEVER`] if there is none.
    #[inline(always)]
    pub fn earliest(&self) -> (u64, usize) {
        (self.nodes[1].time, self.nodes[1].resource as usize)
    }

    /// Takes the earliest event, which is that of `resource`. Until that has been [`Self::settle`]d, nothing else may be
    /// asked; others may be set.
    #[inline(always)]
    pub fn take(&mut self, resource: usize) {
        let leaf = self.nodes.len() / 2 + resource;
        self.nodes[leaf].time = NEVER;
    }

    /// Completes [`Self::take`]: most resources have got their next event by then, which spares a way up the tree.
    #[inline(always)]
    pub fn settle(&mut self, resource: usize) {
        if self.nodes[self.nodes.len() / 2 + resource].time == NEVER {
            self.set(resource, NEVER);
        }
    }

    /// Sets when the next event of a resource is.
    #[inline]
    pub fn set(&mut self, resource: usize, time: u64) {
        let mut node = self.nodes.len() / 2 + resource;
        let mut winner = Node { time, resource: resource as u32 };
        self.nodes[node] = winner;
        while node > 1 {
            let other = self.nodes[node ^ 1];
            // At equal times the left one, which has the lower numbers.
            let wins = winner.time < other.time || (winner.time == other.time && node & 1 == 0);
            winner = if wins { winner } else { other };
            node /= 2;
            self.nodes[node] = winner;
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
                if rng.below(2) == 0 && agenda.earliest().0 != NEVER {
                    // Taken, and set again or not while others are.
                    let taken = agenda.earliest().1;
                    agenda.take(taken);
                    times[taken] = NEVER;
                    if rng.below(2) == 0 {
                        agenda.set(taken, time);
                        times[taken] = time;
                    }
                    agenda.set(resource, time);
                    times[resource] = time;
                    agenda.settle(taken);
                }
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
