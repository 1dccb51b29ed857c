//! The two orders every classic scheduler keeps its requests in: arrival and sector.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::request::{Request, RequestId};

/// Where a request stands in a [`Fifo`].
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Position in the order of arrival.
    slot: u64,
    /// Until when it should have been dispatched, in nanoseconds.
    deadline: u64,
}

/// Requests in the order of their arrival, each with a deadline; any of them can be taken out.
#[derive(Debug, Default)]
pub(crate) struct Fifo {
    order: BTreeMap<u64, RequestId>,
    places: FxHashMap<RequestId, Place>,
    next_slot: u64,
}

impl Fifo {
    pub fn push(&mut self, id: RequestId, deadline: u64) {
        self.order.insert(self.next_slot, id);
        self.places.insert(id, Place { slot: self.next_slot, deadline });
        self.next_slot += 1;
    }

    /// Takes a request out; whether it was there.
    pub fn remove(&mut self, id: RequestId) -> bool {
        let place = self.places.remove(&id);
        place.is_some_and(|place| self.order.remove(&place.slot).is_some())
    }

    pub fn head(&self) -> Option<RequestId> {
        self.order.values().next().copied()
    }

    /// The `count` latest requests, newest first.
    pub fn newest(&self, count: usize) -> impl Iterator<Item = RequestId> {
        self.order.values().rev().take(count).copied()
    }

    pub fn deadline(&self, id: RequestId) -> u64 {
        self.places[&id].deadline
    }

    /// The oldest request, if it should have been dispatched before `now`.
    pub fn overdue(&self, now: u64) -> Option<RequestId> {
        self.head().filter(|&id| self.deadline(id) < now)
    }

    /// The neighbour that arrived before.
    pub fn before(&self, id: RequestId) -> Option<RequestId> {
        self.order.range(..self.places[&id].slot).next_back().map(|(_, &id)| id)
    }

    /// The neighbour that arrived after.
    pub fn after(&self, id: RequestId) -> Option<RequestId> {
        self.order.range(self.places[&id].slot + 1..).next().map(|(_, &id)| id)
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// `absorbed` leaves; `survivor` takes its deadline and place in the queue if that deadline is earlier.
    pub fn absorb(&mut self, survivor: RequestId, absorbed: RequestId) {
        let place = self.places.remove(&absorbed).expect("both requests wait here");
        self.order.remove(&place.slot);
        let own = self.places.get_mut(&survivor).expect("both requests wait here");
        if place.deadline < own.deadline {
            self.order.remove(&own.slot);
            self.order.insert(place.slot, survivor);
            *own = place;
        }
    }
}

/// Requests in the order of their arrival and in the order of their sectors.
#[derive(Debug, Default)]
pub(crate) struct SortedFifo {
    pub fifo: Fifo,
    /// By first sector; requests that begin at one sector stay in the order of their numbers.
    sorted: BTreeSet<(u64, RequestId)>,
    starts: FxHashMap<RequestId, u64>,
}

impl SortedFifo {
    pub fn push(&mut self, rq: &Request, deadline: u64) {
        self.fifo.push(rq.id, deadline);
        self.sorted.insert((rq.start, rq.id));
        self.starts.insert(rq.id, rq.start);
    }

    /// Takes a request out; whether it was there.
    pub fn remove(&mut self, id: RequestId) -> bool {
        let start = self.starts.remove(&id);
        start.is_some_and(|start| self.sorted.remove(&(start, id)) && self.fifo.remove(id))
    }

    /// Sorts a request anew that now begins elsewhere.
    pub fn moved(&mut self, rq: &Request) {
        let start = self.starts.insert(rq.id, rq.start).expect("the request waits here");
        if start != rq.start {
            self.sorted.remove(&(start, rq.id));
            self.sorted.insert((rq.start, rq.id));
        }
    }

    /// `absorbed` leaves; `survivor` takes its place in the queue if that deadline is earlier.
    pub fn absorb(&mut self, survivor: RequestId, absorbed: RequestId) {
        self.fifo.absorb(survivor, absorbed);
        let start = self.starts.remove(&absorbed).expect("both requests wait here");
        self.sorted.remove(&(start, absorbed));
    }

    /// The request with the smallest sector.
    pub fn first(&self) -> Option<RequestId> {
        self.sorted.first().map(|&(_, id)| id)
    }

    /// The first request that begins at `sector` or behind it.
    pub fn from(&self, sector: u64) -> Option<RequestId> {
        self.sorted.range((sector, RequestId(0))..).next().map(|&(_, id)| id)
    }

    /// The request that begins at `sector`.
    pub fn starting_at(&self, sector: u64) -> Option<RequestId> {
        self.from(sector).filter(|id| self.starts[id] == sector)
    }

    /// The neighbour at smaller sectors.
    pub fn former(&self, id: RequestId) -> Option<RequestId> {
        self.sorted.range(..(self.starts[&id], id)).next_back().map(|&(_, id)| id)
    }

    /// The neighbour at larger sectors.
    pub fn latter(&self, id: RequestId) -> Option<RequestId> {
        self.sorted.range((self.starts[&id], RequestId(id.0 + 1))..).next().map(|&(_, id)| id)
    }

    pub fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }
}
