//! An FTL before it is known on which device.

use super::trigger;
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::log::LogChoice;
use ssdlab_ftl::map::MapChoice;
use ssdlab_ftl::page::{PageOptions, Trigger};

/// What the settings say of an FTL by themselves.
#[derive(Clone, Copy)]
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

    /// Fewest log blocks that the FTL works with.
    pub(crate) fn least_log_blocks(&self) -> u32 {
        match self {
            Self::Page(..) => 0,
            Self::Log(choice) => (choice.info.role.least_log_blocks)(choice),
        }
    }

    /// Erased blocks that collection keeps in each plane as a setting asks, with the setting and its least value.
    pub(crate) fn kept_erased(&self) -> Option<(&'static str, u32, u32)> {
        match self {
            Self::Page(PageOptions { trigger: Trigger::Partial { low, .. }, .. }, _) => Some((trigger::LOW, *low, 2)),
            Self::Page(PageOptions { trigger: Trigger::Batch { low, high }, .. }, _) => {
                Some((trigger::HIGH, *high, low + 1))
            }
            _ => None,
        }
    }

    /// The same FTL with another number of them.
    pub(crate) fn keeping_erased(mut self, blocks: u32) -> Self {
        if let Self::Page(options, _) = &mut self {
            match &mut options.trigger {
                Trigger::Partial { low: kept, .. } | Trigger::Batch { high: kept, .. } => *kept = blocks,
                Trigger::Victim => {}
            }
        }
        self
    }
}
