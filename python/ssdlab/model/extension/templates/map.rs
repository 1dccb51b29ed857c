//! A map in flash: decides which map pages are read and written when a logical page is accessed.

use ssdlab::map::{self, Lookup, MapInfo, MapModel, MapRules, PageFtl};
use ssdlab::{Archive, Archived, NameTaken, Parameter, Unit};

/// Adds the map to ssdlab. The setting `ftl.page.map=mine` then selects it.
pub fn register() -> Result<(), NameTaken> {
    map::register(&MINE)
}

/// Size of a map entry in bytes. Each entry is a flash page number.
const ENTRY_BYTES: u32 = 4;

/// Registry entry of the map: name, help text, parameters and constructor.
static MINE: MapInfo = MapInfo {
    name: "mine",
    help: "map in flash; a direct-mapped cache in RAM holds one map page per slot",
    // The paper that describes the map.
    source: "",
    // Each parameter is a setting: `ftl.page.map.mine.slots=8`.
    parameters: &[Parameter::new(
        "slots",
        Unit::Count("pages"),
        4,
        [1, 1_000_000],
        "Number of map pages cached in RAM.",
    )],
    role: MapRules {
        // Number of map pages in flash, computed from the number of logical pages and the page size in bytes.
        pages: |_, logical_pages, page_bytes| logical_pages.div_ceil(page_bytes / ENTRY_BYTES),
        // Error messages for contradictory settings; empty, because no settings of this map can contradict each other.
        problems: |_, _| Vec::new(),
        // Builds a page-mapping FTL that uses this map, on flash with the geometry `shape`.
        build: Some(|shape, options, seed, settings| {
            let mine = Mine {
                page_bytes: shape.page_bytes,
                pages: shape.logical_pages.div_ceil(shape.page_bytes / ENTRY_BYTES),
                slots: vec![None; settings.get("slots") as usize],
            };
            Ok(Box::new(PageFtl::with_map(shape, options, mine, seed)?))
        }),
    },
};

/// A cache of map pages in RAM: map page `p` can only be in slot `p % slots`.
struct Mine {
    page_bytes: u32,
    pages: u32,
    /// The map page in each slot, with a flag that is true if the page is dirty (differs from its copy in flash).
    slots: Vec<Option<(u32, bool)>>,
}

impl Mine {
    /// Returns the map page with the entry of a logical page, and the slot of this map page.
    fn place(&mut self, lpn: u32) -> (u32, &mut Option<(u32, bool)>) {
        let page = lpn / (self.page_bytes / ENTRY_BYTES);
        let slot = page as usize % self.slots.len();
        (page, &mut self.slots[slot])
    }
}

impl MapModel for Mine {
    /// True because looking up or changing an entry can cost flash operations.
    const CHARGED: bool = true;

    fn pages(&self) -> u32 {
        self.pages
    }

    /// Loads the map page with the entry of `lpn` into its slot. Returns the evicted map page to write back, if any,
    /// and the map page to read from flash, if it was not cached.
    fn look_up(&mut self, lpn: u32) -> Lookup {
        let (page, slot) = self.place(lpn);
        match slot.replace((page, false)) {
            Some((cached, dirty)) if cached == page => {
                *slot = Some((page, dirty));
                Lookup::HIT
            }
            // The evicted map page is written back if its entries have changed.
            evicted => {
                let write_back = evicted.filter(|&(_, dirty)| dirty).map(|(page, _)| page);
                Lookup { hit: false, write_back, load: Some(page) }
            }
        }
    }

    /// Called when the map entry of the logical page that was looked up last has changed.
    fn changed(&mut self, lpn: u32) {
        let (page, slot) = self.place(lpn);
        *slot = Some((page, true));
    }

    /// Called when garbage collection has moved a page. If the map entry is cached, changes it only in RAM. Otherwise
    /// returns its map page, whose copy in flash must be updated immediately.
    fn moved(&mut self, lpn: u32) -> Option<u32> {
        let (page, slot) = self.place(lpn);
        match slot {
            Some((cached, dirty)) if *cached == page => {
                *dirty = true;
                None
            }
            _ => Some(page),
        }
    }

    /// Called when a map page has been programmed with all changes to its entries.
    fn written(&mut self, page: u32) {
        let slot = page as usize % self.slots.len();
        if self.slots[slot] == Some((page, true)) {
            self.slots[slot] = Some((page, false));
        }
    }

    fn load_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// A cached map page is complete, so it is not read again before it is written back.
    fn knows_whole_pages(&self) -> bool {
        true
    }

    fn ram_bytes(&self) -> u64 {
        self.slots.len() as u64 * u64::from(self.page_bytes)
    }

    fn memory_bytes(&self) -> u64 {
        size_of_val(&self.slots[..]) as u64
    }

    /// Saves or loads the fields that change during a run.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { page_bytes: _, pages: _, slots } = self;
        archive.value(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::register;
    use ssdlab::simulate;

    #[test]
    fn a_larger_cache_costs_fewer_map_pages() {
        register().unwrap();
        let drive = ["device.capacity=64MiB", "nand.pages_per_block=64", "workload.requests=5000"];
        // The share of look-ups that found their entry in RAM.
        let hit_ratio = |slots: &str| {
            let settings = [&drive[..], &[slots]].concat();
            simulate(&settings).unwrap().map.unwrap().all.hit_ratio.unwrap()
        };
        assert!(hit_ratio("ftl.page.map.mine.slots=1") < hit_ratio("ftl.page.map.mine.slots=8"));
    }
}

/// Runs the map on small random inputs. An input that breaks a rule is reduced to few operations.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::map!(super::MINE);
}
