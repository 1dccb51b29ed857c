//! Placement policies: decide which pages share a block, because they are expected to become invalid together. Each
//! policy has a file with an `INFO` and a line in [`PLACEMENTS`].
//!
//! A plane writes to several open blocks, each filled from its first page to its last. One open block is for the host,
//! and one for map pages, which no policy places. Another open block is for pages relocated by GC, unless these pages
//! share the host's open block. A policy [by page](ByPage) chooses among several open blocks for each host page and
//! each relocated page.

pub mod own;
pub mod shared;

use ssdlab_core::{Archive, Archived, Choice, Info, Lpn, Registry, Settings};

use crate::WriteContext;

/// A registered placement policy.
pub type PlacementInfo = Info<PlacementRules>;

/// A selected placement policy with its parameters.
pub type PlacementChoice = Choice<PlacementRules>;

/// Properties of a placement policy: which open blocks it uses.
pub struct PlacementRules {
    /// True if GC relocates pages to a separate open block instead of the host's.
    pub own_gc_block: bool,
    /// Policy that chooses the open block of each page; None if all host pages share one open block.
    pub by_page: Option<ByPage>,
}

/// A placement policy that chooses the open block of each page. The numbers of its open blocks start at 0.
pub struct ByPage {
    /// Returns the number of open blocks, at most 15.
    pub open_blocks: &'static (dyn Fn(&Settings) -> u8 + Send + Sync),
    /// Builds the policy for a number of logical pages.
    pub build: &'static (dyn Fn(&Settings, u32) -> Box<dyn Placement> + Send + Sync),
}

/// Chooses the open block of each page. `now` is the number of host pages written so far.
pub trait Placement: Send {
    /// Returns the number of the open block for a host write of page `lpn`.
    fn written(&mut self, lpn: Lpn, context: WriteContext, now: u64) -> u8;

    /// Returns the number of the open block to which GC relocates page `lpn`.
    fn relocated(&mut self, lpn: Lpn, now: u64) -> u8;

    /// Saves or loads the policy's state.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived;
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
    /// Before each host write, a plane has at least this number of unwritten blocks. Every open block can then be
    /// replaced, and there is room for the pages of one victim.
    pub fn open_blocks(&self, settings: &Settings) -> u32 {
        match &self.by_page {
            None => 1 + u32::from(self.own_gc_block),
            Some(by_page) => (by_page.open_blocks)(settings).into(),
        }
    }
}

/// Every placement policy. The first is the default; documents use the second as an example.
pub static PLACEMENTS: Registry<PlacementRules> = Registry::new("placement", &[&own::INFO, &shared::INFO]);
