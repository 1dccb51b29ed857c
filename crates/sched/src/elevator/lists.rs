//! The two orders every classic scheduler keeps its requests in: arrival and sector.

use std::collections::BTreeSet;

use crate::request::{Request, RequestId};

/// A request in a [`Fifo`].
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Whose it is, while that waits.
    id: Option<RequestId>,
    /// Its neighbours.
    before: Option<RequestId>,
    after: Option<RequestId>,
    /// Until when it should have been dispatched, in nanoseconds.
    deadline: u64,
    /// The first sector it is sorted by in a [`SortedFifo`].
    start: u64,
}

/// Requests in the order of their arrival, each with a deadline; any of them can be taken out: a list, linked by number.
#[derive(Debug, Default)]
pub(crate) struct Fifo {
    /// By slot; a place is that of the request it names, if that still waits here.
    places: Vec<Place>,
    head: Option<RequestId>,
    tail: Option<RequestId>,
}

impl Fifo {
    pub fn push(&mut self, rq: &Request, deadline: u64) {
        let place = Place { id: Some(rq.id), before: self.tail, after: None, deadline, start: rq.start };
        if self.places.len() <= rq.id.slot() {
            self.places.resize(rq.id.slot() + 1, Place::default());
        }
        self.places[rq.id.slot()] = place;
        self.link(place.before, Some(rq.id));
        self.link(Some(rq.id), None);
    }

    /// Makes two requests neighbours; `None` is the end of the list on that side.
    fn link(&mut self, before: Option<RequestId>, after: Option<RequestId>) {
        match before {
            Some(id) => self.place_mut(id).after = after,
            None => self.head = after,
        }
        match after {
            Some(id) => self.place_mut(id).before = before,
            None => self.tail = before,
        }
    }

    fn place(&self, id: RequestId) -> &Place {
        let place = &self.places[id.slot()];
        debug_assert_eq!(place.id, Some(id), "the request waits here");
        place
    }

    fn place_mut(&mut self, id: RequestId) -> &mut Place {
        &mut self.places[id.slot()]
    }

    fn take(&mut self, id: RequestId) -> Option<Place> {
        let place = *self.places.get(id.slot()).filter(|place| place.id == Some(id))?;
        self.places[id.slot()].id = None;
        self.link(place.before, place.after);
        Some(place)
    }

    /// Takes a request out; whether it was there.
    pub fn remove(&mut self, id: RequestId) -> bool {
        self.take(id).is_some()
    }

    pub fn head(&self) -> Option<RequestId> {
        self.head
    }

    /// The `count` latest requests, newest first.
    pub fn newest(&self, count: usize) -> impl Iterator<Item = RequestId> {
        std::iter::successors(self.tail, |&id| self.place(id).before).take(count)
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
        self.place(id).before
    }

    /// The neighbour that arrived after.
    pub fn after(&self, id: RequestId) -> Option<RequestId> {
        self.place(id).after
    }

    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// `absorbed` leaves; `survivor` takes its deadline and place in the queue if that deadline is earlier.
    pub fn absorb(&mut self, survivor: RequestId, absorbed: RequestId) {
        let earlier = self.deadline(absorbed) < self.deadline(survivor);
        if earlier {
            let own = self.take(survivor).expect("both requests wait here");
            let Place { before, deadline, .. } = *self.place(absorbed);
            *self.place_mut(survivor) = Place { deadline, ..own };
            self.link(before, Some(survivor));
            self.link(Some(survivor), Some(absorbed));
        }
        self.remove(absorbed);
    }
}

/// Requests in the order of their arrival and in the order of their sectors.
#[derive(Debug, Default)]
pub(crate) struct SortedFifo {
    pub fifo: Fifo,
    /// By first sector; requests that begin at one sector stay in the order of their numbers.
    sorted: BTreeSet<(u64, RequestId)>,
}

impl SortedFifo {
    pub fn push(&mut self, rq: &Request, deadline: u64) {
        self.fifo.push(rq, deadline);
        self.sorted.insert((rq.start, rq.id));
    }

    /// Takes a request out; whether it was there.
    pub fn remove(&mut self, id: RequestId) -> bool {
        let place = self.fifo.take(id);
        place.is_some_and(|place| self.sorted.remove(&(place.start, id)))
    }

    /// Sorts a request anew that now begins elsewhere.
    pub fn moved(&mut self, rq: &Request) {
        let start = std::mem::replace(&mut self.fifo.place_mut(rq.id).start, rq.start);
        if start != rq.start {
            self.sorted.remove(&(start, rq.id));
            self.sorted.insert((rq.start, rq.id));
        }
    }

    /// `absorbed` leaves; `survivor` takes its place in the queue if that deadline is earlier.
    pub fn absorb(&mut self, survivor: RequestId, absorbed: RequestId) {
        self.sorted.remove(&(self.start(absorbed), absorbed));
        self.fifo.absorb(survivor, absorbed);
    }

    /// First sector of a request that waits here.
    pub fn start(&self, id: RequestId) -> u64 {
        self.fifo.place(id).start
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
        self.sorted.range((sector, RequestId(0))..).next().filter(|&&(start, _)| start == sector).map(|&(_, id)| id)
    }

    /// The neighbour at smaller sectors.
    pub fn former(&self, id: RequestId) -> Option<RequestId> {
        self.sorted.range(..(self.start(id), id)).next_back().map(|&(_, id)| id)
    }

    /// The neighbour at larger sectors.
    pub fn latter(&self, id: RequestId) -> Option<RequestId> {
        self.sorted.range((self.start(id), RequestId(id.0 + 1))..).next().map(|&(_, id)| id)
    }

    pub fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }
}
