//! A map that is entirely in RAM and needs no flash operations.

use ssdlab_core::{Archive, Archived, Settings};

use super::{Lookup, MapInfo, MapModel, MapRules};

/// Registry entry of this map.
pub static INFO: MapInfo = MapInfo {
    name: "ram",
    help: "entirely in RAM",
    source: "",
    parameters: &[],
    role: MapRules { pages: |_, _, _| 0, problems: |_, _| Vec::new(), build: None },
};

/// A map that is completely in RAM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WholeMap {
    /// Number of logical pages.
    pub logical_pages: u32,
}

impl WholeMap {
    /// Creates a map in RAM. Such a map has no settings.
    pub const fn new(logical_pages: u32, _page_bytes: u32, _settings: &Settings) -> Result<Self, String> {
        Ok(Self { logical_pages })
    }
}

impl MapModel for WholeMap {
    const CHARGED: bool = false;

    fn pages(&self) -> u32 {
        0
    }

    #[inline]
    fn look_up(&mut self, _lpn: u32) -> Lookup {
        Lookup::HIT
    }

    #[inline]
    fn changed(&mut self, _lpn: u32) {}

    fn moved(&mut self, _lpn: u32) -> Option<u32> {
        None
    }

    fn written(&mut self, _page: u32) {}

    fn load_bytes(&self) -> u32 {
        0
    }

    fn knows_whole_pages(&self) -> bool {
        true
    }

    /// Returns the size of a map in RAM: 4 bytes per map entry.
    fn ram_bytes(&self) -> u64 {
        4 * u64::from(self.logical_pages)
    }

    fn memory_bytes(&self) -> u64 {
        0
    }

    fn part(&self, logical_pages: u32) -> Option<Self> {
        Some(Self { logical_pages })
    }

    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Ok(())
    }
}
