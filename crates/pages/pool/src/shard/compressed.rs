//! Manages the compressed pool of a shard, and the pool's share of the shard's memory budget.

use super::{MARGINS, Shard, State};
use crate::balance::{Balance, Verdict};
use crate::options::MIN_FRAMES;
use crate::slabs::Place;

/// Each adaptation step resizes the compressed pool by about 1 / `MOVES` of a margin; a margin is a 16th of the budget.
const MOVES: usize = 4;
/// A chunk is emptied only if free blocks make up more than 1 / `FREE_PLACES` of the compressed pool.
const FREE_PLACES: usize = 8;

impl Shard {
    /// Stores the compressed page `bytes` of slot `owner`; drops other compressed pages if there is no room.
    pub(super) fn place(&mut self, bytes: &[u8], owner: u32) -> Option<Place> {
        loop {
            if self.slabs.bytes() > self.compressed_limit {
                self.shrink();
            }
            let room_bytes = self.budget_bytes.saturating_sub(self.total_bytes());
            if let Some(place) = self.slabs.store(bytes, owner, room_bytes) {
                return Some(place);
            }
            let cost = self.slabs.chunk_cost();
            let fits =
                self.slabs.bytes() + cost <= self.compressed_limit && self.total_bytes() + cost <= self.budget_bytes;
            if fits {
                self.slabs.add_chunk();
            } else if self.slabs.free_bytes() > 2 * cost + self.slabs.bytes() / FREE_PLACES {
                self.empty_chunk();
            } else if !self.drop_compressed() {
                return None;
            }
        }
    }

    /// Drops the page that the compressed pool's policy selects as the victim; returns false if there is none.
    pub(super) fn drop_compressed(&mut self) -> bool {
        let Some(at) = self.compressed.victim(&mut |_| true) else { return false };
        if let State::Compressed(compressed) = self.slots[at as usize].state {
            self.slabs.free(compressed.place, compressed.len as usize);
        }
        self.counts.compressed_dropped += 1;
        self.remove(at);
        true
    }

    fn empty_chunk(&mut self) {
        let slots = &mut self.slots;
        let (moved, lost) = self.slabs.empty_one(|at| match &slots[at as usize].state {
            State::Compressed(compressed) => compressed.len as usize,
            _ => 0,
        });
        self.counts.moved += moved.len() as u64;
        for (at, place) in moved {
            if let State::Compressed(compressed) = &mut self.slots[at as usize].state {
                compressed.place = place;
            }
        }
        for at in lost {
            self.compressed.remove(at);
            self.counts.fragmented_dropped += 1;
            self.remove(at);
        }
    }

    /// Frees an empty chunk. If no chunk is empty, first empties one.
    fn shrink(&mut self) {
        if !self.slabs.give_chunk_back() {
            self.empty_chunk();
            self.slabs.give_chunk_back();
        }
    }

    /// Adapts the compressed pool's share of the budget, based on measurements of how much time additional memory would
    /// save in each pool.
    pub(super) fn rebalance(&mut self) {
        let Some(verdict) = self.balance.as_mut().and_then(Balance::verdict) else { return };
        let step = (self.budget_bytes / MARGINS / MOVES).max(self.slabs.chunk_cost());
        // The uncompressed pool always keeps a part of the budget: if it were empty, the time that it saves could not
        // be measured.
        let min_raw_bytes = (MIN_FRAMES * self.frame_bytes).max(self.budget_bytes / MARGINS);
        let max_limit = self.budget_bytes - self.meta_bytes - min_raw_bytes;
        let limit = match verdict {
            Verdict::MoreCompressed => (self.compressed_limit + step).min(max_limit),
            Verdict::MoreRaw => self.compressed_limit.saturating_sub(step),
        };
        self.counts.share_moves += u64::from(limit != self.compressed_limit);
        self.compressed_limit = limit;
        while self.slabs.bytes() > limit && self.slabs.chunks() > 0 {
            self.shrink();
        }
    }
}
