//! Causes of flash operations.

use crate::named::named_enum;

named_enum! {
    /// Cause of a flash operation.
    pub enum Cause {
        /// Read or write of a page by the host.
        Host = 0, "host";
        /// Read of the remaining data of a page that the host partly overwrites.
        ReadModifyWrite = 1, "rmw";
        /// Garbage collection, or reclaiming log blocks without a merge.
        Gc = 2, "gc";
        /// A switch merge: a log block replaces a data block without copying.
        SwitchMerge = 3, "switch_merge";
        /// A partial merge: missing pages are copied to a log block, which then replaces the data block.
        PartialMerge = 4, "partial_merge";
        /// A full merge: the newest pages of a logical block are gathered in a free block.
        FullMerge = 5, "full_merge";
        /// Copying a valid page to the end of the log, as its second chance (FASTer).
        SecondChance = 6, "second_chance";
        /// Moving a page that is still valid after its second chance to the isolation area (FASTer).
        Isolation = 7, "isolation";
        /// Loading entries of a map in flash.
        MapLoad = 8, "map_load";
        /// Writing changed entries back to the map in flash.
        MapWriteBack = 9, "map_write_back";
        /// Rewriting map pages after garbage collection moved pages with uncached entries.
        MapUpdate = 10, "map_update";
        /// Garbage collection of map pages.
        MapGc = 11, "map_gc";
        /// Recovery after a power loss.
        Recovery = 12, "recovery";
        /// Padding of a program unit whose pages must not wait for further pages.
        Padding = 13, "padding";
        /// Moving pages out of the SLC cache.
        Fold = 14, "fold";
        /// Parity of a stripe (RAIN), which the flash adds to the pages of the FTL.
        Parity = 15, "parity";
    }
}
