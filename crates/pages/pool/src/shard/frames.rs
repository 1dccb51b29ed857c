//! Accounts for the memory of a shard, and manages the frames of uncompressed pages.

use std::sync::Arc;

use super::{Frame, Shard};
use crate::options::MIN_FRAMES;

impl Shard {
    pub fn total_bytes(&self) -> usize {
        self.frames * self.frame_bytes + self.slabs.bytes() + self.meta_bytes
    }

    pub fn budget_bytes(&self) -> usize {
        self.budget_bytes
    }

    /// Returns the current maximum number of uncompressed pages; it depends on the memory of compressed pages and
    /// tables.
    pub fn raw_limit(&self) -> usize {
        let others = self.meta_bytes + self.reserved_bytes + self.compressed_limit.max(self.slabs.bytes());
        (self.budget_bytes.saturating_sub(others) / self.frame_bytes).max(MIN_FRAMES)
    }

    /// Returns the number of frames that can be taken without evicting a page.
    fn room(&self) -> usize {
        self.free_frames.len() + self.raw_limit().saturating_sub(self.frames)
    }

    /// True if background workers should start to compress pages.
    pub fn short_of_frames(&self) -> bool {
        // The cheap test comes first, because `room` needs a division.
        self.free_frames.len() < self.low_water && self.room() < self.low_water
    }

    /// Returns the number of victims that workers should demote.
    pub fn frames_wanted(&self) -> usize {
        self.high_water.saturating_sub(self.room())
    }

    /// True if a thread holds a frame or a job. In this case, waiting for progress may help.
    pub fn working(&self) -> bool {
        self.working > 0
    }

    /// Takes a frame for a page, if one is available without an eviction. The caller must pass the frame to
    /// [`Shard::land`], [`Shard::replace_frame`] or [`Shard::return_frame`].
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

    pub fn return_frame(&mut self, frame: Frame) {
        self.recycle(frame);
        self.working -= 1;
        self.progress = true;
    }

    pub(super) fn recycle(&mut self, frame: Frame) {
        if Arc::strong_count(&frame) > 1 {
            self.orphans.push(frame);
        } else if self.frames > self.raw_limit() && !self.released {
            // After the uncompressed pool's share has shrunk, frees only every second returned frame, which spreads the
            // cost of freeing the surplus frames over many threads.
            self.frames -= 1;
            self.released = true;
        } else {
            self.released = false;
            self.free_frames.push(frame);
        }
    }
}
