//! The accesses of a whole trace.

use ssdlab_trace::Request;

use crate::access::{Access, NEVER};
use crate::error::CacheError;
use crate::splitter::{Granularity, Splitter, Trims};
use crate::universe::Universe;

/// Time of an access, and the time to live (TTL) that the item gets if the access inserts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Life {
    /// Time of the access in nanoseconds.
    pub time_ns: u64,
    /// Time to live of the item in seconds; 0 means no expiry.
    pub ttl_s: u32,
}

/// An access to an object, as recorded by traces of key-value stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// Identifier of the object.
    pub id: u64,
    /// Size in bytes; 0 if the object is deleted.
    pub bytes: u32,
    /// Time of the access, and the object's time to live.
    pub life: Life,
}

/// The accesses of a whole trace: 12 bytes each, plus 16 if items expire.
#[derive(Clone, Debug)]
pub struct AccessTrace {
    accesses: Vec<Access>,
    items: u32,
    one_size: bool,
    drops: u64,
    /// True if the trace stores the next uses of items ([`Access::next`]).
    future: bool,
    /// Time and time to live (TTL) of each access; empty if no item expires.
    pub(crate) lives: Vec<Life>,
}

impl AccessTrace {
    /// Creates a trace from requests, which are split into accesses. Each access stores the position at which its item
    /// is used next ([`Access::next`]).
    pub fn new(requests: &[Request], granularity: Granularity, trims: Trims) -> Result<Self, CacheError> {
        let mut splitter = Splitter::new(granularity, trims)?;
        let mut accesses = Vec::with_capacity(requests.len());
        for batch in requests.chunks(4096) {
            splitter.split(batch, &mut accesses)?;
        }
        Self::from_accesses(accesses, splitter.universe().len())
    }

    /// Creates a trace of accesses to objects. If `sized` is true, objects have their recorded sizes; otherwise each
    /// object takes one unit.
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

    /// Adds time and TTL to each access, so that items expire.
    ///
    /// # Panics
    /// Panics if `lives` and the accesses differ in number.
    pub fn expiring(self, lives: Vec<Life>) -> Self {
        assert_eq!(self.accesses.len(), lives.len(), "each access must have one time to live");
        Self { lives, ..self }
    }

    /// Creates a trace of accesses to items `0..items`, and computes [`Access::next`] of every access.
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

    /// Creates a trace that does not store next uses, for online policies.
    pub fn of_the_past(accesses: Vec<Access>, items: u32) -> Result<Self, CacheError> {
        if accesses.len() >= NEVER as usize {
            return Err(CacheError::TooManyAccesses);
        }
        // Collects everything to be checked in a single pass, because memory bandwidth limits the speed for long
        // traces.
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

    /// Returns all accesses of the trace, in order.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// Returns the number of distinct items in the trace.
    pub fn items(&self) -> u32 {
        self.items
    }

    /// Returns the number of accesses that use an item; removals are not counted.
    pub fn uses(&self) -> u64 {
        self.accesses.len() as u64 - self.drops
    }

    /// True if every item has a size of one unit.
    pub fn one_size(&self) -> bool {
        self.one_size
    }

    /// Fails if the policy needs the next uses of items and the trace does not store them.
    pub(crate) fn check_future(&self, policy: &'static str, needs_future: bool) -> Result<(), CacheError> {
        if needs_future && !self.future { Err(CacheError::NeedsFuture { policy }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_ends_the_chain_of_next_uses() {
        let accesses = [(0, 1), (1, 1), (0, 1), (0, 0), (0, 1), (1, 1)].map(|(item, size)| Access::new(item, size));
        let trace = AccessTrace::from_accesses(accesses.to_vec(), 2).unwrap();
        let next: Vec<u32> = trace.accesses().iter().map(|access| access.next).collect();
        assert_eq!(next, [2, 5, NEVER, 4, NEVER, NEVER]);
        let unknown_item = AccessTrace::from_accesses(accesses.to_vec(), 1).unwrap_err();
        assert_eq!(unknown_item, CacheError::UnknownItem { item: 1, items: 1 });
        let past = AccessTrace::of_the_past(accesses.to_vec(), 2).unwrap();
        let belady = crate::POLICIES.get("belady").unwrap();
        assert_eq!(past.simulate(belady, &[], 1), Err(CacheError::NeedsFuture { policy: "belady" }));
    }
}
