//! Placement: which pages are written into one block, because they are expected to become invalid together. One file
//! each, registered in [`PLACEMENTS`].
//!
//! A plane writes to several *frontiers*, each an open block filled from its first page to its last: those of the host,
//! those of survivors of collection, and one for map pages behind them, which no policy decides. To add a policy: write
//! its file with an `INFO`, and a line in the table.

pub mod own;
pub mod shared;

use ssdlab_core::{Archive, Archived, BlockId, Info, Registry};

use crate::WriteContext;

/// Most frontiers of a plane, with that of map pages.
pub const MOST_FRONTIERS: usize = 16;

/// How a frontier is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// It is always this one; nothing is asked for each page.
    Fixed(u8),
    /// The policy is asked for each page.
    Each,
}

/// Decides where pages go. Frontiers are numbered: first those of the host, then those of survivors.
pub trait Placement: Send {
    /// Frontier for a page of the host, if the route says [`Route::Each`].
    fn of_host(&mut self, lpn: u32, context: WriteContext) -> u8;

    /// Frontier for a valid page of a victim, if the route says [`Route::Each`].
    fn of_survivor(&mut self, lpn: u32, victim: BlockId) -> u8;

    /// Saves or loads what it remembers.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived;
}

/// A registered placement policy.
pub type PlacementInfo = Info<PlacementRules>;

/// Open blocks of a placement policy, and how it routes pages to them.
#[derive(Debug)]
pub struct PlacementRules {
    /// Open blocks for host writes in each plane, at least 1.
    pub host: u8,
    /// Open blocks for GC only; without any, GC writes to those of the host.
    pub survivors: u8,
    /// Route of a host page.
    pub host_route: Route,
    /// Route of a page that GC relocates.
    pub survivor_route: Route,
    /// Builds the policy; None if both routes are fixed.
    pub build: Option<fn() -> Box<dyn Placement>>,
}

impl PlacementRules {
    /// Open blocks for the host and for GC together.
    ///
    /// A plane keeps this many blocks unwritten while the host may write, so that any open block that a host page needs can
    /// be opened, and all open blocks that the pages of one victim are spread over find room.
    pub const fn frontiers(&self) -> u32 {
        self.host as u32 + self.survivors as u32
    }
}

/// Every placement policy; the first is the default, the second the example of documents.
pub static PLACEMENTS: Registry<PlacementRules> = Registry::new("placement", &[&own::INFO, &shared::INFO]);
