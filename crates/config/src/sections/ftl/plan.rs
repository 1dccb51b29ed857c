//! An FTL before it is known on which device.

use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::log::LogChoice;
use ssdlab_ftl::map::MapChoice;
use ssdlab_ftl::page::PageOptions;

/// What the settings say of an FTL by themselves.
pub(crate) enum Plan {
    /// Page mapping: complete.
    Page(PageOptions, MapChoice),
    /// Log blocks, of which the device says how many there are.
    Log(LogChoice),
}

impl Plan {
    /// Whether each plane is written and collected for itself, and so has a reserve of its own.
    pub(crate) const fn reserves_by_plane(&self) -> bool {
        matches!(self, Self::Page(..))
    }

    /// Blocks that the FTL always keeps open, erased, or full of its map.
    pub(crate) fn reserve_blocks(&self, logical_pages: u64, page_bytes: u32, pages_per_block: u32, planes: u32) -> u32 {
        match self {
            Self::Page(options, map) => {
                // More pages than numbers are refused elsewhere.
                let logical_pages = u32::try_from(logical_pages).unwrap_or(u32::MAX);
                let map_pages = FtlChoice::Page(*options, *map).map_pages(logical_pages, page_bytes);
                options.device_reserve_blocks(planes, map_pages, pages_per_block)
            }
            Self::Log(choice) => choice.info.role.reserve_blocks,
        }
    }
}
