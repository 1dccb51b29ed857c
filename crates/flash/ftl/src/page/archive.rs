//! Saving and loading the state of the page-mapped FTL.

use ssdlab_core::{Access, Archive, Archived};

use super::{Limits, PageFtl};
use crate::map::MapModel;

impl<M: MapModel> PageFtl<M> {
    /// Saves or loads every field of the FTL. Fields that the configuration determines, or that do not affect later
    /// operations, are bound to `_` and not saved.
    pub(super) fn archive_all(&mut self, archive: &mut Archive<'_>) -> Archived {
        self.complete_maps();
        let Self {
            shape,
            map,
            l2p,
            p2l,
            blocks,
            block_of: _,
            plane_of: _,
            unit_of: _,
            is_volatile: _,
            options: _,
            policy,
            placement,
            planes,
            turn,
            map_turn,
            limits: Limits { map_pages: _, spare_blocks, ahead: _ },
            slc,
            sections: _,
            prefetching: _,
            host_pages,
            writer: _,
            occupied: _,
            sequence,
            failing,
            stuck,
        } = self;
        map.archive(archive)?;
        let mapped = shape.logical_pages + map.pages();
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
        archive.value(stuck)?;
        slc.iter_mut().try_for_each(|cache| cache.archive(archive))
    }
}
