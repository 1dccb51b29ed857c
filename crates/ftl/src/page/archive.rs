//! The state of the page-mapped FTL, written down and taken up again.

use ssdlab_core::{Access, Archive, Archived};

use super::PageFtl;
use crate::map::MapModel;

impl<M: MapModel> PageFtl<M> {
    /// Every field, or that the configuration fixes it, or that it says nothing of what comes.
    pub(super) fn archive_all(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self {
            shape,
            map,
            logical_pages,
            l2p,
            p2l,
            blocks,
            block_of: _,
            plane_of: _,
            options: _,
            policy,
            placement,
            planes,
            turn,
            map_turn,
            map_limit: _,
            spare_blocks,
            ahead: _,
            prefetching: _,
            host_pages,
            occupied: _,
            sequence,
            failing,
            stuck,
        } = self;
        map.archive(archive)?;
        let mapped = *logical_pages + map.pages();
        archive.huge(l2p, mapped as usize, Access::AtRandom)?;
        archive.huge(p2l, (shape.blocks * shape.pages_per_block) as usize, Access::InRuns)?;
        blocks.archive(archive)?;
        policy.archive(archive)?;
        placement.iter_mut().try_for_each(|placement| placement.archive(archive))?;
        archive.value(planes)?;
        archive.value(turn)?;
        archive.value(map_turn)?;
        archive.value(spare_blocks)?;
        archive.value(host_pages)?;
        archive.value(sequence)?;
        archive.value(failing)?;
        archive.value(stuck)
    }
}
