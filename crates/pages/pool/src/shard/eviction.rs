//! Evicts uncompressed pages from a shard. A job starts under the shard's lock, stores or compresses the page without
//! the lock, and finishes under the lock.

use std::sync::Arc;

use super::{Compressed, Job, JobResult, Shard, State, VictimAction};
use crate::balance::Balance;

impl Shard {
    pub(super) fn unlink(&mut self, at: u32) {
        let bucket = self.bucket(self.slots[at as usize].id);
        let next = self.slots[at as usize].next;
        if self.heads[bucket] == at {
            self.heads[bucket] = next;
        } else {
            let mut previous = self.heads[bucket];
            while self.slots[previous as usize].next != at {
                previous = self.slots[previous as usize].next;
            }
            self.slots[previous as usize].next = next;
        }
        self.slots[at as usize].state = State::Free;
        self.free_slots.push(at);
    }

    /// Chooses a victim of the uncompressed pool, optionally only among clean pages. The caller must pass the job to
    /// [`Shard::finish`] or [`Shard::cancel`].
    pub fn begin_demotion(&mut self, clean_only: bool) -> Option<Job> {
        let slots = &mut self.slots;
        let at = self.raw.victim(&mut |at| {
            let slot = &slots[at as usize];
            let unpinned = matches!(&slot.state, State::Raw(page) if Arc::strong_count(page) == 1);
            unpinned && !slot.busy && !(clean_only && slot.dirty)
        })?;
        let slot = &mut self.slots[at as usize];
        let seen_once = !std::mem::take(slot.touched.get_mut());
        let cold = seen_once && self.sketch.as_ref().is_some_and(|sketch| sketch.estimate(slot.id) <= 1);
        let action = if self.compressed_limit < self.slabs.chunk_cost() {
            VictimAction::Drop
        } else if cold {
            VictimAction::DropCold
        } else {
            VictimAction::Compress
        };
        self.job(at, action)
    }

    fn job(&mut self, at: u32, action: VictimAction) -> Option<Job> {
        let slot = &mut self.slots[at as usize];
        let State::Raw(page) = &slot.state else { return None };
        slot.busy = true;
        self.working += 1;
        Some(Job { slot: at, version: slot.version, id: slot.id, page: Arc::clone(page), dirty: slot.dirty, action })
    }

    /// Finishes a job that [`Shard::begin_demotion`] started. `out` begins with the compressed page, if any. The page
    /// stays uncompressed if it was used or written in the meantime, or could not be stored.
    pub fn finish(&mut self, job: Job, result: JobResult, out: &[u8]) {
        let at = job.slot;
        let action = job.action;
        self.finish_store(job, result != JobResult::StoreFailed);
        let slot = &mut self.slots[at as usize];
        let State::Raw(page) = &slot.state else { return };
        let used = *slot.touched.get_mut() || Arc::strong_count(page) > 1;
        if slot.dirty || used {
            self.counts.kept_raw += u64::from(result != JobResult::StoreFailed);
            self.raw.insert(at, slot.id);
            self.raw.hit(at);
            return;
        }
        if let State::Raw(frame) = std::mem::replace(&mut slot.state, State::InFlight) {
            self.raw_pages -= 1;
            self.recycle(frame);
        }
        match result {
            JobResult::Keep { len, crc } => {
                if let Some(place) = self.place(&out[..len], at) {
                    let is_raw = len == self.page_bytes;
                    *(if is_raw { &mut self.counts.stored_raw } else { &mut self.counts.compressed }) += 1;
                    let demoted = self.balance.as_mut().map_or(0, Balance::demoted);
                    let slot = &mut self.slots[at as usize];
                    slot.state = State::Compressed(Compressed { place, len: len as u32, crc, demoted });
                    self.compressed.insert(at, slot.id);
                    return;
                }
                self.counts.raw_dropped += 1;
            }
            JobResult::Incompressible => self.counts.incompressible_dropped += 1,
            JobResult::Drop if action == VictimAction::DropCold => self.counts.cold_dropped += 1,
            JobResult::Drop | JobResult::StoreFailed => self.counts.raw_dropped += 1,
        }
        self.remove(at);
    }

    /// Finishes a job that only writes a page back, or the write-back part of a demotion.
    pub fn finish_store(&mut self, job: Job, stored: bool) {
        self.working -= 1;
        self.progress = true;
        let slot = &mut self.slots[job.slot as usize];
        slot.busy = false;
        if !job.dirty {
            return;
        }
        if !stored {
            self.counts.store_errors += 1;
            return;
        }
        self.counts.written_back += 1;
        if slot.version == job.version {
            slot.dirty = false;
            self.dirty_pages -= 1;
        }
    }

    /// Cancels a job; its page stays unchanged.
    pub fn cancel(&mut self, job: Job, victim: bool) {
        let at = job.slot;
        self.working -= 1;
        self.progress = true;
        self.slots[at as usize].busy = false;
        if victim {
            self.raw.insert(at, job.id);
        }
    }

    /// Returns the slot of the first dirty page at or after slot `from`, with a job to store the page. The job is
    /// `None` if another thread is storing or demoting the page.
    pub fn next_dirty(&mut self, from: u32) -> Option<(u32, Option<Job>)> {
        let at = (from..self.slots.len() as u32).find(|&at| {
            let slot = &self.slots[at as usize];
            slot.dirty && matches!(slot.state, State::Raw(_))
        })?;
        let job = if self.slots[at as usize].busy { None } else { self.job(at, VictimAction::Drop) };
        Some((at, job))
    }

    pub(super) fn remove(&mut self, at: u32) {
        if let Some(balance) = &mut self.balance {
            balance.evicted(self.slots[at as usize].id);
        }
        self.unlink(at);
    }
}
