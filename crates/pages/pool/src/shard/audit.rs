//! Test helpers of a shard: inject faults and check consistency.

use super::{Shard, Slot, State};

impl Shard {
    /// Flips a bit of a compressed page, as faulty memory would; returns false if the page is not compressed.
    #[cfg(all(test, not(feature = "shuttle")))]
    pub fn corrupt(&mut self, id: crate::PageId) -> bool {
        let super::Lookup::Compressed(at) = self.look_up(id) else { return false };
        let State::Compressed(compressed) = &mut self.slots[at as usize].state else { return false };
        self.slabs.flip_bit(compressed.place);
        true
    }

    /// Recounts all pages and memory. During the recount no thread may hold a frame or a job.
    pub fn audit(&self) {
        let count = |matches: fn(&Slot) -> bool| self.slots.iter().filter(|slot| matches(slot)).count();
        assert_eq!(self.working, 0);
        assert_eq!(count(|slot| matches!(slot.state, State::InFlight)), 0);
        assert_eq!(count(|slot| slot.busy && matches!(slot.state, State::Raw(_))), 0);
        assert_eq!(count(|slot| matches!(slot.state, State::Free)), self.free_slots.len());
        assert_eq!(count(|slot| matches!(slot.state, State::Raw(_))), self.raw_pages);
        assert_eq!(count(|slot| matches!(slot.state, State::Raw(_)) && slot.dirty), self.dirty_pages);
        assert_eq!(count(|slot| matches!(slot.state, State::Compressed(_))), self.slabs.pages());
        assert_eq!(self.frames, self.raw_pages + self.free_frames.len() + self.orphans.len());
        assert!(self.total_bytes() <= self.budget_bytes);
        assert!(self.counted_bytes() <= self.meta_bytes);
        for (at, slot) in self.slots.iter().enumerate().filter(|(_, slot)| !matches!(slot.state, State::Free)) {
            assert_eq!(self.find(slot.id), Some(at as u32));
        }
    }
}
