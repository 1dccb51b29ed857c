//! Placement: decides which pages share a block because they are expected to become invalid together. One file per
//! policy, registered in [`PLACEMENTS`].
//!
//! A plane writes to several open blocks, each filled from its first page to its last. One open block is for the host,
//! and one for map pages, about which no policy decides. One is for pages relocated by GC, unless these share the
//! host's open block. To add a policy: write its file with an `INFO`, and a line in the table.

pub mod own;
pub mod shared;

use ssdlab_core::{Info, Registry};

/// A registered placement policy.
pub type PlacementInfo = Info<PlacementRules>;

/// Properties of a placement policy: which open blocks it uses.
#[derive(Debug)]
pub struct PlacementRules {
    /// True if GC relocates pages to a separate open block instead of the host's.
    pub own_gc_block: bool,
}

impl PlacementRules {
    /// Number that identifies the open block for host writes.
    pub const HOST: u8 = 0;

    /// Returns the number that identifies the open block for pages relocated by GC.
    pub const fn gc(&self) -> u8 {
        self.own_gc_block as u8
    }

    /// Returns the number of open blocks that the host and GC use.
    ///
    /// While the host may write, a plane keeps at least this number of blocks unwritten. So every open block can be
    /// replaced, and there is room for the pages of one victim.
    pub const fn open_blocks(&self) -> u32 {
        1 + self.own_gc_block as u32
    }
}

/// Every placement policy. The first is the default; documents use the second as an example.
pub static PLACEMENTS: Registry<PlacementRules> = Registry::new("placement", &[&own::INFO, &shared::INFO]);
