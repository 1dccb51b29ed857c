//! One flag per slot: true if the slot's page was used since the flag was last read and cleared.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[derive(Default)]
pub struct Used(Vec<AtomicBool>);

impl Used {
    pub fn grow(&mut self, slots: usize) {
        self.0.reserve_exact(slots - self.0.len());
        self.0.resize_with(slots, AtomicBool::default);
    }

    #[inline]
    pub fn mark(&self, slot: u32) {
        // Writes only if necessary: a cache line that is only read stays in the caches of all cores.
        let used = &self.0[slot as usize];
        if !used.load(Relaxed) {
            used.store(true, Relaxed);
        }
    }

    /// Returns the used flag of a slot and clears the flag.
    pub fn take(&mut self, slot: u32) -> bool {
        std::mem::take(self.0[slot as usize].get_mut())
    }

    pub fn bytes(&self) -> usize {
        self.0.capacity()
    }
}
