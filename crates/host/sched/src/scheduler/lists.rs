//! Request lists in two orders: by arrival and by sector.

use ssdlab_core::list::{Link, List, Node};

use super::sorted::Sorted;
use crate::request::{Request, RequestId};

/// Request number that marks a free slot.
const NO_REQUEST: RequestId = RequestId(u64::MAX);

/// Entry of a request in a [`Fifo`].
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Request waiting in this slot, or `NO_REQUEST`.
    id: RequestId,
    /// Neighbours of the request in arrival order.
    link: Link,
    /// Latest time for dispatching the request, in nanoseconds.
    deadline: u64,
    /// First sector of the request, the sort key of a [`SortedFifo`].
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

/// Requests in arrival order, each with a deadline; any request can be removed.
#[derive(Debug, Default)]
pub(crate) struct Fifo {
    /// Entry of each request, indexed by the request's slot.
    places: Vec<Place>,
    order: List,
}

impl Fifo {
    #[inline(always)]
    pub fn push(&mut self, rq: &Request, deadline: u64) {
        let slot = rq.id.slot();
        if self.places.len() <= slot {
            let free = Place { id: NO_REQUEST, link: Link::ALONE, deadline: 0, start: 0 };
            self.places.resize(slot + 1, free);
        }
        self.places[slot] = Place { id: rq.id, link: Link::ALONE, deadline, start: rq.start };
        self.order.push(&mut self.places, slot as u32);
    }

    /// Returns the request in a slot; `None` for the link past either end of the list.
    fn at(&self, slot: u32) -> Option<RequestId> {
        self.places.get(slot as usize).map(|place| place.id)
    }

    fn place(&self, id: RequestId) -> &Place {
        let place = &self.places[id.slot()];
        debug_assert_eq!(place.id, id, "the request is not in the list");
        place
    }

    fn place_mut(&mut self, id: RequestId) -> &mut Place {
        &mut self.places[id.slot()]
    }

    #[inline]
    fn take(&mut self, id: RequestId) -> Option<Place> {
        let place = self.places.get_mut(id.slot()).filter(|place| place.id == id)?;
        let taken = *place;
        place.id = NO_REQUEST;
        self.order.remove(&mut self.places, taken.id.slot() as u32);
        Some(taken)
    }

    /// Removes a request from the list; returns true if it was present.
    pub fn remove(&mut self, id: RequestId) -> bool {
        self.take(id).is_some()
    }

    pub fn head(&self) -> Option<RequestId> {
        self.order.oldest().and_then(|slot| self.at(slot))
    }

    /// Returns the latest `count` requests, newest first.
    pub fn newest(&self, count: usize) -> impl Iterator<Item = RequestId> {
        let newest = self.order.newest().and_then(|slot| self.at(slot));
        std::iter::successors(newest, |&id| self.before(id)).take(count)
    }

    pub fn deadline(&self, id: RequestId) -> u64 {
        self.place(id).deadline
    }

    /// Returns the oldest request if its deadline is before `now`.
    pub fn overdue(&self, now: u64) -> Option<RequestId> {
        self.head().filter(|&id| self.deadline(id) < now)
    }

    /// Returns the request that arrived directly before the given request.
    pub fn before(&self, id: RequestId) -> Option<RequestId> {
        self.at(self.place(id).link.older)
    }

    /// Returns the request that arrived directly after the given request.
    pub fn after(&self, id: RequestId) -> Option<RequestId> {
        self.at(self.place(id).link.newer)
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Removes request `absorbed`, which was merged into `survivor`. If `absorbed` has the earlier deadline, `survivor`
    /// gets this deadline and the position of `absorbed` in arrival order.
    pub fn absorb(&mut self, survivor: RequestId, absorbed: RequestId) {
        let earlier = self.deadline(absorbed) < self.deadline(survivor);
        if earlier {
            let own = self.take(survivor).expect("both requests must be in the list");
            *self.place_mut(survivor) = Place { deadline: self.deadline(absorbed), ..own };
            self.order.insert_before(&mut self.places, survivor.slot() as u32, absorbed.slot() as u32);
        }
        self.remove(absorbed);
    }
}

/// Requests in arrival order and in sector order.
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

    #[inline]
    pub fn remove(&mut self, id: RequestId) -> bool {
        let place = self.fifo.take(id);
        place.is_some_and(|place| self.sorted.remove((place.start, id)))
    }

    /// Updates the sort order after a request's first sector has changed.
    pub fn moved(&mut self, rq: &Request) {
        let start = std::mem::replace(&mut self.fifo.place_mut(rq.id).start, rq.start);
        if start != rq.start {
            self.sorted.remove((start, rq.id));
            self.sorted.insert((rq.start, rq.id));
        }
    }

    /// See [`Fifo::absorb`].
    pub fn absorb(&mut self, survivor: RequestId, absorbed: RequestId) {
        self.sorted.remove((self.start(absorbed), absorbed));
        self.fifo.absorb(survivor, absorbed);
    }

    pub fn start(&self, id: RequestId) -> u64 {
        self.fifo.place(id).start
    }

    /// Returns the request with the lowest first sector.
    pub fn first(&self) -> Option<RequestId> {
        self.sorted.first().map(|(_, id)| id)
    }

    /// Returns the first request that begins at or after `sector`.
    #[inline]
    pub fn from(&self, sector: u64) -> Option<RequestId> {
        self.sorted.at_or_after((sector, RequestId(0))).map(|(_, id)| id)
    }

    /// Returns the request that begins at `sector`.
    pub fn starting_at(&self, sector: u64) -> Option<RequestId> {
        self.sorted.at_or_after((sector, RequestId(0))).filter(|&(start, _)| start == sector).map(|(_, id)| id)
    }

    /// Returns the previous request in sector order.
    pub fn former(&self, id: RequestId) -> Option<RequestId> {
        self.sorted.before((self.start(id), id)).map(|(_, id)| id)
    }

    /// Returns the next request in sector order.
    pub fn latter(&self, id: RequestId) -> Option<RequestId> {
        self.sorted.at_or_after((self.start(id), RequestId(id.0 + 1))).map(|(_, id)| id)
    }

    /// Returns the next request in sector order, or the first one if `id` is the last, and the previous request.
    pub fn neighbours(&self, id: RequestId) -> [Option<RequestId>; 2] {
        let next = self.latter(id).or_else(|| self.first().filter(|&first| first != id));
        [next, self.former(id)]
    }

    pub fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }
}
