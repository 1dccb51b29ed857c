//! How a raw page leaves a shard: a job for some thread begins under one lock and ends under another.

use std::sync::Arc;

use super::{Compressed, Done, Job, Shard, State, Wish};
use crate::balance::Balance;

impl Shard {
    pub(super) fn unlink(&mut self, at: u32) {
        let bucket = self.bucket(self.slots[at as usize].id);
        let next = self.slots[at as usize].next;
        if self.heads[bucket] == at {
            self.heads[bucket] = next;
        } else {
            let mut before = self.heads[bucket];
            while self.slots[before as usize].next != at {
                before = self.slots[before as usize].next;
            }
            self.slots[before as usize].next = next;
        }
        self.slots[at as usize].state = State::Free;
        self.free_slots.push(at);
    }

    /// Chooses a raw page to give way, only among clean ones if asked. The job must come back by [`Shard::finish`].
    pub fn begin_demotion(&mut self, clean_only: bool) -> Option<Job> {
        let slots = &mut self.slots;
        let at = self.raw.victim(&mut |at| {
            let slot = &slots[at as usize];
            let free = matches!(&slot.state, State::Raw(page) if Arc::strong_count(page) == 1);
            free && !slot.busy && !(clean_only && slot.dirty)
        })?;
        let slot = &mut self.slots[at as usize];
        let seen_once = !std::mem::take(slot.touched.get_mut());
        let cold = seen_once && self.sketch.as_ref().is_some_and(|sketch| sketch.estimate(slot.id) <= 1);
        let wish = if self.compressed_limit < self.slabs.chunk_cost() {
            Wish::Drop
        } else if cold {
            Wish::DropCold
        } else {
            Wish::Compress
        };
        self.job(at, wish)
    }

    fn job(&mut self, at: u32, wish: Wish) -> Option<Job> {
        let slot = &mut self.slots[at as usize];
        let State::Raw(page) = &slot.state else { return None };
        slot.busy = true;
        self.working += 1;
        Some(Job { slot: at, version: slot.version, id: slot.id, page: Arc::clone(page), dirty: slot.dirty, wish })
    }

    /// The end of a job of [`Shard::begin_demotion`]. The page stays raw if it was used or written in between, or could
    /// not be stored.
    pub fn finish(&mut self, job: Job, done: Done<'_>) {
        let at = job.slot;
        let wish = job.wish;
        self.finish_store(job, !matches!(done, Done::Refused));
        let slot = &mut self.slots[at as usize];
        let State::Raw(page) = &slot.state else { return };
        let used = *slot.touched.get_mut() || Arc::strong_count(page) > 1;
        if slot.dirty || used {
            self.counts.kept_raw += u64::from(!matches!(done, Done::Refused));
            self.raw.insert(at, slot.id);
            self.raw.hit(at);
            return;
        }
        if let State::Raw(frame) = std::mem::replace(&mut slot.state, State::Flight) {
            self.raw_pages -= 1;
            self.recycle(frame);
        }
        match done {
            Done::Keep(bytes, crc) => {
                if let Some(place) = self.place(bytes, at) {
                    let len = bytes.len() as u32;
                    let counter = if bytes.len() == self.page_bytes {
                        &mut self.counts.stored_raw
                    } else {
                        &mut self.counts.compressed
                    };
                    *counter += 1;
                    let demoted = self.balance.as_mut().map_or(0, Balance::demoted);
                    let slot = &mut self.slots[at as usize];
                    slot.state = State::Compressed(Compressed { place, len, crc, demoted });
                    self.compressed.insert(at, slot.id);
                    return;
                }
                self.counts.raw_dropped += 1;
            }
            Done::Incompressible => self.counts.incompressible_dropped += 1,
            Done::Drop if wish == Wish::DropCold => self.counts.cold_dropped += 1,
            Done::Drop | Done::Refused => self.counts.raw_dropped += 1,
        }
        self.gone(at);
    }

    /// The end of a job that only stored a page, or of the storing part of another one.
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

    /// A job that somebody could not do: the page stays as it is.
    pub fn cancel(&mut self, job: Job, victim: bool) {
        let at = job.slot;
        self.working -= 1;
        self.progress = true;
        self.slots[at as usize].busy = false;
        if victim {
            self.raw.insert(at, job.id);
        }
    }

    /// The next dirty page from slot `from` on: a job to store it, or `None` in its place if somebody is at it.
    pub fn next_dirty(&mut self, from: u32) -> Option<(u32, Option<Job>)> {
        let at = (from..self.slots.len() as u32).find(|&at| {
            let slot = &self.slots[at as usize];
            slot.dirty && matches!(slot.state, State::Raw(_))
        })?;
        let job = if self.slots[at as usize].busy { None } else { self.job(at, Wish::Drop) };
        Some((at, job))
    }

    /// The page at `at` leaves the cache.
    pub(super) fn gone(&mut self, at: u32) {
        if let Some(balance) = &mut self.balance {
            balance.gone(self.slots[at as usize].id);
        }
        self.unlink(at);
    }
}
