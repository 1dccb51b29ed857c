//! Options of the page-mapped FTL.

use crate::Shape;
use crate::blocks::Allocation;
use crate::gc::VictimChoice;
use crate::placement::{PlacementChoice, PlacementInfo};

/// Trigger of garbage collection in a plane, and the amount of work per run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// Collects one victim each time the plane is short of free pages. Causes many short stalls.
    Victim,
    /// With a full block and fewer than `low` free blocks, collects until `high` are free: few but long stalls.
    Batch {
        /// Number of free blocks below which a batch starts.
        low: u32,
        /// Number of free blocks at which a batch ends.
        high: u32,
    },
    /// With fewer than `low` free blocks, copies up to `step` valid pages of a victim after every `every` host pages of
    /// a block. Causes frequent stalls of a few pages each. If free pages still run short, copies the rest of the
    /// victim in one step.
    Partial {
        /// Number of free blocks below which copying starts, at least 2.
        low: u32,
        /// Number of valid pages per copying step, at least 1.
        step: u32,
        /// Number of host pages that are written to a block between two copying steps, at least 1.
        every: u32,
    },
}

/// Point in time at which the SLC cache is folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fold {
    /// Folds once the cache is full, at the pace of the host's writes.
    Pressure,
    /// Folds when the drive is idle.
    Idle,
    /// Folds when the plane needs the space that the cache occupies.
    Lazy,
}

/// Options of the SLC cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlcOptions {
    /// Number of blocks per plane that only the SLC cache uses.
    pub own_blocks: u32,
    /// Largest share of the free blocks that the SLC cache may borrow, in units of 1/10,000.
    pub share: u32,
    /// Point in time at which the SLC cache is folded.
    pub fold: Fold,
    /// True if host pages go to native blocks while the cache is full; false if they wait for a fold.
    pub bypass: bool,
    /// Number of flash pages per word line. A block in SLC mode has one page per word line.
    pub word_line: u32,
}

impl SlcOptions {
    /// Value of [`Self::share`] that allows the cache to borrow all free blocks.
    pub const ALL: u32 = 10_000;

    pub(super) fn check(&self, shape: &Shape) -> Result<(), String> {
        let Shape { pages_per_block, program_unit, .. } = *shape;
        let divides = |pages: u32| pages.is_multiple_of(self.word_line);
        if self.word_line < 2 || !divides(pages_per_block) || !divides(program_unit) {
            return Err(format!(
                "an SLC cache cannot use word lines of {} flash pages; use 2 or more, and a divisor of both the pages \
                 per block ({pages_per_block}) and the pages per program unit ({program_unit})",
                self.word_line
            ));
        }
        if (self.own_blocks, self.share) == (0, 0) {
            return Err("an SLC cache needs its own blocks or a share of the free blocks".into());
        }
        if self.share > Self::ALL {
            return Err("an SLC cache cannot borrow more than 100 % of the free blocks".into());
        }
        Ok(())
    }
}

/// Options of the page-mapped FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageOptions {
    /// Victim policy of garbage collection.
    pub gc: VictimChoice,
    /// Policy that decides which pages share a block, and where GC writes relocated pages.
    pub placement: PlacementChoice,
    /// Trigger of garbage collection in a plane.
    pub trigger: Trigger,
    /// Order in which free blocks are taken for writing.
    pub allocation: Allocation,
    /// Options of the SLC cache; None if the drive has none.
    pub slc: Option<SlcOptions>,
}

impl PageOptions {
    /// Returns options for collecting one victim at a time, without an SLC cache, with free blocks in FIFO order.
    pub const fn new(gc: VictimChoice, placement: &'static PlacementInfo) -> Self {
        let placement = placement.defaults();
        Self { gc, placement, trigger: Trigger::Victim, allocation: Allocation::Fifo, slc: None }
    }

    /// Returns the number of open blocks that the host and GC use in each plane.
    pub fn open_blocks(&self) -> u32 {
        self.placement.info.role.open_blocks(&self.placement.settings)
    }

    /// Returns the number of blocks that each plane must have in addition to data blocks: open blocks, a spare block
    /// for collection, the blocks that the trigger keeps free, and the SLC cache's own blocks.
    pub fn reserve_blocks(&self) -> u32 {
        let cache = self.slc.map_or(0, |options| options.own_blocks);
        // A placement policy by page may keep blocks open for long, and their invalid pages cannot be collected.
        let spare_blocks = if self.placement.info.role.by_page.is_some() { self.open_blocks() } else { 1 };
        let open_blocks = cache.saturating_add(self.open_blocks() + spare_blocks);
        match self.trigger {
            Trigger::Victim => open_blocks,
            Trigger::Batch { high, .. } => open_blocks.saturating_add(high),
            Trigger::Partial { low, .. } => open_blocks.saturating_add(low),
        }
    }

    /// Returns the number of blocks that a device of `planes` planes must have in addition to data blocks. Includes the
    /// blocks for `map_pages` of a map in flash (0 if the map is in RAM).
    pub fn device_reserve_blocks(&self, planes: u32, map_pages: u32, pages_per_block: u32) -> u32 {
        let map_blocks = if map_pages == 0 { 0 } else { map_reserve_blocks(map_pages, pages_per_block, planes) };
        self.reserve_blocks().saturating_mul(planes).saturating_add(map_blocks)
    }

    pub(super) fn check(&self, shape: &Shape) -> Result<(), String> {
        let placement = self.placement.info;
        if placement.role.by_page.is_some() && (shape.program_unit > 1 || self.slc.is_some()) {
            return Err(format!(
                "placement {} does not support an SLC cache or program units of several pages",
                placement.name
            ));
        }
        match self.trigger {
            Trigger::Batch { low, high } if low < 2 || low > high => {
                Err(format!("batch GC requires 2 <= low <= high (free blocks), but low is {low} and high is {high}"))
            }
            Trigger::Partial { low, step, every } if low < 2 || step < 1 || every < 1 => Err(format!(
                "partial GC requires low >= 2 (free blocks), step >= 1 and every >= 1 (pages), but low is {low}, step \
                 is {step} and every is {every}"
            )),
            _ => Ok(()),
        }
    }
}

/// Returns the number of blocks that a map in flash needs besides [`PageOptions::reserve_blocks`].
///
/// The map gets twice the blocks that it fills, because this makes its collection cheap. It also gets two more blocks,
/// an open block, and the blocks that stay unwritten for map pages. With several planes, each plane gets these blocks
/// for an equal part of the map. In addition, each plane gets as many blocks as its part of the map fills, because the
/// whole part may be rewritten while the other blocks are full of old versions. One more block is for map pages of
/// victims in other planes.
pub const fn map_reserve_blocks(map_pages: u32, pages_per_block: u32, planes: u32) -> u32 {
    let share = map_pages.div_ceil(planes);
    let passed_on = if planes > 1 { share.div_ceil(pages_per_block) + 1 } else { 0 };
    planes.saturating_mul(closed_map_blocks(share, pages_per_block) + 1 + short_blocks(planes) + passed_on)
}

/// Returns the maximum number of closed blocks of map pages in a plane with `map_pages` valid map pages.
pub(super) const fn closed_map_blocks(map_pages: u32, pages_per_block: u32) -> u32 {
    2 * map_pages.div_ceil(pages_per_block) + 2
}

/// Returns the number of blocks of a plane that stay unwritten for map pages: the open block, and three blocks for map
/// pages written before a victim is erased. With several planes there is one more block, because this plane may have a
/// victim while map pages of other victims arrive.
pub(super) const fn short_blocks(planes: u32) -> u32 {
    if planes > 1 { 5 } else { 4 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::greedy;
    use crate::placement::own;

    #[test]
    fn an_absurd_batch_reserves_more_than_any_device_holds() {
        let trigger = Trigger::Batch { low: 2, high: u32::MAX };
        let options = PageOptions { trigger, ..PageOptions::new(greedy::INFO.defaults(), &own::INFO) };
        assert_eq!(options.reserve_blocks(), u32::MAX);
    }
}
