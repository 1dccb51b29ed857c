//! Recovery of the log-block FTLs.
//!
//! ```text
//! newest copies -> flat map                    a block without any: erase it
//! no erased block:                             the block opened last is the target of a merge: ignore the merge; erase
//!                                              the block
//! every page in place:                         the data block of its logical block; among several the first with the
//!                                              role of data, else the first
//! the others, in the order of opening:         the log takes back those it may have
//! the rest:                                    its logical blocks are merged, then it is erased
//! ```
//! A remaining block was only partly emptied by a merge, or is a merge target that was only partly filled. A merge is
//! correct in both cases, because it copies the newest pages.
//!
//! **One erased block is enough** for a merge, and the device has enough blocks: one per logical block, the log blocks,
//! and the blocks reserved for merges ([`super::LogRules::reserve_blocks`]). If no block is erased, all reserved blocks
//! are in use, and the block opened last is the target of a merge. The target holds copies from the other blocks, and
//! perhaps the host page that was being written.
//!
//! A log block whose pages are all at their own offsets becomes the data block if the logical block has no other data
//! block. This occurs after a merge without copies.

use std::collections::{BTreeMap, BTreeSet};

use ssdlab_core::BlockId;
use ssdlab_nand::{Cause, FlashSink, Role, Scan, Trimmed};

use super::{Log, LogDevice, LogFtl};
use crate::recovery::{BlockSurvey, Maps, Survey, is_readable};

/// A block with valid pages that is not a data block.
#[derive(Clone, Copy, Debug)]
pub struct LogBlock {
    /// Number of the block.
    pub block: u32,
    /// Role of the pages in the block.
    pub role: Role,
    /// Sequence number at which the block was opened.
    pub opened: u64,
    /// Sequence number of the last write to the block.
    pub written: u64,
    /// Number of pages at the start of the block that are copies of other flash pages.
    pub copies: u32,
    /// Logical block to which all pages in the block belong; None if they belong to several logical blocks.
    pub owner: Option<u32>,
    /// True if every page of the block lies at its own offset.
    pub in_place: bool,
}

impl<L: Log> LogFtl<L> {
    pub(super) fn recover_all<S: FlashSink>(
        &mut self,
        scan: &dyn Scan,
        trims: &[Trimmed],
        sink: &mut S,
    ) -> Result<(), String> {
        let Self { device, log } = self;
        let (survey, given_up) = device.survey(scan, trims, |survey| log.unfinished(survey))?;
        device.take_up(&survey);
        for block in survey.to_erase(&given_up) {
            device.erase(block.0, Cause::Recovery, sink);
        }
        let mut rest = device.take_data_blocks(L::SWITCHES, &survey);
        rest = log.take_up(device, rest);
        for LogBlock { block, .. } in rest {
            device.empty(block, sink)?;
            if device.stuck {
                break;
            }
        }
        Ok(())
    }
}

impl LogDevice {
    /// Scans the flash. Returns the survey and the blocks to discard, including the block that `unfinished` returns.
    fn survey(
        &mut self,
        scan: &dyn Scan,
        trims: &[Trimmed],
        unfinished: impl Fn(&Survey) -> Option<BlockId>,
    ) -> Result<(Survey, BTreeSet<BlockId>), String> {
        let Self { l2p, p2l, pages_per_block, expendable, .. } = self;
        let logical_pages = l2p.len() as u32;
        let mut maps = Maps { l2p, p2l, logical_pages, pages_per_block: *pages_per_block };
        let mut given_up = BTreeSet::new();
        let mut survey = Survey::new(&mut maps, scan, trims, &given_up)?;
        if let Some(block) = unfinished(&survey) {
            survey = survey.without(block, false, &mut maps, scan, trims, &mut given_up)?;
        }
        // With at most `expendable` bad blocks and no erased block, the block opened last is the target of a merge.
        let proven = survey.blocks.iter().filter(|block| block.bad).count() as u32 <= *expendable;
        if !survey.blocks.iter().any(BlockSurvey::is_empty)
            && let Some(last) = survey.opened_last(|_| true)
        {
            survey = survey.without(last, proven, &mut maps, scan, trims, &mut given_up)?;
        }
        Ok((survey, given_up))
    }

    /// Takes over the state of all blocks from the survey. Closes blocks to which no more pages may be written.
    fn take_up(&mut self, survey: &Survey) {
        self.table.take_up(&survey.blocks);
        self.sequence = survey.sequence;
        for &BlockSurvey { block, next, sound, .. } in &survey.blocks {
            self.next[block.index()] = next as u16;
            if !sound {
                self.close(block.0);
            }
        }
    }

    /// Chooses the data block of each logical block. `switches` is the role of the log blocks that may become data
    /// blocks. Returns the other blocks with valid pages, in the order in which they were opened.
    fn take_data_blocks(&mut self, switches: Role, survey: &Survey) -> Vec<LogBlock> {
        let written = survey.blocks.iter().filter(|block| !block.bad && block.valid > 0);
        let mut rest: Vec<LogBlock> = written.map(|block| self.describe(block)).collect();
        rest.sort_by_key(|block| block.opened);
        let mut chosen: BTreeMap<u32, LogBlock> = BTreeMap::new();
        for block in rest.iter().filter(|block| block.in_place && [Role::Data, switches].contains(&block.role)) {
            let Some(lbn) = block.owner else { continue };
            let best = chosen.entry(lbn).or_insert(*block);
            if best.role != Role::Data && block.role == Role::Data {
                *best = *block;
            }
        }
        for (lbn, block) in &chosen {
            self.data[*lbn as usize] = block.block;
        }
        rest.retain(|block| block.owner.is_none_or(|lbn| self.data[lbn as usize] != block.block));
        rest
    }

    fn describe(&self, state: &BlockSurvey) -> LogBlock {
        let BlockSurvey { block, role, opened, written, copies, .. } = *state;
        let first = block.0 * self.pages_per_block;
        let held = (0..).zip(&self.p2l[first as usize..(first + self.pages_per_block) as usize]);
        let readable = held.map(|(offset, held)| (offset, held.page())).filter(|&(_, lpn)| is_readable(lpn));
        let (mut owner, mut in_place) = (None, true);
        let mut several = false;
        for (offset, lpn) in readable {
            let address = self.locate(lpn);
            in_place &= address.offset == offset;
            several |= owner.is_some_and(|owner| owner != address.lbn);
            owner = Some(address.lbn);
        }
        let owner = owner.filter(|_| !several);
        LogBlock { block: block.0, role, opened, written, copies, owner, in_place: in_place && !several }
    }

    /// Merges the logical blocks whose valid pages are in an unusable block, and erases the unusable block. Keeps the
    /// block if failures have left no target for the merge.
    fn empty<S: FlashSink>(&mut self, block: u32, sink: &mut S) -> Result<(), String> {
        for offset in 0..self.pages_per_block {
            if let Some(address) = self.valid_page(block, offset) {
                if !sink.fails() && self.table.free(0) == 0 {
                    return Err(format!("no erased block is left for the pages of block {block}"));
                }
                if self.merge_for_recovery(address.lbn, sink).is_none() {
                    return Ok(());
                }
            }
        }
        self.erase(block, Cause::Recovery, sink);
        Ok(())
    }
}
