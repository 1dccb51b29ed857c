//! Memory of a shard against its budget, and frames of raw pages.

use std::sync::Arc;

use super::{Frame, Shard};
use crate::options::LEAST_FRAMES;

impl Shard {
    /// All memory of this shard.
    pub fn total_bytes(&self) -> usize {
        self.frames * self.frame_bytes + self.slabs.bytes() + self.meta_bytes
    }

    /// What the shard may take.
    pub fn budget_bytes(&self) -> usize {
        self.budget_bytes
    }

    /// Raw pages that the shard may have, until compressed pages or tables take more or less.
    pub fn raw_limit(&self) -> usize {
        let others = self.meta_bytes + self.reserved_bytes + self.compressed_limit.max(self.slabs.bytes());
        (self.budget_bytes.saturating_sub(others) / self.frame_bytes).max(LEAST_FRAMES)
    }

    /// Frames that can be had without a victim.
    fn room(&self) -> usize {
        self.free_frames.len() + self.raw_limit().saturating_sub(self.frames)
    }

    /// Whether workers should begin.
    pub fn short_of_frames(&self) -> bool {
        // The limit, a division, is not asked for without workers or with enough free frames.
        self.free_frames.len() < self.low_water && self.room() < self.low_water
    }

    /// How many victims workers should take.
    pub fn frames_wanted(&self) -> usize {
        self.high_water.saturating_sub(self.room())
    }

    /// Whether some frame or job is in hand, so that room may come up.
    pub fn working(&self) -> bool {
        self.working > 0
    }

    /// A frame that can be had without a victim. It must come back by [`Shard::land`], [`Shard::renew`] or
    /// [`Shard::return_frame`].
    pub fn take_frame(&mut self) -> Option<Frame> {
        if !self.orphans.is_empty() {
            for frame in std::mem::take(&mut self.orphans) {
                self.recycle(frame);
            }
        }
        let frame = self.free_frames.pop().or_else(|| {
            (self.frames < self.raw_limit() && self.total_bytes() + self.frame_bytes <= self.budget_bytes).then(|| {
                self.frames += 1;
                std::iter::repeat_n(0, self.page_bytes).collect()
            })
        })?;
        self.working += 1;
        Some(frame)
    }

    /// Gives a frame back that was not used.
    pub fn return_frame(&mut self, frame: Frame) {
        self.recycle(frame);
        self.working -= 1;
        self.progress = true;
    }

    pub(super) fn recycle(&mut self, frame: Frame) {
        if Arc::strong_count(&frame) > 1 {
            self.orphans.push(frame);
        } else if self.frames > self.raw_limit() && !self.released {
            // Every other frame only, so that nobody pays alone for a share that moved.
            self.frames -= 1;
            self.released = true;
        } else {
            self.released = false;
            self.free_frames.push(frame);
        }
    }
}
