//! When each resource has its next event: a tournament tree with one leaf for each.
//!
//! A die or channel is busy with one thing at a time, so it has at most one event ahead. Setting it costs one comparison
//! for each level of the tree; the earliest is the root. At equal times the lower number goes first.

/// No event ahead.
pub const NEVER: u64 = u64::MAX;

/// An event: its time since the base, and below that its resource. One number, so that the earlier of two is found
/// without a branch, which would be as unpredictable as the events are.
type Event = u64;

const RESOURCE_BITS: u32 = 20;
/// No event.
const NONE: Event = Event::MAX;
/// How far from the base times may be: almost five hours, where operations of flash take seconds at most.
const REACH_NS: u64 = 1 << (Event::BITS - RESOURCE_BITS);

/// The next event of every resource.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// The earliest event below each node. Node 1 is the root, the children of `n` are `2n` and `2n + 1`; the second half
    /// are the leaves. Any number of leaves will do, as the leaves below a node need not be neighbours.
    nodes: Vec<Event>,
    /// Time that events are counted from.
    base_ns: u64,
}

impl Agenda {
    /// No events for so many resources, fewer than a million.
    pub fn new(resources: usize) -> Self {
        assert!(resources < 1 << RESOURCE_BITS, "{resources} resources have no numbers");
        Self { nodes: vec![NONE; 2 * resources.max(2)], base_ns: 0 }
    }

    /// The earliest event and its resource; [`NEVER`] if there is none.
    #[inline(always)]
    pub fn earliest(&self) -> (u64, usize) {
        let event = self.nodes[1];
        let time = if event == NONE { NEVER } else { self.base_ns + (event >> RESOURCE_BITS) };
        (time, event as usize & ((1 << RESOURCE_BITS) - 1))
    }

    /// Takes the earliest event, which is that of `resource`. Until that has been [`Self::settle`]d, nothing else may be
    /// asked; others may be set.
    #[inline(always)]
    pub fn take(&mut self, resource: usize) {
        let leaf = self.nodes.len() / 2 + resource;
        self.nodes[leaf] = NONE;
    }

    /// Completes [`Self::take`]. Most resources have their next event by then, which saves an update of the tree.
    #[inline(always)]
    pub fn settle(&mut self, resource: usize) {
        if self.nodes[self.nodes.len() / 2 + resource] == NONE {
            self.put(resource, NONE);
        }
    }

    /// Sets when the next event of a resource is, no earlier than the latest one taken.
    #[inline]
    pub fn set(&mut self, resource: usize, time: u64) {
        if time - self.base_ns >= REACH_NS {
            self.rebase(time);
        }
        self.put(resource, (time - self.base_ns) << RESOURCE_BITS | resource as Event);
    }

    #[inline(always)]
    fn put(&mut self, resource: usize, event: Event) {
        let mut node = self.nodes.len() / 2 + resource;
        let mut earliest = event;
        self.nodes[node] = earliest;
        while node > 1 {
            earliest = earliest.min(self.nodes[node ^ 1]);
            node /= 2;
            // The earliest of this node stays, so nothing changes above it.
            if self.nodes[node] == earliest {
                break;
            }
            self.nodes[node] = earliest;
        }
    }

    /// Moves the base forward, so that `time` is within reach. Events still to be set precede it by at most one operation.
    #[cold]
    fn rebase(&mut self, time: u64) {
        let leaves = self.nodes.len() / 2;
        let pending = self.nodes[leaves..].iter().filter(|event| **event != NONE);
        let earliest = pending.map(|event| event >> RESOURCE_BITS).min().unwrap_or(u64::MAX);
        let forward_ns = (time - REACH_NS / 2 - self.base_ns).min(earliest);
        self.base_ns += forward_ns;
        assert!(time - self.base_ns < REACH_NS, "an event hours after another");
        for event in self.nodes[leaves..].iter_mut().filter(|event| **event != NONE) {
            *event -= forward_ns << RESOURCE_BITS;
        }
        for node in (1..leaves).rev() {
            self.nodes[node] = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    /// Drives may be idle for days.
    #[test]
    fn a_lonely_event_may_come_at_any_time() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let mut agenda = Agenda::new(5);
        for hours in [1, 4, 5, 6, 9, 10, 20, 40, 100, 1_000, 1_000_000] {
            agenda.set(3, hours * HOUR_NS);
            agenda.set(1, hours * HOUR_NS + 7);
            assert_eq!(agenda.earliest(), (hours * HOUR_NS, 3));
            agenda.take(3);
            agenda.settle(3);
            assert_eq!(agenda.earliest(), (hours * HOUR_NS + 7, 1));
            agenda.take(1);
            agenda.settle(1);
            assert_eq!(agenda.earliest().0, NEVER);
        }
    }

    #[test]
    fn the_earliest_is_the_least_and_ties_go_to_the_lower_number() {
        let mut rng = Rng::named(1, "agenda");
        // In hours, time soon is far from its first base.
        for (resources, step_ns) in [(1_usize, 50), (2, 50), (3, 1 << 40), (7, 50), (72, 1 << 41), (130, 50)] {
            let mut agenda = Agenda::new(resources);
            let mut times = vec![NEVER; resources];
            let mut now = 0;
            assert_eq!(agenda.earliest().0, NEVER);
            for _ in 0..3_000 {
                let any = |rng: &mut Rng| rng.below(resources as u64) as usize;
                let (time, taken) = agenda.earliest();
                if time != NEVER && rng.below(2) == 0 {
                    // Taken, and set again or not while others are.
                    now = time;
                    agenda.take(taken);
                    times[taken] = NEVER;
                    for _ in 0..rng.below(3) {
                        let resource = any(&mut rng);
                        times[resource] = now + rng.below(step_ns);
                        agenda.set(resource, times[resource]);
                    }
                    agenda.settle(taken);
                }
                let resource = any(&mut rng);
                times[resource] = now + rng.below(step_ns);
                agenda.set(resource, times[resource]);
                let least = times.iter().copied().min().unwrap();
                let first = times.iter().position(|&time| time == least).unwrap();
                assert_eq!(agenda.earliest(), (least, first));
            }
        }
    }
}
