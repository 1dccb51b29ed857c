//! A map cache in host memory (NVMe host memory buffer): the controller's own memory holds only the most recently used
//! entries.
//!
//! The FTL's map cache covers both memories: host memory and the controller's own memory. An entry in the FTL's map
//! cache that is not in the controller's own memory has to be fetched from the host.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use ssdlab_nand::Note;

use crate::setup::drive::HostMemory;

/// The controller's own memory for map entries: lines of consecutive entries with LRU replacement.
#[derive(Debug)]
pub(crate) struct OwnMapMemory {
    options: HostMemory,
    /// For each line of map entries, the sequence number of its last use.
    last_use: FxHashMap<u32, u64>,
    /// Lines of map entries, keyed by the sequence number of their last use.
    by_use: BTreeMap<u64, u32>,
    uses: u64,
    /// Number of entries fetched from host memory.
    pub fetches: u64,
}

impl OwnMapMemory {
    pub fn new(options: HostMemory) -> Self {
        Self { options, last_use: FxHashMap::default(), by_use: BTreeMap::new(), uses: 0, fetches: 0 }
    }

    /// Returns the delay of a request whose look-ups fetched entries from host memory, in nanoseconds. `before` is the
    /// number of fetches before the request.
    pub fn delay_ns(&self, before: u64) -> u64 {
        if self.fetches > before { self.options.latency.0 } else { 0 }
    }

    /// Records a look-up in the FTL's map cache.
    pub fn note(&mut self, note: Note) {
        let Note::LookedUp { lpn, hit, .. } = note else { return };
        let line = lpn.0 / self.options.fetched_entries;
        self.uses += 1;
        match self.last_use.insert(line, self.uses) {
            Some(before) => {
                self.by_use.remove(&before);
            }
            None => self.fetches += u64::from(hit),
        }
        self.by_use.insert(self.uses, line);
        if self.by_use.len() as u32 > self.options.own_entries / self.options.fetched_entries {
            let (_, oldest) = self.by_use.pop_first().expect("the line just used is in the memory");
            self.last_use.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::{Lpn, Nanos, Rng};

    /// Compares the memory with a slow model: a list of lines, with the line used last at its end.
    #[test]
    fn the_controller_memory_holds_the_most_recently_used_lines() {
        let options = HostMemory { own_entries: 20, fetched_entries: 4, latency: Nanos(7) };
        let mut memory = OwnMapMemory::new(options);
        let mut rng = Rng::named(1, "look-ups");
        let (mut lines, mut fetches) = (Vec::new(), 0);
        for _ in 0..10_000 {
            let (page, hit) = (rng.below(60) as u32, rng.below(3) > 0);
            let (line, before) = (page / 4, memory.fetches);
            let is_own = lines.contains(&line);
            lines.retain(|&other| other != line);
            lines.push(line);
            if lines.len() > 5 {
                lines.remove(0);
            }
            fetches += u64::from(hit && !is_own);
            memory.note(Note::LookedUp { lpn: Lpn(page), hit, changes: false, written: true });
            assert_eq!(memory.fetches, fetches);
            assert_eq!(memory.delay_ns(before), if hit && !is_own { 7 } else { 0 });
        }
        assert!((1_000..6_000).contains(&fetches), "{fetches}");
    }
}
