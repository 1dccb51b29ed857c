//! DFTL: a cache of single entries over translation pages.
//!
//! ```text
//! look_up(lpn):  entry in the CMT: a hit; from probation to protection, or its newest there
//!                else: the oldest on probation gives way; if it is dirty, its translation page is read and written,
//!                with (batch) all dirty entries of that page, which are clean then;  the entry's translation page is
//!                read; the entry comes in on probation
//! moved(lpn):    in the CMT: changed there only (lazy copying);  else its translation page is rewritten, once for all
//!                pages of a victim
//! ```
//! CMT: cached mapping table, a segmented LRU. The global translation directory (GTD), 4 bytes for each translation
//! page, is in RAM.
//!
//! Source: Gupta, Kim, Urgaonkar, "DFTL: a flash translation layer employing demand-based selective caching of
//! page-level address mappings", ASPLOS 2009. Without batch update it is what the authors' simulator does at eviction.

use ssdlab_core::mem::prefetch;

use super::{Lookup, MapModel};
use ssdlab_core::list::Queue;

const NONE: u32 = u32::MAX;
/// Bytes of a cached entry: logical and physical page number.
const CACHED_BYTES: u64 = 8;

/// Options of DFTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DftlOptions {
    /// Entries of the CMT, at least 1.
    pub entries: u32,
    /// Of these, entries of the protected segment at most.
    pub protected: u32,
    /// Whether all dirty entries of a translation page are written with it.
    pub batch: bool,
    /// Bytes of an entry in a translation page, a power of two.
    pub entry_bytes: u32,
}

impl DftlOptions {
    /// Translation pages of a device with `logical_pages` pages of `page_bytes`.
    pub const fn map_pages(&self, logical_pages: u32, page_bytes: u32) -> u32 {
        logical_pages.div_ceil(page_bytes / self.entry_bytes)
    }
}

/// The cached mapping table.
pub struct Dftl {
    options: DftlOptions,
    page_shift: u32,
    pages: u32,
    page_bytes: u32,
    /// Slot of each logical page's entry.
    slot_of: Vec<u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    probation: Queue,
    protection: Queue,
    protected: u32,
    /// For each translation page the first of its dirty slots.
    dirty: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Slot {
    lpn: u32,
    dirty: bool,
    protected: bool,
    /// Neighbours among the dirty slots of its translation page.
    next: u32,
    previous: u32,
}

impl Dftl {
    /// An empty table.
    ///
    /// # Errors
    /// If it holds no entry, protects all of them, or a page is no power of two.
    pub fn new(logical_pages: u32, page_bytes: u32, options: DftlOptions) -> Result<Self, String> {
        let DftlOptions { entries, protected, entry_bytes, .. } = options;
        if entries == 0 || protected >= entries {
            return Err(format!("a table of {entries} entries, {protected} protected, leaves none on probation"));
        }
        if !page_bytes.is_power_of_two() || !entry_bytes.is_power_of_two() || page_bytes < entry_bytes {
            return Err(format!("entries of {entry_bytes} bytes and pages of {page_bytes} must be powers of two"));
        }
        let entries = entries.min(logical_pages);
        let pages = options.map_pages(logical_pages, page_bytes);
        let empty = Slot { lpn: NONE, dirty: false, protected: false, next: NONE, previous: NONE };
        Ok(Self {
            options,
            page_shift: (page_bytes / entry_bytes).ilog2(),
            pages,
            page_bytes,
            slot_of: vec![NONE; logical_pages as usize],
            slots: vec![empty; entries as usize],
            free: (0..entries).rev().collect(),
            probation: Queue::new(entries),
            protection: Queue::new(entries),
            protected: 0,
            dirty: vec![NONE; pages as usize],
        })
    }

    fn page_of(&self, lpn: u32) -> u32 {
        lpn >> self.page_shift
    }

    fn use_again(&mut self, slot: u32) {
        if self.slots[slot as usize].protected {
            self.protection.renew(slot);
            return;
        }
        if self.options.protected == 0 {
            self.probation.renew(slot);
            return;
        }
        self.probation.remove(slot);
        self.protection.push(slot);
        self.slots[slot as usize].protected = true;
        self.protected += 1;
        if self.protected > self.options.protected
            && let Some(oldest) = self.protection.oldest()
        {
            self.protection.remove(oldest);
            self.probation.push(oldest);
            self.slots[oldest as usize].protected = false;
            self.protected -= 1;
        }
    }

    fn make_dirty(&mut self, slot: u32) {
        let Slot { lpn, dirty, .. } = self.slots[slot as usize];
        if dirty {
            return;
        }
        let page = self.page_of(lpn) as usize;
        let next = std::mem::replace(&mut self.dirty[page], slot);
        if next != NONE {
            self.slots[next as usize].previous = slot;
        }
        let entry = &mut self.slots[slot as usize];
        (entry.dirty, entry.next, entry.previous) = (true, next, NONE);
    }

    fn make_clean(&mut self, slot: u32) {
        let Slot { lpn, next, previous, .. } = self.slots[slot as usize];
        if next != NONE {
            self.slots[next as usize].previous = previous;
        }
        match previous {
            NONE => {
                let page = self.page_of(lpn) as usize;
                self.dirty[page] = next;
            }
            previous => self.slots[previous as usize].next = next,
        }
        self.slots[slot as usize].dirty = false;
    }

    #[cold]
    fn miss(&mut self, lpn: u32, changes: bool) -> Lookup {
        let mut write_back = None;
        let slot = self.free.pop().unwrap_or_else(|| {
            let victim = self.probation.oldest().expect("some entry is on probation");
            self.probation.remove(victim);
            let Slot { lpn, dirty, .. } = self.slots[victim as usize];
            if dirty {
                let page = self.page_of(lpn);
                write_back = Some(page);
                self.make_clean(victim);
                self.written(page);
            }
            self.slot_of[lpn as usize] = NONE;
            victim
        });
        self.slots[slot as usize] = Slot { lpn, dirty: false, protected: false, next: NONE, previous: NONE };
        self.slot_of[lpn as usize] = slot;
        self.probation.push(slot);
        if changes {
            self.make_dirty(slot);
        }
        Lookup { hit: false, write_back, load: Some(self.page_of(lpn)) }
    }
}

impl MapModel for Dftl {
    const CHARGED: bool = true;

    fn pages(&self) -> u32 {
        self.pages
    }

    #[inline]
    fn look_up(&mut self, lpn: u32, changes: bool) -> Lookup {
        let slot = self.slot_of[lpn as usize];
        if slot == NONE {
            return self.miss(lpn, changes);
        }
        self.use_again(slot);
        if changes {
            self.make_dirty(slot);
        }
        Lookup::HIT
    }

    #[inline(always)]
    fn prefetch(&self, lpn: u32) {
        prefetch(&self.slot_of, lpn as usize);
    }

    fn moved(&mut self, lpn: u32) -> Option<u32> {
        let slot = self.slot_of[lpn as usize];
        if slot == NONE {
            return Some(self.page_of(lpn));
        }
        self.make_dirty(slot);
        None
    }

    fn written(&mut self, page: u32) {
        while self.options.batch && self.dirty[page as usize] != NONE {
            self.make_clean(self.dirty[page as usize]);
        }
    }

    fn load_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn knows_whole_pages(&self) -> bool {
        false
    }

    fn preload(&self) -> u32 {
        0
    }

    /// The CMT, and 4 bytes for each translation page in the GTD.
    fn ram_bytes(&self) -> u64 {
        CACHED_BYTES * u64::from(self.options.entries) + 4 * u64::from(self.pages)
    }

    fn memory_bytes(&self) -> u64 {
        let per_slot = size_of::<Slot>() + 2 * Queue::BYTES_PER_ITEM + size_of::<u32>();
        ((self.slot_of.len() + self.dirty.len()) * size_of::<u32>() + self.slots.len() * per_slot) as u64
    }

    fn check(&self) -> Result<(), String> {
        let queued = self.probation.iter().count() + self.protection.iter().count() + self.free.len();
        if queued != self.slots.len() {
            return Err(format!("{queued} of {} entries are on a list", self.slots.len()));
        }
        let mut dirty = 0;
        for (page, &first) in self.dirty.iter().enumerate() {
            let mut slot = first;
            while slot != NONE {
                let Slot { lpn, dirty: is_dirty, next, .. } = self.slots[slot as usize];
                if !is_dirty || self.page_of(lpn) as usize != page || self.slot_of[lpn as usize] != slot {
                    return Err(format!("entry of page {lpn} is listed as dirty in translation page {page}"));
                }
                slot = next;
                dirty += 1;
            }
        }
        let cached = self.probation.iter().chain(self.protection.iter());
        let counted = cached.filter(|&slot| self.slots[slot as usize].dirty).count();
        if dirty != counted {
            return Err(format!("{counted} entries are dirty, {dirty} are listed"));
        }
        Ok(())
    }
}
