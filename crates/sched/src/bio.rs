//! What a file system submits: one contiguous transfer.

use std::ops::BitOr;

/// Which way data moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Direction {
    /// From the device.
    Read = 0,
    /// To the device; a discard counts as a write.
    Write = 1,
}

impl Direction {
    /// Reads, then writes.
    pub const BOTH: [Self; 2] = [Self::Read, Self::Write];

    /// The opposite direction.
    pub const fn other(self) -> Self {
        match self {
            Self::Read => Self::Write,
            Self::Write => Self::Read,
        }
    }
}

/// Hints and demands that come with a bio, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// The submitter waits for this write (`O_DIRECT`, fsync); reads are synchronous without it.
    pub const SYNC: Self = Self(1);
    /// Metadata of the file system.
    pub const META: Self = Self(1 << 1);
    /// No further request follows this one, so idling for one is in vain.
    pub const NOIDLE: Self = Self(1 << 2);
    /// The submitter waits: a plugged queue is to be unplugged (legacy frame).
    pub const UNPLUG: Self = Self(1 << 3);
    /// The volatile cache of the device is to be flushed before the data; alone, with no sectors, a plain flush.
    pub const FLUSH: Self = Self(1 << 4);
    /// The data has to be on stable media when the bio ends.
    pub const FUA: Self = Self(1 << 5);
    /// Nothing may pass this bio in either direction (legacy frame); the modern frame takes it as flush and FUA.
    pub const BARRIER: Self = Self(1 << 6);
    /// The sectors are no longer needed.
    pub const DISCARD: Self = Self(1 << 7);
    /// Read ahead of need; carried along as data, no scheduler here looks at it.
    pub const READAHEAD: Self = Self(1 << 8);
    /// Write-back of the kernel's own accord: periodic, or because many pages are dirty; writeback throttling goes by
    /// it.
    pub const BACKGROUND: Self = Self(1 << 9);

    /// Whether one of `flags` is set.
    pub const fn any(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Class of an I/O priority (`ioprio_set(2)`), the most urgent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum PriorityClass {
    /// Served before everybody else.
    RealTime = 0,
    /// What processes have unless they ask for something else.
    #[default]
    BestEffort = 1,
    /// Served while no other class has requests.
    Idle = 2,
}

/// I/O priority of the submitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// Class.
    pub class: PriorityClass,
    /// Level in the class, 0 (most urgent) to 7.
    pub level: u8,
}

impl Default for Priority {
    /// Best effort, level 4: what the kernel gives to a process of nice value 0.
    fn default() -> Self {
        Self { class: PriorityClass::BestEffort, level: 4 }
    }
}

/// One contiguous transfer as a file system submits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bio {
    /// First sector, of 512 bytes.
    pub start: u64,
    /// Sectors; zero only for a plain flush.
    pub sectors: u32,
    /// Which way data moves; [`Direction::Write`] for discards and flushes.
    pub direction: Direction,
    /// Hints and demands.
    pub flags: Flags,
    /// Process (strictly: I/O context) that submits it. Schedulers that are fair between processes go by it; where it
    /// is unknown and always the same, they see one process.
    pub pid: u32,
    /// I/O priority of that process.
    pub priority: Priority,
    /// Given back when the bio ends; means nothing here.
    pub owner: u32,
}

impl Bio {
    /// First sector behind the bio.
    pub const fn end(&self) -> u64 {
        self.start + self.sectors as u64
    }

    /// Whether it is synchronous: a read, or a write that says so.
    pub fn is_sync(&self) -> bool {
        self.direction == Direction::Read || self.flags.any(Flags::SYNC)
    }
}
