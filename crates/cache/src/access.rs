//! Accesses to numbered items, and those of a whole trace.

use ssdlab_trace::Request;

use crate::bank::Counts;
use crate::{CacheError, Expiry, Granularity, Life, Policy, PolicyInfo, Splitter, Trims, Universe, build_policy};

/// Not used again, or not known to be.
pub const NEVER: u32 = u32::MAX;

/// One access to an item, or the end of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Its number in the universe.
    pub item: u32,
    /// Its size in units of the capacity, at least 1; 0 where the item is dropped (trimmed) rather than used.
    pub size: u32,
    /// Position of the next access to it in the trace, or [`NEVER`]. Only policies that know the future look at it.
    pub next: u32,
}

impl Access {
    /// An access with unknown future.
    pub const fn new(item: u32, size: u32) -> Self {
        Self { item, size, next: NEVER }
    }

    /// The item is dropped.
    pub const fn drop(item: u32) -> Self {
        Self::new(item, 0)
    }

    /// Whether the item is dropped rather than used.
    #[inline]
    pub const fn is_drop(&self) -> bool {
        self.size == 0
    }
}

/// An access to an object as traces of key-value stores tell of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// Its name.
    pub id: u64,
    /// Its size, bytes; 0 where it is deleted.
    pub bytes: u32,
    /// When it is accessed, and how long it lives.
    pub life: Life,
}

/// The accesses of a whole trace: 12 bytes each, and 16 more where items expire.
#[derive(Clone, Debug)]
pub struct AccessTrace {
    accesses: Vec<Access>,
    items: u32,
    one_size: bool,
    drops: u64,
    /// Whether accesses know the next one to their item.
    future: bool,
    /// Of each access; empty where nothing expires.
    lives: Vec<Life>,
}

impl AccessTrace {
    /// Takes a trace apart, and looks into its future.
    pub fn new(requests: &[Request], granularity: Granularity, trims: Trims) -> Result<Self, CacheError> {
        let mut splitter = Splitter::new(granularity, trims)?;
        let mut accesses = Vec::with_capacity(requests.len());
        for batch in requests.chunks(4096) {
            splitter.split(batch, &mut accesses)?;
        }
        Self::from_accesses(accesses, splitter.universe().len())
    }

    /// Accesses to objects, counted or with their sizes.
    pub fn of_objects(objects: &[Object], sized: bool) -> Result<Self, CacheError> {
        let mut universe = Universe::default();
        let mut accesses = Vec::with_capacity(objects.len());
        for object in objects {
            let size = if sized { object.bytes } else { object.bytes.min(1) };
            accesses.push(Access::new(universe.number(object.id)?, size));
        }
        let trace = Self::from_accesses(accesses, universe.len())?;
        let expire = objects.iter().any(|object| object.life.ttl_s > 0);
        Ok(if expire { trace.expiring(objects.iter().map(|object| object.life).collect()) } else { trace })
    }

    /// The same accesses to items that expire; a life for each access.
    ///
    /// # Panics
    /// If there are not as many lives as accesses.
    pub fn expiring(self, lives: Vec<Life>) -> Self {
        assert_eq!(self.accesses.len(), lives.len(), "a life for each access");
        Self { lives, ..self }
    }

    /// Accesses to items `0..items`; what they say of the future is found anew.
    pub fn from_accesses(accesses: Vec<Access>, items: u32) -> Result<Self, CacheError> {
        let mut trace = Self::of_the_past(accesses, items)?;
        let mut following = vec![NEVER; items as usize];
        for (position, access) in trace.accesses.iter_mut().enumerate().rev() {
            let following = &mut following[access.item as usize];
            access.next = *following;
            *following = if access.is_drop() { NEVER } else { position as u32 };
        }
        trace.future = true;
        Ok(trace)
    }

    /// The same without a look at the future, for policies that need none.
    pub fn of_the_past(accesses: Vec<Access>, items: u32) -> Result<Self, CacheError> {
        if accesses.len() >= NEVER as usize {
            return Err(CacheError::TooManyAccesses);
        }
        // One look at each, as there may be more of them than memory delivers quickly.
        let (mut largest_item, mut largest_size, mut drops) = (None, 0, 0);
        for access in &accesses {
            largest_item = largest_item.max(Some(access.item));
            largest_size = largest_size.max(access.size);
            drops += u64::from(access.is_drop());
        }
        if let Some(item) = largest_item.filter(|&item| item >= items) {
            return Err(CacheError::UnknownItem { item, items });
        }
        Ok(Self { accesses, items, one_size: largest_size <= 1, drops, future: false, lives: Vec::new() })
    }

    /// Every access, in order.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// Items of the trace.
    pub fn items(&self) -> u32 {
        self.items
    }

    /// Accesses that use an item.
    pub fn uses(&self) -> u64 {
        self.accesses.len() as u64 - self.drops
    }

    /// Whether no access is to more than one unit.
    pub fn one_size(&self) -> bool {
        self.one_size
    }

    /// An empty cache of `capacity` units for it.
    ///
    /// # Errors
    /// If there is none, or the policy needs a future that was not looked at.
    pub fn policy(
        &self,
        info: &PolicyInfo,
        changes: &[(String, u64)],
        capacity: u64,
    ) -> Result<Box<dyn Policy>, CacheError> {
        self.knows_what(info.name, info.role.needs_future)?;
        build_policy(info, changes, capacity, self.items, self.one_size)
    }

    /// Fails if the future is needed and unknown.
    pub(crate) fn knows_what(&self, policy: &'static str, needs_future: bool) -> Result<(), CacheError> {
        if needs_future && !self.future { Err(CacheError::NeedsFuture { policy }) } else { Ok(()) }
    }

    /// What a cache of `capacity` units sees of it, with `changes` to the defaults of the policy's parameters.
    pub fn simulate(&self, info: &PolicyInfo, changes: &[(String, u64)], capacity: u64) -> Result<Counts, CacheError> {
        let mut policy = self.policy(info, changes, capacity)?;
        Ok(self.replay(&mut *policy, self.accesses.len().max(1), || true))
    }

    /// What a policy for these items sees of it: of so many accesses at a time, as long as it is to go on.
    pub fn replay(&self, policy: &mut dyn Policy, at_a_time: usize, mut goes_on: impl FnMut() -> bool) -> Counts {
        let mut counts = Counts::default();
        let mut expiry = (!self.lives.is_empty()).then(|| (Expiry::new(self.items), self.lives.chunks(at_a_time)));
        for accesses in self.accesses.chunks(at_a_time) {
            if !goes_on() {
                break;
            }
            match &mut expiry {
                Some((expiry, lives)) => {
                    expiry.simulate(policy, accesses, lives.next().unwrap_or_default(), &mut counts);
                }
                None => policy.simulate(accesses, &mut counts),
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_future_ends_where_an_item_is_dropped() {
        let accesses = [(0, 1), (1, 1), (0, 1), (0, 0), (0, 1), (1, 1)].map(|(item, size)| Access::new(item, size));
        let trace = AccessTrace::from_accesses(accesses.to_vec(), 2).unwrap();
        let next: Vec<u32> = trace.accesses().iter().map(|access| access.next).collect();
        assert_eq!(next, [2, 5, NEVER, 4, NEVER, NEVER]);
        let few = AccessTrace::from_accesses(accesses.to_vec(), 1).unwrap_err();
        assert_eq!(few, CacheError::UnknownItem { item: 1, items: 1 });
        let past = AccessTrace::of_the_past(accesses.to_vec(), 2).unwrap();
        let belady = crate::POLICIES.get("belady").unwrap();
        assert_eq!(past.simulate(belady, &[], 1), Err(CacheError::NeedsFuture { policy: "belady" }));
    }
}
