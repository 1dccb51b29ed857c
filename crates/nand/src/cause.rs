//! Causes of flash operations.

/// Cause of a flash operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Cause {
    /// A request of the host.
    Host = 0,
    /// Read of the rest of a page that the host overwrites in part.
    ReadModifyWrite = 1,
    /// Garbage collection, and reclaiming log blocks without a merge.
    Gc = 2,
    /// A log block replaces a data block without copies.
    SwitchMerge = 3,
    /// A log block is completed by copies and replaces a data block.
    PartialMerge = 4,
    /// The newest pages of a logical block are gathered in a free block.
    FullMerge = 5,
    /// A valid log page goes through the log once more (FASTer).
    SecondChance = 6,
    /// A log page still valid after its second chance goes to the isolation area (FASTer).
    Isolation = 7,
    /// Loading entries of a map in flash.
    MapLoad = 8,
    /// Writing changed entries back to the map in flash.
    MapWriteBack = 9,
    /// Rewriting map pages after garbage collection moved pages with uncached entries.
    MapUpdate = 10,
    /// Garbage collection of map pages.
    MapGc = 11,
    /// Recovery after a power loss.
    Recovery = 12,
}

impl Cause {
    /// All causes, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::Host,
        Self::ReadModifyWrite,
        Self::Gc,
        Self::SwitchMerge,
        Self::PartialMerge,
        Self::FullMerge,
        Self::SecondChance,
        Self::Isolation,
        Self::MapLoad,
        Self::MapWriteBack,
        Self::MapUpdate,
        Self::MapGc,
        Self::Recovery,
    ];

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::ReadModifyWrite => "rmw",
            Self::Gc => "gc",
            Self::SwitchMerge => "switch_merge",
            Self::PartialMerge => "partial_merge",
            Self::FullMerge => "full_merge",
            Self::SecondChance => "second_chance",
            Self::Isolation => "isolation",
            Self::MapLoad => "map_load",
            Self::MapWriteBack => "map_write_back",
            Self::MapUpdate => "map_update",
            Self::MapGc => "map_gc",
            Self::Recovery => "recovery",
        }
    }
}
