//! DFTL: a cache of single entries over translation pages.
//!
//! ```text
//! look_up(lpn):  entry in the CMT: a hit; from probation to protection, or its newest there
//!                else: the oldest on probation gives way; if it is dirty, its translation page is read and written,
//!                with (batch) all dirty entries of that page, which are clean then;  the entry's translation page is
//!                read; the entry comes in on probation
//! changed(lpn):  the entry is dirty
//! moved(lpn):    in the CMT: changed there only (lazy copying);  else its translation page is rewritten, once for all
//!                pages of a victim
//! ```
//! CMT: cached mapping table, a segmented LRU. The global translation directory (GTD), 4 bytes for each translation
//! page, is in RAM.
//!
//! Source: Gupta, Kim, Urgaonkar, "DFTL: a flash translation layer employing demand-based selective caching of
//! page-level address mappings", ASPLOS 2009. Without batch update it is what the authors' simulator does at eviction.

use ssdlab_core::mem::prefetch;

use super::{CachedEntries, Lookup, MapInfo, MapModel, MapRules};
use serde::{Deserialize, Serialize};
use ssdlab_core::list::Queue;
use ssdlab_core::parameter::percent;
use ssdlab_core::{Archive, Archived, Lpn, Parameter, Settings, Unit};

const NONE: u32 = u32::MAX;
/// Bytes of a cached entry: logical and physical page number.
const CACHED_BYTES: u64 = 8;

/// The registration.
pub static INFO: MapInfo = MapInfo {
    name: "dftl",
    help: "DFTL: in flash, single entries of it in RAM",
    parameters: &[CMT, PROTECTED, BATCH, ENTRY],
    role: MapRules { pages, problems: |_, _| Vec::new() },
};

const CMT: Parameter = Parameter {
    name: "cmt",
    unit: Unit::Count("entries"),
    // 64 KB of 8 bytes each, as in the authors' simulator.
    default: 8192,
    min: 1,
    max: u32::MAX as u64,
    example: Some(65_536),
    help: "Entries of the cached mapping table, 8 bytes of RAM each.",
};

const PROTECTED: Parameter = Parameter {
    name: "protected",
    unit: Unit::Share,
    // 6,552 of 8,192 in the authors' simulator.
    default: percent(80),
    min: 0,
    max: percent(99),
    example: Some(percent(50)),
    help: "Share of the entries that are protected at most: used again since they came in.",
};

const BATCH: Parameter =
    Parameter::switch("batch", true, "Write all changed entries of a translation page back together.").example(0);

const ENTRY: Parameter = Parameter {
    name: "entry",
    unit: Unit::Fixed("bytes of an entry in a translation page, a power of two"),
    // As in the paper.
    default: 4,
    min: 4,
    max: 64,
    example: None,
    help: "Entry of a translation page.",
};

fn pages(settings: &Settings, logical_pages: u32, page_bytes: u32) -> u32 {
    logical_pages.div_ceil(page_bytes / settings.get(ENTRY.name) as u32)
}

/// Entries of the protected segment at most; one entry at least is on probation.
pub fn protected(settings: &Settings) -> u32 {
    let entries = settings.get(CMT.name);
    let share = (entries as f64 * settings.fraction(PROTECTED.name)).round() as u64;
    share.min(entries - 1) as u32
}

/// The cached mapping table.
pub struct Dftl {
    /// Entries that there is room for.
    entries: u32,
    /// Of these, entries of the protected segment at most.
    most_protected: u32,
    /// Whether all dirty entries of a translation page are written with it.
    batch: bool,
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

#[derive(Clone, Copy, Serialize, Deserialize)]
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
    /// If pages or entries are no powers of two.
    pub fn new(logical_pages: u32, page_bytes: u32, settings: &Settings) -> Result<Self, String> {
        INFO.role.refuse(settings, page_bytes)?;
        let (room, entry_bytes) = (settings.get(CMT.name) as u32, settings.get(ENTRY.name) as u32);
        if !entry_bytes.is_power_of_two() || page_bytes < entry_bytes {
            return Err(format!("entries of {entry_bytes} bytes and pages of {page_bytes} must be powers of two"));
        }
        let entries = room.min(logical_pages);
        let pages = pages(settings, logical_pages, page_bytes);
        let empty = Slot { lpn: NONE, dirty: false, protected: false, next: NONE, previous: NONE };
        Ok(Self {
            entries: room,
            most_protected: protected(settings),
            batch: settings.is_set(BATCH.name),
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
        if self.most_protected == 0 {
            self.probation.renew(slot);
            return;
        }
        self.probation.remove(slot);
        self.protection.push(slot);
        self.slots[slot as usize].protected = true;
        self.protected += 1;
        if self.protected > self.most_protected
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
    fn miss(&mut self, lpn: u32) -> Lookup {
        let mut write_back = None;
        let slot = self.free.pop().unwrap_or_else(|| {
            let victim = self.probation.oldest().expect("some entry is on probation");
            self.probation.remove(victim);
            let Slot { lpn, dirty, .. } = self.slots[victim as usize];
            if dirty {
                write_back = Some(self.page_of(lpn));
                self.make_clean(victim);
            }
            self.slot_of[lpn as usize] = NONE;
            victim
        });
        self.slots[slot as usize] = Slot { lpn, dirty: false, protected: false, next: NONE, previous: NONE };
        self.slot_of[lpn as usize] = slot;
        self.probation.push(slot);
        Lookup { hit: false, write_back, load: Some(self.page_of(lpn)) }
    }
}

impl MapModel for Dftl {
    const CHARGED: bool = true;

    fn pages(&self) -> u32 {
        self.pages
    }

    #[inline]
    fn look_up(&mut self, lpn: u32) -> Lookup {
        let slot = self.slot_of[lpn as usize];
        if slot == NONE {
            return self.miss(lpn);
        }
        self.use_again(slot);
        Lookup::HIT
    }

    #[inline]
    fn changed(&mut self, lpn: u32) {
        self.make_dirty(self.slot_of[lpn as usize]);
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
        while self.batch && self.dirty[page as usize] != NONE {
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
        CACHED_BYTES * u64::from(self.entries) + 4 * u64::from(self.pages)
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

    fn part(&self, _logical_pages: u32) -> Option<Self> {
        None
    }

    fn cached(&self) -> Vec<CachedEntries> {
        let entry = |slot: u32| {
            let Slot { lpn, dirty, protected, .. } = self.slots[slot as usize];
            CachedEntries { first: Lpn(lpn), count: 1, dirty, protected }
        };
        self.probation.iter().chain(self.protection.iter()).map(entry).collect()
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self {
            slot_of,
            slots,
            free,
            probation,
            protection,
            protected,
            dirty,
            entries: _,
            most_protected: _,
            batch: _,
            page_shift: _,
            pages: _,
            page_bytes: _,
        } = self;
        archive.array(slot_of)?;
        archive.value(slots)?;
        archive.value(free)?;
        archive.value(probation)?;
        archive.value(protection)?;
        archive.value(protected)?;
        archive.array(dirty)
    }
}
