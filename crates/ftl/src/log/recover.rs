//! Recovery of the log-block FTLs.
//!
//! ```text
//! newest copies -> flat map                     a block with none of them: erase it
//! no erased block:                              the block opened last is the target of a merge: as if that had not
//!                                               begun; erase it
//! every page in place:                          the data block of its logical block; of several the first with the
//!                                               role of data, else the first
//! the others, in the order of their opening:    the log takes those back that it may have
//! what remains:                                 its logical blocks are merged, then it is erased
//! ```
//! What remains are blocks that a merge had not emptied, or the target that it had not filled. Merging is right
//! whatever they are: it copies the newest pages.
//!
//! **One erased block is enough** for a merge, and all need no more than there are blocks: one for each logical block,
//! the log, and what merges need ([`super::LogRules::reserve_blocks`]). If none is erased, all of these are in use and
//! so is the target of a merge, in which are copies of what is in the others, and perhaps the page that the host was
//! writing.
//!
//! Left open where the spare area does not tell: a log block whose pages all lie at their places becomes the data block
//! if there is none, as after a merge without copies.

use std::collections::{BTreeMap, BTreeSet};

use ssdlab_core::BlockId;
use ssdlab_nand::{Cause, FlashSink, Role, Scan, Trimmed};

use super::{Log, LogDevice, LogFtl};
use crate::recovery::{Block, Maps, Survey, is_readable};

/// A block with valid pages that is no data block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogBlock {
    pub block: u32,
    pub role: Role,
    /// When it was opened and when it was written last, by sequence numbers.
    pub opened: u64,
    pub written: u64,
    /// Pages at its start that are copies.
    pub copies: u32,
    /// The logical block of all its pages, if they are of one.
    pub owner: Option<u32>,
    /// Whether each of them lies at its own offset.
    pub in_place: bool,
}

#[allow(private_bounds)]
impl<L: Log> LogFtl<L> {
    /// See [`crate::Ftl::recover`].
    pub(super) fn recover_all<S: FlashSink>(
        &mut self,
        scan: &dyn Scan,
        trims: &[Trimmed],
        sink: &mut S,
    ) -> Result<(), String> {
        let Self { device, log } = self;
        let (survey, given_up) = device.survey(scan, trims, |survey| log.unfinished(survey))?;
        device.take_up(&survey);
        let outdated = survey.outdated().filter(|block| !given_up.contains(block));
        for block in given_up.iter().copied().chain(outdated) {
            device.erase(block.0, Cause::Recovery, sink);
        }
        let mut rest = device.take_data_blocks(L::SWITCHES, &survey);
        rest = log.take_up(device, rest);
        for LogBlock { block, .. } in rest {
            device.empty(block, sink)?;
            if device.is_stuck() {
                break;
            }
        }
        Ok(())
    }
}

impl LogDevice {
    /// What is found, and blocks to be given up; `unfinished` may name one at first sight.
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
        // As many blocks as may fail leave all others what they need.
        let proven = survey.blocks.iter().filter(|found| found.bad).count() as u32 <= *expendable;
        if !survey.blocks.iter().any(Block::is_empty)
            && let Some(last) = survey.opened_last(|_| true)
        {
            survey = survey.without(last, proven, &mut maps, scan, trims, &mut given_up)?;
        }
        Ok((survey, given_up))
    }

    /// Takes up every block as it is, for no use yet.
    fn take_up(&mut self, survey: &Survey) {
        self.table.take_up(&survey.blocks);
        self.sequence = survey.sequence;
        for &Block { block, next, sound, .. } in &survey.blocks {
            self.next[block.index()] = next as u16;
            if !sound {
                self.close(block.0);
            }
        }
    }

    /// Chooses the data block of each logical block; `switches` is the role of log blocks that may become one. Returns
    /// the other blocks with valid pages, in the order in which they were opened.
    fn take_data_blocks(&mut self, switches: Role, survey: &Survey) -> Vec<LogBlock> {
        let mut rest: Vec<LogBlock> = survey
            .blocks
            .iter()
            .filter(|found| !found.bad && found.valid > 0)
            .map(|found| self.describe(found))
            .collect();
        rest.sort_by_key(|found| found.opened);
        let mut chosen: BTreeMap<u32, LogBlock> = BTreeMap::new();
        for found in rest.iter().filter(|found| found.in_place && [Role::Data, switches].contains(&found.role)) {
            let Some(lbn) = found.owner else { continue };
            let best = chosen.entry(lbn).or_insert(*found);
            if best.role != Role::Data && found.role == Role::Data {
                *best = *found;
            }
        }
        for (lbn, found) in &chosen {
            self.data[*lbn as usize] = found.block;
        }
        rest.retain(|found| found.owner.is_none_or(|lbn| self.data[lbn as usize] != found.block));
        rest
    }

    fn describe(&self, found: &Block) -> LogBlock {
        let Block { block, role, opened, written, copies, .. } = *found;
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

    /// Merges the logical blocks of the valid pages of a block that has no use, and erases it. Where so many blocks
    /// have failed that there is none to merge to, it stays.
    fn empty<S: FlashSink>(&mut self, block: u32, sink: &mut S) -> Result<(), String> {
        for offset in 0..self.pages_per_block {
            if let Some(address) = self.valid_page(block, offset) {
                if !S::FAILS && self.table.free(0) == 0 {
                    return Err(format!("no erased block is left to take the pages of block {block}"));
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
