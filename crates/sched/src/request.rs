//! A request to the device: one or more bios, contiguous and in one direction.

use std::ops::Index;

use smallvec::{SmallVec, smallvec};

use crate::bio::{Bio, Direction, Flags, Priority};

/// Number of a request, ascending as requests are allocated and never used twice. Its last digits are the slot that the
/// request has while it is held, so that what is known of it is found in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Bits of a slot: more requests at a time than any limit allows.
const SLOT_BITS: u32 = 24;

impl RequestId {
    /// The slot, small and used again.
    pub(crate) const fn slot(self) -> usize {
        (self.0 & ((1 << SLOT_BITS) - 1)) as usize
    }
}

/// A request: contiguous bios in one direction.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its number.
    pub id: RequestId,
    /// First sector, of 512 bytes.
    pub start: u64,
    /// Sectors.
    pub sectors: u32,
    /// Which way data moves.
    pub direction: Direction,
    /// Flags of the bio it was made for; those of merged bios do not change a request.
    pub flags: Flags,
    /// Process of the bio it was made for.
    pub pid: u32,
    /// Priority of that process.
    pub priority: Priority,
    /// Processor it comes from: the number of its software queue, and where processors are as many as hardware queues,
    /// of that too (modern frame).
    pub cpu: u16,
    /// When its earliest bio was submitted, in nanoseconds.
    pub arrived: u64,
    /// Its bios in the order of their sectors.
    pub bios: SmallVec<[Bio; 1]>,
    /// Memory segments its data lies in.
    pub segments: u32,
    /// Found to be as large as it may become: never tried again for a merge.
    pub(crate) nomerge: bool,
    /// Whether it went through the elevator, which then hears of its completion.
    pub(crate) in_elevator: bool,
}

impl Request {
    /// A request made for `bio`, whose data lies in `segments` pieces of memory, on a processor.
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

    /// Turns it into the request for another bio in place, which saves a move.
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

    /// First sector behind the request.
    pub const fn end(&self) -> u64 {
        self.start + self.sectors as u64
    }

    /// Whether it is synchronous: a read, or a write that says so.
    pub fn is_sync(&self) -> bool {
        self.direction == Direction::Read || self.flags.any(Flags::SYNC)
    }
}

/// All requests that the block layer holds, by number.
#[derive(Debug, Default)]
pub struct Requests {
    slots: Vec<Request>,
    /// Slots of requests that are no longer held.
    free: Vec<u32>,
    allocated: u64,
}

impl Requests {
    /// Makes a request for `bio` of a process on a processor.
    #[inline(always)]
    pub fn allocate(&mut self, bio: Bio, segments: u32, cpu: u16, now: u64) -> RequestId {
        let free = self.free.pop();
        let slot = free.map_or(self.slots.len(), |slot| slot as usize);
        debug_assert!(slot < 1 << SLOT_BITS, "limits are far below");
        let id = RequestId(self.allocated << SLOT_BITS | slot as u64);
        self.allocated += 1;
        match free {
            Some(_) => self.slots[slot].renew(id, bio, segments, cpu, now),
            None => self.slots.push(Request::new(id, bio, segments, cpu, now)),
        }
        id
    }

    /// The request, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: RequestId) -> &mut Request {
        let rq = &mut self.slots[id.slot()];
        debug_assert_eq!(rq.id, id, "a request lives until it is freed");
        rq
    }

    /// Two different requests, to be changed.
    pub(crate) fn pair_mut(&mut self, first: RequestId, second: RequestId) -> [&mut Request; 2] {
        self.slots.get_disjoint_mut([first.slot(), second.slot()]).expect("two requests have two slots")
    }

    /// Frees a request; what it was can be read until another gets its slot.
    #[inline]
    pub fn free(&mut self, id: RequestId) -> &Request {
        debug_assert!(!self.free.contains(&(id.slot() as u32)), "a request is freed once");
        self.free.push(id.slot() as u32);
        &self[id]
    }

    /// Requests held.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no request is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Index<RequestId> for Requests {
    type Output = Request;
    #[inline]
    fn index(&self, id: RequestId) -> &Request {
        let rq = &self.slots[id.slot()];
        debug_assert_eq!(rq.id, id, "a request lives until it is freed");
        rq
    }
}
