//! Bios: contiguous transfers submitted by a file system.

use std::ops::BitOr;

/// Direction of a bio's data transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Direction {
    /// Data moves from the device.
    Read = 0,
    /// Data moves to the device; a discard counts as a write.
    Write = 1,
}

impl Direction {
    /// Both directions of transfer, reads first.
    pub const BOTH: [Self; 2] = [Self::Read, Self::Write];

    /// Returns the opposite direction of transfer.
    pub const fn other(self) -> Self {
        match self {
            Self::Read => Self::Write,
            Self::Write => Self::Read,
        }
    }
}

/// Set of flags of a bio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// No flag is set.
    pub const NONE: Self = Self(0);
    /// Synchronous write (`O_DIRECT`, fsync); reads are always synchronous.
    pub const SYNC: Self = Self(1);
    /// The bio reads or writes file system metadata.
    pub const META: Self = Self(1 << 1);
    /// The process sends no related request after this one, so the scheduler need not idle for the process.
    pub const NOIDLE: Self = Self(1 << 2);
    /// The submitter waits for this bio, so a plugged queue is unplugged at once (single-queue layer).
    pub const UNPLUG: Self = Self(1 << 3);
    /// The volatile cache is flushed before the data is written. A bio without sectors is a plain flush.
    pub const FLUSH: Self = Self(1 << 4);
    /// Forced unit access: the data is on stable media at completion.
    pub const FUA: Self = Self(1 << 5);
    /// Barrier: no request is reordered across it, in either direction (single-queue layer). Treated as flush and FUA
    /// in the multi-queue layer.
    pub const BARRIER: Self = Self(1 << 6);
    /// Discard: the sectors are no longer needed.
    pub const DISCARD: Self = Self(1 << 7);
    /// Read-ahead; no scheduler of this crate uses the flag.
    pub const READAHEAD: Self = Self(1 << 8);
    /// Background write-back, which starts periodically or when many pages are dirty; writeback throttling uses the
    /// flag.
    pub const BACKGROUND: Self = Self(1 << 9);

    /// True if any of `flags` is set.
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

/// I/O priority class (`ioprio_set(2)`), most urgent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum PriorityClass {
    /// Class that is served before all other classes.
    RealTime = 0,
    /// Default priority class of processes.
    #[default]
    BestEffort = 1,
    /// Class that is served only while no other class has requests.
    Idle = 2,
}

/// I/O priority of a bio's submitter: class and level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// Priority class of the submitter.
    pub class: PriorityClass,
    /// Priority level in the class, 0 (most urgent) to 7.
    pub level: u8,
}

impl Default for Priority {
    /// Best effort, level 4: the kernel's default for nice value 0.
    fn default() -> Self {
        Self { class: PriorityClass::BestEffort, level: 4 }
    }
}

/// A contiguous transfer submitted by a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bio {
    /// First sector of the bio, in units of 512 bytes.
    pub start: u64,
    /// Number of sectors; zero only for a plain flush.
    pub sectors: u32,
    /// Direction of the transfer; [`Direction::Write`] for discards and flushes.
    pub direction: Direction,
    /// Flags of the bio.
    pub flags: Flags,
    /// Process (strictly: I/O context) that submits the bio. If it is unknown, use the same number for all bios.
    pub pid: u32,
    /// I/O priority of the process that submits the bio.
    pub priority: Priority,
    /// Tag chosen by the caller, returned at completion.
    pub owner: u32,
}

impl Bio {
    /// Returns the first sector after the bio.
    pub const fn end(&self) -> u64 {
        self.start + self.sectors as u64
    }

    /// True if the bio is a read, or a write with [`Flags::SYNC`].
    pub fn is_sync(&self) -> bool {
        self.direction == Direction::Read || self.flags.any(Flags::SYNC)
    }
}
