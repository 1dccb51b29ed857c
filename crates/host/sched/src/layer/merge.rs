//! Merges bios into waiting requests, and requests into one another (`elv_merge` of block/scheduler.c;
//! block/blk-merge.c).

use super::{BlockLayer, BlockLayerKind, NoMerges};
use crate::bio::{Bio, Direction, Flags, Priority};
use crate::request::{Request, RequestId};
use crate::scheduler::MergeIndex;

/// Slot number that marks the end of a hash chain.
const NONE: u32 = u32::MAX;

/// Entry of a waiting request in the hash table [`Ends`].
#[derive(Clone, Copy, Debug)]
struct Link {
    id: RequestId,
    end: u64,
    /// Slot of the next request in the same hash chain.
    next: u32,
}

/// Hash table of waiting requests by end sector, and the request merged last. Chains link the requests' slots, as in
/// the kernel (`elv_rqhash_add`). The table is optimized for insertion: every request is inserted, but few lookups find
/// a request.
#[derive(Debug)]
pub(super) struct Ends {
    /// Slot of the latest request of each hash chain; the number of chains is a power of two.
    chains: Vec<u32>,
    /// Hash-chain entries of the requests, indexed by slot.
    links: Vec<Link>,
    pub last: Option<RequestId>,
}

impl Ends {
    /// Creates a table for about `nr_requests` requests.
    pub fn new(nr_requests: u32) -> Self {
        let chains = nr_requests.clamp(64, 1 << 16).next_power_of_two();
        Self { chains: vec![NONE; chains as usize], links: Vec::new(), last: None }
    }

    /// Returns the hash chain of an end sector, by Fibonacci hashing, which spreads neighbouring sectors.
    fn chain(&self, end: u64) -> usize {
        (end.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (self.chains.len() - 1)
    }

    #[inline(always)]
    pub fn insert(&mut self, rq: &Request) {
        let chain = self.chain(rq.end());
        let link = Link { id: rq.id, end: rq.end(), next: self.chains[chain] };
        let slot = rq.id.slot();
        if self.links.len() <= slot {
            self.links.resize(slot + 1, link);
        }
        self.links[slot] = link;
        self.chains[chain] = slot as u32;
    }

    #[inline]
    pub fn remove(&mut self, end: u64, id: RequestId) {
        let chain = self.chain(end);
        let (mut before, mut slot) = (NONE, self.chains[chain]);
        while slot != NONE && self.links[slot as usize].id != id {
            (before, slot) = (slot, self.links[slot as usize].next);
        }
        if slot != NONE {
            let next = self.links[slot as usize].next;
            match before {
                NONE => self.chains[chain] = next,
                _ => self.links[before as usize].next = next,
            }
        }
        if self.last == Some(id) {
            self.last = None;
        }
    }

    /// Returns the latest waiting request with the given end sector.
    fn ending_at(&self, sector: u64) -> Option<RequestId> {
        let mut slot = self.chains[self.chain(sector)];
        while slot != NONE {
            let link = &self.links[slot as usize];
            if link.end == sector {
                return Some(link.id);
            }
            slot = link.next;
        }
        None
    }
}

/// Side of a request at which a bio merges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Back,
    Front,
}

impl BlockLayer {
    /// Merges `bio` into a waiting request; returns false if no waiting request can take it.
    #[inline]
    pub(super) fn merge(&mut self, bio: &Bio) -> bool {
        if self.plug_merge(bio) {
            return true;
        }
        if self.queued == 0 {
            return false;
        }
        self.settle();
        let Some((id, side)) = self.find(bio) else { return false };
        let segments = self.options.segments(bio.sectors);
        if !self.fits(id, bio.sectors, segments) {
            self.requests.get_mut(id).nomerge = true;
            self.ends.last = self.ends.last.filter(|&last| last != id);
            return false;
        }
        let hashed = self.info.role.merge_index == MergeIndex::Hash;
        if hashed {
            self.ends.remove(self.requests[id].end(), id);
        }
        self.grow(id, bio, side);
        let rq = &self.requests[id];
        if hashed {
            self.ends.insert(rq);
            self.ends.last = Some(id);
        }
        if side == Side::Front {
            self.scheduler.moved(rq);
        }
        if hashed {
            self.coalesce(id, side);
        }
        true
    }

    /// Merges `bio` with the last request of the process's plug; other requests in the plug are not tried.
    #[inline]
    fn plug_merge(&mut self, bio: &Bio) -> bool {
        let Some(&last) = self.plugs.get(bio.pid).and_then(|plug| plug.last()) else { return false };
        let Some(side) = self.side(last, bio).filter(|_| self.options.no_merges != NoMerges::None) else {
            return false;
        };
        if !self.fits(last, bio.sectors, self.options.segments(bio.sectors)) {
            self.requests.get_mut(last).nomerge = true;
            return false;
        }
        self.grow(last, bio, side);
        true
    }

    fn grow(&mut self, id: RequestId, bio: &Bio, side: Side) {
        let segments = self.options.segments(bio.sectors);
        let rq = self.requests.get_mut(id);
        rq.sectors += bio.sectors;
        rq.segments += segments;
        match side {
            Side::Back => {
                rq.bios.push(*bio);
                self.counters.back_merges += 1;
            }
            Side::Front => {
                rq.bios.insert(0, *bio);
                rq.start = bio.start;
                self.counters.front_merges += 1;
            }
        }
    }

    /// Finds a request to merge with. It tries, in this order, the request merged last, the hash of end sectors, and
    /// the scheduler's front merge.
    fn find(&self, bio: &Bio) -> Option<(RequestId, Side)> {
        let with =
            |id| self.side(id, bio).filter(|_| self.scheduler.allow_merge(&self.requests[id], bio)).map(|s| (id, s));
        if self.options.no_merges == NoMerges::None {
            return None;
        }
        if self.info.role.merge_index == MergeIndex::Latest {
            return self.scheduler.latest(self.queue_of(bio.pid), bio).into_iter().find_map(with);
        }
        if let Some(candidate) = self.ends.last.and_then(with) {
            return Some(candidate);
        }
        if self.options.no_merges == NoMerges::LastOnly {
            return None;
        }
        let back = self.ends.ending_at(bio.start).and_then(with);
        back.or_else(|| self.scheduler.front_merge(bio).and_then(with))
    }

    /// Returns the side of a request at which `bio` may merge; `None` if the two are not adjacent or must not be
    /// merged.
    fn side(&self, id: RequestId, bio: &Bio) -> Option<Side> {
        let rq = &self.requests[id];
        if rq.nomerge || kind(rq.direction, rq.flags, rq.priority) != kind(bio.direction, bio.flags, bio.priority) {
            return None;
        }
        match rq {
            _ if rq.end() == bio.start => Some(Side::Back),
            _ if rq.start == bio.end() => Some(Side::Front),
            _ => None,
        }
    }

    fn fits(&self, id: RequestId, sectors: u32, segments: u32) -> bool {
        let rq = &self.requests[id];
        rq.sectors + sectors <= self.options.max_sectors && rq.segments + segments <= self.options.max_segments
    }

    /// Merges a grown request with its neighbour if the two have become contiguous.
    fn coalesce(&mut self, id: RequestId, side: Side) {
        let rq = &self.requests[id];
        let (first, second) = match side {
            Side::Back => (Some(id), self.scheduler.latter(rq)),
            Side::Front => (self.scheduler.former(rq), Some(id)),
        };
        if let (Some(first), Some(second)) = (first, second)
            && self.may_absorb(first, second)
        {
            let [a, b] = [first, second].map(|id| &self.requests[id]);
            self.ends.remove(b.end(), second);
            self.scheduler.merged(a, b, &self.requests);
            self.queued -= 1;
            self.absorb(first, second);
        }
    }

    /// True if request `second` may merge at the back of the waiting request `first`.
    fn may_absorb(&self, first: RequestId, second: RequestId) -> bool {
        let [a, b] = [first, second].map(|id| &self.requests[id]);
        let alike = kind(a.direction, a.flags, a.priority) == kind(b.direction, b.flags, b.priority);
        let joins = a.end() == b.start && alike && !a.nomerge && !b.nomerge;
        // `allow_merge` expects a bio, so the first bio of the second request represents the whole request.
        joins && self.fits(first, b.sectors, b.segments) && self.scheduler.allow_merge(a, &b.bios[0])
    }

    /// Appends the bios of `second` to `first`, and marks `second` to be freed.
    fn absorb(&mut self, first: RequestId, second: RequestId) {
        self.ends.remove(self.requests[first].end(), first);
        let [rq, absorbed] = self.requests.pair_mut(first, second);
        rq.sectors += absorbed.sectors;
        rq.segments += absorbed.segments;
        rq.arrived = rq.arrived.min(absorbed.arrived);
        rq.bios.append(&mut absorbed.bios);
        self.ends.insert(rq);
        self.ends.last = Some(first);
        self.counters.request_merges += 1;
        self.freed_by_merge.push(second);
    }

    /// Merges a request that leaves a plug into a waiting request (`blk_mq_sched_try_insert_merge`).
    #[inline(always)]
    pub(super) fn insert_merge(&mut self, id: RequestId) -> bool {
        let possible = self.queued > 0
            && self.options.no_merges == NoMerges::All
            && self.options.kind == BlockLayerKind::MultiQueue
            && self.info.role.merge_index == MergeIndex::Hash;
        if !possible {
            return false;
        }
        self.settle();
        match self.ends.ending_at(self.requests[id].start).filter(|&first| self.may_absorb(first, id)) {
            Some(first) => self.absorb(first, id),
            None => return false,
        }
        true
    }
}

/// Returns the properties that all bios of a request share. Bios with ordering flags are never merged. The multi-queue
/// layer requires equal priorities; Linux 2.6.32 would give the merged request the higher priority.
fn kind(direction: Direction, flags: Flags, priority: Priority) -> (Direction, bool, Priority) {
    (direction, flags.any(Flags::DISCARD), priority)
}
