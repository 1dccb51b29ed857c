//! The sequential log block of FAST and FASTer: pages 0, 1, 2, ... of one logical block, in place.

use ssdlab_core::Lpn;

use super::{Here, Space};
use crate::sink::{FlashSink, MergeCost, Note};

/// The SW log: one block, or none, in which case every page is one for the random log.
pub(crate) struct SequentialLog {
    blocks: u32,
    open: Option<Open>,
}

#[derive(Clone, Copy)]
struct Open {
    block: u32,
    owner: u32,
}

impl SequentialLog {
    pub fn new(blocks: u32) -> Self {
        Self { blocks, open: None }
    }

    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    pub fn block(&self) -> Option<u32> {
        self.open.map(|open| open.block)
    }

    /// Writes the page if it belongs here; false if it is one for the random log.
    ///
    /// ```text
    /// offset 0:                  partial merge of what is here; a new block for this owner, page 0
    /// owner's next page:         append; the block that becomes full switches at once
    /// owner's page further on:   partial merge, the page written in the course of it
    /// owner's page before that:  full merge with the data block, the page written in the course of it
    /// ```
    pub fn write<S: FlashSink>(&mut self, space: &mut Space, here: Here, page: u32, sink: &mut S) -> bool {
        if here.offset == 0 && self.blocks > 0 {
            self.merge(space, sink);
            let block = space.take();
            self.open = Some(Open { block, owner: here.lbn });
            space.program(here.lpn, block, 0, page, sink);
            sink.note(Note::Captured(Lpn(here.lpn)));
            return true;
        }
        let Some(Open { block, .. }) = self.open.filter(|open| open.owner == here.lbn) else {
            return false;
        };
        let next = space.next(block);
        if here.offset == next {
            space.program(here.lpn, block, next, page, sink);
            sink.note(Note::Captured(Lpn(here.lpn)));
            if space.is_full(block) {
                self.open = None;
                sink.note(Note::Retired { written: next + 1 });
                space.merge_in_place(here.lbn, block, sink);
            }
            return true;
        }
        self.open = None;
        sink.note(Note::Retired { written: next });
        space.merge_in_place_with(here, block, page, sink);
        true
    }

    /// Partial merge of the block, if there is one.
    pub fn merge<S: FlashSink>(&mut self, space: &mut Space, sink: &mut S) -> MergeCost {
        let Some(Open { block, owner }) = self.open.take() else { return MergeCost::default() };
        sink.note(Note::Retired { written: space.next(block) });
        space.merge_in_place(owner, block, sink)
    }

    /// Merges a logical block of which a random log block is to be rid: partially if it is the owner here, else fully.
    pub fn merge_block<S: FlashSink>(&mut self, space: &mut Space, lbn: u32, sink: &mut S) -> MergeCost {
        match self.open {
            Some(open) if open.owner == lbn => self.merge(space, sink),
            _ => space.full_merge(lbn, sink),
        }
    }

    pub fn check(&self, space: &Space) -> Result<(), String> {
        let Some(Open { block, owner }) = self.open else { return Ok(()) };
        for offset in 0..space.next(block) {
            let held = space.valid_page(block, offset);
            if held.is_some_and(|here| here.lbn != owner || here.offset != offset) {
                return Err(format!(
                    "sequential log block {block} of logical block {owner} holds {held:?} at {offset}"
                ));
            }
        }
        Ok(())
    }
}
