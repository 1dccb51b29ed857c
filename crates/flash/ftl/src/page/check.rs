//! Checks of the page-mapped FTL's invariants, in O(pages).

use ssdlab_core::{BlockId, Entry};

use super::{PageFtl, Plane};
use crate::Ftl;
use crate::map::MapModel;

impl<M: MapModel> PageFtl<M> {
    pub(super) fn check_all(&self) -> Result<(), String> {
        self.blocks.check()?;
        self.map.check()?;
        let mut valid = vec![0_u32; self.blocks.table().len() as usize];
        for lpn in 0..self.l2p.len() as u32 {
            let ppn = self.ppn(lpn);
            if ppn == u32::MAX {
                continue;
            }
            if self.held(ppn) != lpn {
                return Err(format!("page {lpn} is mapped to {ppn}, which holds {:?}", Entry::of(self.held(ppn))));
            }
            if self.blocks.valid_among(ppn, 1) == 0 {
                return Err(format!("page {lpn} is mapped to {ppn}, which is not marked valid"));
            }
            valid[self.block_of(ppn).index()] += 1;
        }
        for (index, plane) in self.planes.iter().enumerate() {
            self.check_plane(index, plane, &valid)?;
        }
        for (block, &truth) in valid.iter().enumerate() {
            let block = BlockId(block as u32);
            let is_victim = |plane: &Plane| plane.victim.is_some_and(|victim| victim.block == block);
            let exact = self.blocks.is_closed(block) || self.planes.iter().any(is_victim);
            if exact && self.blocks.valid(block) != truth {
                return Err(format!(
                    "block {block} holds {truth} valid pages, but its valid count is {}",
                    self.blocks.valid(block)
                ));
            }
        }
        Ok(())
    }

    /// Checks the invariants of one plane. `valid` is the actual number of valid pages in each block.
    fn check_plane(&self, index: usize, plane: &Plane, valid: &[u32]) -> Result<(), String> {
        let mut unwritten = self.blocks.free(index) * self.blocks.pages_per_block();
        for open in plane.open_blocks {
            unwritten += open.left();
            if open.end > 0 && self.plane_of(open.end - 1) != index {
                return Err(format!(
                    "the open block of plane {index} ends at page {}, which belongs to another plane",
                    open.end - 1
                ));
            }
        }
        self.check_cache(index, valid)?;
        if unwritten != plane.unwritten {
            return Err(format!("plane {index} has {unwritten} unwritten pages, but its count is {}", plane.unwritten));
        }
        let (mut data, mut map) = (0, 0);
        for block in self.blocks.plane(index).blocks() {
            let pages = if self.holds_map(BlockId(block)) { &mut map } else { &mut data };
            *pages += valid[block as usize];
        }
        if map != plane.valid_map || data != plane.valid {
            let (counted, counted_map) = (plane.valid, plane.valid_map);
            return Err(format!(
                "plane {index} has {data} valid data pages and {map} valid map pages, but its counts are {counted} \
                 and {counted_map}"
            ));
        }
        // A block failure lowers the limit of its plane, which may then hold more valid pages than allowed.
        if data > plane.limit && self.is_striped() && !self.is_worn_out() || map > self.limits.map_pages {
            return Err(format!(
                "plane {index} holds {data} valid data pages (limit {}) and {map} valid map pages (limit {})",
                plane.limit, self.limits.map_pages
            ));
        }
        if plane.tight != self.tight(index) {
            return Err(format!(
                "plane {index} has a low-space threshold of {} pages instead of {}",
                plane.tight,
                self.tight(index)
            ));
        }
        Ok(())
    }
}
