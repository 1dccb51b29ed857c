//! What the device is given: one or more bios, contiguous and in one direction.

use std::ops::Index;

use rustc_hash::FxHashMap;

use crate::bio::{Bio, Direction, Flags, Priority};

/// Number of a request, ascending as requests are allocated and never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

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
    /// When its earliest bio was submitted, in nanoseconds.
    pub arrived: u64,
    /// Its bios in the order of their sectors.
    pub bios: Vec<Bio>,
    /// Memory segments its data lies in.
    pub segments: u32,
    /// Found to be as large as it may become: never tried again for a merge.
    pub(crate) nomerge: bool,
    /// Whether it went through the elevator, which then hears of its completion.
    pub(crate) in_elevator: bool,
}

impl Request {
    /// A request made for `bio`, whose data lies in `segments` pieces of memory.
    pub fn new(id: RequestId, bio: Bio, segments: u32, now: u64) -> Self {
        Self {
            id,
            start: bio.start,
            sectors: bio.sectors,
            direction: bio.direction,
            flags: bio.flags,
            pid: bio.pid,
            priority: bio.priority,
            arrived: now,
            bios: vec![bio],
            segments,
            nomerge: false,
            in_elevator: false,
        }
    }

    /// First sector behind the request.
    pub const fn end(&self) -> u64 {
        self.start + self.sectors as u64
    }

    /// Whether somebody waits for it: a read, or a write that says so.
    pub fn is_sync(&self) -> bool {
        self.direction == Direction::Read || self.flags.any(Flags::SYNC)
    }
}

/// All requests that the block layer holds, by number.
#[derive(Debug, Default)]
pub struct Requests {
    held: FxHashMap<RequestId, Request>,
    allocated: u64,
}

impl Requests {
    /// A number that no request had before.
    pub(crate) fn new_id(&mut self) -> RequestId {
        self.allocated += 1;
        RequestId(self.allocated - 1)
    }

    /// Makes a request for `bio`.
    pub fn allocate(&mut self, bio: Bio, segments: u32, now: u64) -> RequestId {
        let id = self.new_id();
        self.held.insert(id, Request::new(id, bio, segments, now));
        id
    }

    /// The request, to be changed.
    pub(crate) fn get_mut(&mut self, id: RequestId) -> &mut Request {
        self.held.get_mut(&id).expect("a request lives until it is freed")
    }

    /// Frees a request and hands it out.
    pub fn free(&mut self, id: RequestId) -> Request {
        self.held.remove(&id).expect("a request is freed once")
    }

    /// Requests held.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether no request is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

impl Index<RequestId> for Requests {
    type Output = Request;
    fn index(&self, id: RequestId) -> &Request {
        &self.held[&id]
    }
}
