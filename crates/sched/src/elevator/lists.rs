//! The two orders every classic scheduler keeps its requests in: arrival and sector.

use ssdlab_core::list::{Link, List, Node};

use super::sorted::Sorted;
use crate::request::{Request, RequestId};

/// No request.
const NOBODY: RequestId = RequestId(u64::MAX);

/// A request in a [`Fifo`].
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The request in this slot while it waits; otherwise `NOBODY`.
    id: RequestId,
    /// Slots of its neighbours in the order of arrival.
    link: Link,
    /// Until when it should have been dispatched, in nanoseconds.
    deadline: u64,
    /// The first sector it is sorted by in a [`SortedFifo`].
    start: u64,
}

impl Node for Place {
    #[inline(always)]
    fn link(&self) -> &Link {
        &self.link
    }

    #[inline(always)]
    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// Requests in the order of their arrival, each with a deadline; any of them can be taken out.
#[derive(Debug, Default)]
pub(crate) struct Fifo {
    /// By slot; a place is in use while the request that it names waits here.
    places: Vec<Place>,
    order: List,
}

impl Fifo {
    #[inline(always)]
    pub fn push(&mut self, rq: &Request, deadline: u64) {
        let slot = rq.id.slot();
        if self.places.len() <= slot {
            let free = Place { id: NOBODY, link: Link::ALONE, deadline: 0, start: 0 };
            self.places.resize(slot + 1, free);
        }
        self.places[slot] = Place { id: rq.id, link: Link::ALONE, deadline, start: rq.start };
        self.order.push(&mut self.places, slot as u32);
    }

    /// The request in a slot; none beyond the ends of the list.
    fn at(&self, slot: u32) -> Option<RequestId> {
        self.places.get(slot as usize).map(|place| place.id)
    }

    fn place(&self, id: RequestId) -> &Place {
        let place = &self.places[id.slot()];
        debug_assert_eq!(place.id, id, "the request waits here");
        place
    }

    fn place_mut(&mut self, id: RequestId) -> &mut Place {
        &mut self.places[id.slot()]
    }

    #[inline]
    fn take(&mut self, id: RequestId) -> Option<Place> {
        let place = self.places.get_mut(id.slot()).filter(|place| place.id == id)?;
        let taken = *place;
        place.id = NOBODY;
        self.order.remove(&mut self.places, taken.id.slot() as u32);
        Some(taken)
    }

    /// Takes a request out; whether it was there.
    pub fn remove(&mut self, id: RequestId) -> bool {
        self.take(id).is_some()
    }

    pub fn head(&self) -> Option<RequestId> {
        self.order.oldest().and_then(|slot| self.at(slot))
    }

    /// The `count` latest requests, newest first.
    pub fn newest(&self, count: usize) -> impl Iterator<Item = RequestId> {
        let newest = self.order.newest().and_then(|slot| self.at(slot));
        std::iter::successors(newest, |&id| self.before(id)).take(count)
    }

    pub fn deadline(&self, id: RequestId) -> u64 {
        self.place(id).deadline
    }

    /// The oldest request, if it should have been dispatched before `now`.
    pub fn overdue(&self, now: u64) -> Option<RequestId> {
        self.head().filter(|&id| self.deadline(id) < now)
    }

    /// The neighbour that arrived before.
    pub fn before(&self, id: RequestId) -> Option<RequestId> {
        self.at(self.place(id).link.older)
    }

    /// The neighbour that arrived after.
    pub fn after(&self, id: RequestId) -> Option<RequestId> {
        self.at(self.place(id).link.newer)
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// `absorbed` leaves; `survivor` takes its deadline and place in the queue if that deadline is earlier.
    pub fn absorb(&mut self, survivor: RequestId, absorbed: RequestId) {
        let earlier = self.deadline(absorbed) < self.deadline(survivor);
        if earlier {
            let own = self.take(survivor).expect("both requests wait here");
            *self.place_mut(survivor) = Place { deadline: self.deadline(absorbed), ..own };
            self.order.insert_before(&mut self.places, survivor.slot() as u32, absorbed.slot() as u32);
        }
        self.remove(absorbed);
    }
}

/// Requests in the order of their arrival and in the order of their sectors.
#[derive(Debug, Default)]
pub(crate) struct SortedFifo {
    pub fifo: Fifo,
    sorted: Sorted,
}

impl SortedFifo {
    #[inline]
    pub fn push(&mut self, rq: &Request, deadline: u64) {
        self.fifo.push(rq, deadline);
        self.sorted.insert((rq.start, rq.id));
    }

    /// Takes a request out; whether it was there.
    #[inline]
    pub fn remove(&mut self, id: RequestId) -> bool {
        let place = self.fifo.take(id);
        place.is_some_and(|place| self.sorted.remove((place.start, id)))
    }

    /// Sorts a request anew that now begins elsewhere.
    pub fn moved(&mut self, rq: &Request) {
        let start = std::mem::replace(&mut self.fifo.place_mut(rq.id).start, rq.start);
        if start != rq.start {
            self.sorted.remove((start, rq.id));
            self.sorted.insert((rq.start, rq.id));
        }
    }

    /// `absorbed` leaves; `survivor` takes its place in the queue if that deadline is earlier.
    pub fn absorb(&mut self, survivor: RequestId, absorbed: RequestId) {
        self.sorted.remove((self.start(absorbed), absorbed));
        self.fifo.absorb(survivor, absorbed);
    }

    /// First sector of a request that waits here.
    pub fn start(&self, id: RequestId) -> u64 {
        self.fifo.place(id).start
    }

    /// The request with the smallest sector.
    pub fn first(&self) -> Option<RequestId> {
        self.sorted.first().map(|(_, id)| id)
    }

    /// The first request that begins at `sector` or behind it.
    #[inline]
    pub fn from(&self, sector: u64) -> Option<RequestId> {
        self.sorted.at_or_after((sector, RequestId(0))).map(|(_, id)| id)
    }

    /// The request that begins at `sector`.
    pub fn starting_at(&self, sector: u64) -> Option<RequestId> {
        self.sorted.at_or_after((sector, RequestId(0))).filter(|&(start, _)| start == sector).map(|(_, id)| id)
    }

    /// The neighbour at smaller sectors.
    pub fn former(&self, id: RequestId) -> Option<RequestId> {
        self.sorted.before((self.start(id), id)).map(|(_, id)| id)
    }

    /// The neighbour at larger sectors.
    pub fn latter(&self, id: RequestId) -> Option<RequestId> {
        self.sorted.at_or_after((self.start(id), RequestId(id.0 + 1))).map(|(_, id)| id)
    }

    pub fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }
}
