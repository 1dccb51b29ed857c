//! Placement: which pages share a block because they are expected to become invalid together. One file each, registered
//! in [`PLACEMENTS`].
//!
//! A plane writes to several open blocks, each filled from its first page to its last: one for the host, one for pages
//! relocated by GC unless they share the host's, and one for map pages, which no policy decides. To add a policy: write
//! its file with an `INFO`, and a line in the table.

pub mod own;
pub mod shared;

use ssdlab_core::{Info, Registry};

/// A registered placement policy.
pub type PlacementInfo = Info<PlacementRules>;

/// Open blocks of a placement policy.
#[derive(Debug)]
pub struct PlacementRules {
    /// True if GC relocates pages to an open block of its own, not to the host's.
    pub own_gc_block: bool,
}

impl PlacementRules {
    /// Number of the open block for host writes.
    pub const HOST: u8 = 0;

    /// Number of the open block for pages that GC relocates.
    pub const fn gc(&self) -> u8 {
        self.own_gc_block as u8
    }

    /// Number of open blocks for the host and GC.
    ///
    /// A plane keeps this many blocks unwritten while the host may write, so that every open block can be replaced and
    /// the pages of one victim find room.
    pub const fn open_blocks(&self) -> u32 {
        1 + self.own_gc_block as u32
    }
}

/// Every placement policy; the first is the default, the second the example of documents.
pub static PLACEMENTS: Registry<PlacementRules> = Registry::new("placement", &[&own::INFO, &shared::INFO]);
