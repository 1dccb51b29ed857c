//! Placement: which pages are written into one block, because they are expected to become invalid together. One file
//! each, registered in [`PLACEMENTS`].
//!
//! A plane writes to several *frontiers*, each an open block filled from its first page to its last: those of the host,
//! those of survivors of collection, and one for map pages behind them, which no policy decides. To add a policy: write
//! its file with an `INFO`, and a line in the table.

pub mod own;
pub mod shared;

use ssdlab_core::{Archive, Archived, BlockId};

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
#[derive(Clone, Copy, Debug)]
pub struct PlacementInfo {
    /// Name in settings.
    pub name: &'static str,
    /// What it does, in half a sentence.
    pub help: &'static str,
    /// Frontiers of the host, at least 1.
    pub host: u8,
    /// Frontiers that only survivors are written to; without any, survivors go to those of the host.
    pub survivors: u8,
    /// How the frontier of a page of the host is found.
    pub host_route: Route,
    /// How the frontier of a survivor is found.
    pub survivor_route: Route,
    /// A policy at its start; none where both routes are fixed.
    pub build: Option<fn() -> Box<dyn Placement>>,
}

/// Policies are the same if they have one name.
impl PartialEq for PlacementInfo {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PlacementInfo {}

impl PlacementInfo {
    /// Frontiers of host and survivors together.
    ///
    /// So many blocks stay unwritten in a plane while the host may write: with them, whichever frontier a page of the
    /// host needs can be opened, and whatever frontiers the pages of a victim are spread over find room.
    pub const fn frontiers(&self) -> u32 {
        self.host as u32 + self.survivors as u32
    }
}

/// Every placement policy; the first is the default, the second the example of documents.
pub static PLACEMENTS: &[&PlacementInfo] = &[&own::INFO, &shared::INFO];

/// The policy with this name.
pub fn placement(name: &str) -> Option<&'static PlacementInfo> {
    PLACEMENTS.iter().copied().find(|info| info.name == name)
}
