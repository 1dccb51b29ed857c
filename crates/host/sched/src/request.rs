//! Requests: one or more contiguous bios of one direction.

use std::ops::Index;

use smallvec::{SmallVec, smallvec};

use crate::bio::{Bio, Direction, Flags, Priority};

/// Request number: ascending in order of allocation, and never reused. The low bits are the request's slot, an array
/// index that is reused after the request is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Number of bits of a slot index: enough for the maximum number of requests.
const SLOT_BITS: u32 = 24;

impl RequestId {
    /// Returns the request's slot: a small index, reused after the request is freed.
    pub(crate) const fn slot(self) -> usize {
        (self.0 & ((1 << SLOT_BITS) - 1)) as usize
    }
}

/// A request: contiguous bios of one direction.
#[derive(Clone, Debug)]
pub struct Request {
    /// Number that identifies the request.
    pub id: RequestId,
    /// First sector of the request, in units of 512 bytes.
    pub start: u64,
    /// Number of sectors of the request.
    pub sectors: u32,
    /// Direction of the data transfer.
    pub direction: Direction,
    /// Flags of the request's first bio; merged bios do not change them.
    pub flags: Flags,
    /// Process that submitted the request's first bio.
    pub pid: u32,
    /// Priority of the submitting process.
    pub priority: Priority,
    /// CPU that submitted the request. It is also the index of the request's software queue and hardware queue
    /// (multi-queue layer).
    pub cpu: u16,
    /// Submission time of the earliest bio, in nanoseconds.
    pub arrived: u64,
    /// Bios of the request in sector order.
    pub bios: SmallVec<[Bio; 1]>,
    /// Number of memory segments of the request.
    pub segments: u32,
    /// True if merging with another request failed because the result would be too large. No further merge is
    /// attempted.
    pub(crate) nomerge: bool,
    /// True if the request went through the scheduler, which is then notified of its completion.
    pub(crate) in_elevator: bool,
}

impl Request {
    /// Creates a request for `bio` with `segments` memory segments on CPU `cpu`.
    #[inline]
    pub fn new(id: RequestId, bio: Bio, segments: u32, cpu: u16, now: u64) -> Self {
        Self {
            id,
            start: bio.start,
            sectors: bio.sectors,
            direction: bio.direction,
            flags: bio.flags,
            pid: bio.pid,
            priority: bio.priority,
            cpu,
            arrived: now,
            bios: smallvec![bio],
            segments,
            nomerge: false,
            in_elevator: false,
        }
    }

    /// Reinitializes the request in place for another bio, which avoids moving the structure.
    #[inline(always)]
    fn renew(&mut self, id: RequestId, bio: Bio, segments: u32, cpu: u16, now: u64) {
        self.id = id;
        self.start = bio.start;
        self.sectors = bio.sectors;
        self.direction = bio.direction;
        self.flags = bio.flags;
        self.pid = bio.pid;
        self.priority = bio.priority;
        self.cpu = cpu;
        self.arrived = now;
        match &mut self.bios[..] {
            [only] => *only = bio,
            _ => {
                self.bios.clear();
                self.bios.push(bio);
            }
        }
        self.segments = segments;
        self.nomerge = false;
        self.in_elevator = false;
    }

    /// Returns the first sector after the request.
    pub const fn end(&self) -> u64 {
        self.start + self.sectors as u64
    }

    /// True if the request is a read, or a write with [`Flags::SYNC`].
    pub fn is_sync(&self) -> bool {
        self.direction == Direction::Read || self.flags.any(Flags::SYNC)
    }
}

/// All requests of the block layer, by number.
#[derive(Debug, Default)]
pub struct Requests {
    slots: Vec<Request>,
    /// Free slots, which can be reused.
    free: Vec<u32>,
    allocated: u64,
}

impl Requests {
    /// Allocates a request for `bio` with `segments` memory segments on CPU `cpu`.
    #[inline(always)]
    pub fn allocate(&mut self, bio: Bio, segments: u32, cpu: u16, now: u64) -> RequestId {
        let free = self.free.pop();
        let slot = free.map_or(self.slots.len(), |slot| slot as usize);
        debug_assert!(slot < 1 << SLOT_BITS, "too many requests");
        let id = RequestId(self.allocated << SLOT_BITS | slot as u64);
        self.allocated += 1;
        match free {
            Some(_) => self.slots[slot].renew(id, bio, segments, cpu, now),
            None => self.slots.push(Request::new(id, bio, segments, cpu, now)),
        }
        id
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: RequestId) -> &mut Request {
        let rq = &mut self.slots[id.slot()];
        debug_assert_eq!(rq.id, id, "the request was already freed");
        rq
    }

    pub(crate) fn pair_mut(&mut self, first: RequestId, second: RequestId) -> [&mut Request; 2] {
        self.slots.get_disjoint_mut([first.slot(), second.slot()]).expect("the two requests must differ")
    }

    /// Frees a request; its contents stay readable until the slot is reused.
    #[inline]
    pub fn free(&mut self, id: RequestId) -> &Request {
        debug_assert!(!self.free.contains(&(id.slot() as u32)), "the request was freed twice");
        self.free.push(id.slot() as u32);
        &self[id]
    }

    /// Returns the number of allocated requests.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// True if no request is allocated.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Index<RequestId> for Requests {
    type Output = Request;
    #[inline]
    fn index(&self, id: RequestId) -> &Request {
        let rq = &self.slots[id.slot()];
        debug_assert_eq!(rq.id, id, "the request was already freed");
        rq
    }
}
