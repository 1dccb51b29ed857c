//! Why flash operations happen.

/// Why a flash operation happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Cause {
    /// The host asked for it.
    Host = 0,
    /// Reading the rest of a page that the host overwrites in part.
    ReadModifyWrite = 1,
    /// Garbage collection, and reclaiming log blocks without a merge.
    Gc = 2,
    /// A log block takes the place of a data block as it is.
    SwitchMerge = 3,
    /// A log block is completed by copies and takes the place of a data block.
    PartialMerge = 4,
    /// The newest pages of a logical block are gathered in a free block.
    FullMerge = 5,
    /// A log page that is still valid goes through the log once more (FASTer).
    SecondChance = 6,
    /// A log page that is valid after its second chance goes to the isolation area (FASTer).
    Isolation = 7,
    /// Loading entries of a map that is kept in flash.
    MapLoad = 8,
    /// Writing changed entries back to the map in flash.
    MapWriteBack = 9,
    /// Rewriting map pages because garbage collection moved pages whose entries were not cached.
    MapUpdate = 10,
    /// Garbage collection of map pages.
    MapGc = 11,
    /// Bringing an FTL back after a power loss.
    Recovery = 12,
}

impl Cause {
    /// Every cause, in the order of its number.
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
