//! Lists the programmed pages of a page-mapped FTL.

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::Role;

use super::PageFtl;
use crate::map::MapModel;
use crate::recovery::is_readable;

impl<M: MapModel> PageFtl<M> {
    /// Implements [`crate::Ftl::programmed`]: closed blocks in the order in which they were closed, then open blocks.
    pub(super) fn visit_programmed(&self, visit: &mut dyn FnMut(Ppn, Lpn, Role)) {
        let (pages, table) = (self.blocks.pages_per_block(), self.blocks.table());
        let mut programmed = vec![pages; table.len() as usize];
        table.free_blocks().into_iter().for_each(|block| programmed[block as usize] = 0);
        let open_blocks = self.planes.iter().flat_map(|plane| plane.open_blocks).filter(|open| open.end > 0);
        let mut open: Vec<u32> = Vec::new();
        for at in open_blocks {
            let block = self.block_of(at.end - 1).0;
            programmed[block as usize] -= at.left();
            open.push(block);
        }
        let mut order: Vec<u32> = (0..table.len()).filter(|block| !open.contains(block)).collect();
        order.sort_by_key(|&block| self.blocks.plane(self.plane_of(block * pages)).closed_at(BlockId(block)));
        for block in order.into_iter().chain(open) {
            for ppn in block * pages..block * pages + programmed[block as usize] {
                let lpn = self.p2l[ppn as usize].page();
                let role = if !is_readable(lpn) {
                    Role::Padding
                } else if lpn < self.shape.logical_pages {
                    Role::Data
                } else {
                    Role::Map
                };
                visit(Ppn(ppn), Lpn(lpn), role);
            }
        }
    }
}
