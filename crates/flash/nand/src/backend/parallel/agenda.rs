//! The agenda: the next event of each resource, in a tournament tree with one leaf per resource.
//!
//! Each die or channel has at most one pending event, so no heap is needed. Setting an event takes seven branch-free
//! comparisons per level of the tree. With eight children per node, the tree has a third as many levels as a binary
//! tree. The root is the earliest event. If times are equal, the lower resource number comes first.

/// Time that means "no event".
pub const NEVER: u64 = u64::MAX;

/// An event encoded as one number: the time since the base time in the high bits, the resource in the low bits. The
/// smaller number is the earlier event, so comparing events needs no branch (which would often be mispredicted).
type Event = u64;

const RESOURCE_BITS: u32 = 20;
/// Value for "no event".
const NONE: Event = Event::MAX;
/// Maximum time between the base time and an event: almost five hours. Flash operations take seconds at most.
const REACH_NS: u64 = 1 << (Event::BITS - RESOURCE_BITS);

const ARITY: usize = 8;

#[inline(always)]
fn least(&[a, b, c, d, e, f, g, h]: &[Event; ARITY]) -> Event {
    (a.min(b).min(c.min(d))).min(e.min(f).min(g.min(h)))
}

/// Time of each resource's next event.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Earliest event in the subtree of each node except the root, node 0. The eight children of node `n` are group
    /// `n`. Node `n` is entry `n - 1`, counted over all groups. The last nodes are the leaves.
    groups: Vec<[Event; ARITY]>,
    first: Event,
    /// Base time, to which the times of events are relative.
    base_ns: u64,
}

impl Agenda {
    /// Creates an agenda without events, for fewer than a million resources.
    pub fn new(resources: usize) -> Self {
        assert!(resources < 1 << RESOURCE_BITS, "too many resources: {resources}");
        let groups = (resources.max(2) - 1).div_ceil(ARITY - 1);
        Self { groups: vec![[NONE; ARITY]; groups], first: NONE, base_ns: 0 }
    }

    /// Returns the time of the earliest event and its resource; the time is [`NEVER`] without events.
    #[inline(always)]
    pub fn earliest(&self) -> (u64, usize) {
        let event = self.first;
        let time = if event == NONE { NEVER } else { self.base_ns + (event >> RESOURCE_BITS) };
        (time, event as usize & ((1 << RESOURCE_BITS) - 1))
    }

    /// Removes the event of `resource`, which must be the earliest event. Until [`Self::settle`] is called, callers may
    /// set events but not read the earliest event.
    #[inline(always)]
    pub fn take(&mut self, resource: usize) {
        *self.leaf(resource) = NONE;
    }

    /// Completes [`Self::take`]: updates the tree if the resource has no new event. Usually the resource has a new
    /// event, and [`Self::set`] has already updated the tree.
    #[inline(always)]
    pub fn settle(&mut self, resource: usize) {
        if *self.leaf(resource) == NONE {
            self.update(self.place(resource) / ARITY);
        }
    }

    /// Sets the next event of a resource. Its time must not be earlier than the time of the latest event taken.
    #[inline(always)]
    pub fn set(&mut self, resource: usize, time: u64) {
        if time - self.base_ns >= REACH_NS {
            self.rebase(time);
        }
        *self.leaf(resource) = (time - self.base_ns) << RESOURCE_BITS | resource as Event;
        self.update(self.place(resource) / ARITY);
    }

    #[inline(always)]
    fn place(&self, resource: usize) -> usize {
        self.groups.len() - 1 + resource
    }

    #[inline(always)]
    fn leaf(&mut self, resource: usize) -> &mut Event {
        let place = self.place(resource);
        &mut self.groups[place / ARITY][place % ARITY]
    }

    /// Updates the tree above a group of nodes in which an event has changed.
    #[inline(always)]
    fn update(&mut self, mut group: usize) {
        let mut earliest = least(&self.groups[group]);
        while group > 0 {
            let place = group - 1;
            group = place / ARITY;
            let siblings = &mut self.groups[group];
            // If the earliest event of this node is unchanged, so are all nodes above it.
            if siblings[place % ARITY] == earliest {
                return;
            }
            siblings[place % ARITY] = earliest;
            earliest = least(siblings);
        }
        self.first = earliest;
    }

    /// Moves the base time forward, so that an event at `time` is in range. Later calls may set events earlier than
    /// `time`, by at most the duration of one operation.
    #[cold]
    fn rebase(&mut self, time: u64) {
        let leaves = self.place(0);
        let pending = self.groups.as_flattened()[leaves..].iter().filter(|event| **event != NONE);
        let earliest = pending.map(|event| event >> RESOURCE_BITS).min().unwrap_or(u64::MAX);
        let forward_ns = (time - REACH_NS / 2 - self.base_ns).min(earliest);
        self.base_ns += forward_ns;
        assert!(time - self.base_ns < REACH_NS, "two successive events are too far apart");
        for event in self.groups.as_flattened_mut()[leaves..].iter_mut().filter(|event| **event != NONE) {
            *event -= forward_ns << RESOURCE_BITS;
        }
        for place in (0..leaves).rev() {
            self.groups[place / ARITY][place % ARITY] = least(&self.groups[place + 1]);
        }
        self.first = least(&self.groups[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    /// Tests events that are days apart, as on an idle drive.
    #[test]
    fn events_may_be_days_apart() {
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
    fn the_earliest_event_wins_and_ties_go_to_the_lower_number() {
        let mut rng = Rng::named(1, "agenda");
        // With steps of hours, times soon exceed the range of the first base time.
        for (resources, step_ns) in [(1_usize, 50), (2, 50), (3, 1 << 40), (7, 50), (72, 1 << 41), (130, 50)] {
            let mut agenda = Agenda::new(resources);
            let mut times = vec![NEVER; resources];
            let mut now = 0;
            assert_eq!(agenda.earliest().0, NEVER);
            for _ in 0..3_000 {
                let any = |rng: &mut Rng| rng.below(resources as u64) as usize;
                let (time, taken) = agenda.earliest();
                if time != NEVER && rng.below(2) == 0 {
                    // Takes the earliest event. The loop sets other events, and may set a new event for the same
                    // resource.
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
